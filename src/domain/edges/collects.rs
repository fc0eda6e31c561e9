//! Collects: notes in a user's collection.

use std::sync::Arc;

use crate::{DomainResult, Note, Plaudit, Switched, Switching, edges::switch, entity_cache::Cached};
use plaudit_catalogue::{EdgeKind, primitives::NoteId};

/// Puts a note into the actor's collection or takes it out. Returns the note and what has changed.
///
/// # Errors
/// [`crate::DomainError::NotFound`] for an unknown or removed note.
pub async fn set_note_collect(
    plaudit: &Plaudit,
    note: NoteId,
    switching: Switching<'_>,
) -> DomainResult<(Cached<Arc<Note>>, Switched)> {
    switch::switch_to_note(plaudit, EdgeKind::NoteCollect, note, switching).await
}
