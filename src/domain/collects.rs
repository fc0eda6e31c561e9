//! Collects: notes in a user's collection.

use std::sync::Arc;

use super::{Actor, DomainResult, IdempotencyKey, Note, Plaudit, Switched, entity_cache::Cached};
use crate::{catalogue::EdgeKind, primitives::NoteId};

impl Plaudit {
    /// Puts a note into the actor's collection (`on`) or takes it out. Returns the note and what
    /// has changed.
    ///
    /// # Errors
    /// [`super::DomainError::NotFound`] for an unknown or removed note.
    pub async fn set_note_collect(
        &self,
        actor: Option<Actor>,
        note: NoteId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Cached<Arc<Note>>, Switched)> {
        self.switch_to_note(EdgeKind::NoteCollect, actor, note, on, key).await
    }
}
