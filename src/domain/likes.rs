//! Likes of notes.

use std::sync::Arc;

use super::{DomainResult, IdempotencyKey, Note, Plaudit, edges::EdgeAction};
use crate::{
    catalogue::EdgeKind,
    primitives::{NoteId, UserId},
};

impl Plaudit {
    /// Likes a note (`on`) or takes the like back. Returns the note and whether anything changed.
    ///
    /// # Errors
    /// [`super::DomainError::NotFound`] for an unknown or removed note.
    pub async fn set_note_like(
        &self,
        actor: UserId,
        note: NoteId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Note>, bool)> {
        let note = self.notes().get(note).await?;
        let action = EdgeAction {
            kind: EdgeKind::NoteLike,
            actor,
            target: note.id.0,
            owner: note.author,
            on,
            limit: 0,
            key,
        };
        let changed = self.switch(action).await?;
        Ok((note, changed))
    }
}
