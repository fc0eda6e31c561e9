//! Likes of notes and comments.

use std::sync::Arc;

use super::switch::EdgeAction;
use crate::{
    catalogue::EdgeKind,
    domain::{Comment, DomainResult, Note, Plaudit, Switched, Switching, entity_cache::Cached},
    primitives::{CommentId, NoteId},
};

impl Plaudit {
    /// Likes a note or takes the like back. Returns the note and what has changed.
    ///
    /// # Errors
    /// [`crate::domain::DomainError::NotFound`] for an unknown or removed note.
    pub async fn set_note_like(
        &self,
        note: NoteId,
        switching: Switching<'_>,
    ) -> DomainResult<(Cached<Arc<Note>>, Switched)> {
        self.switch_to_note(EdgeKind::NoteLike, note, switching).await
    }

    /// Likes a comment or takes the like back. Returns the comment and what has changed.
    ///
    /// # Errors
    /// [`crate::domain::DomainError::NotFound`] for an unknown, removed or not approved comment, and for one of a
    /// removed note.
    pub async fn set_comment_like(
        &self,
        comment: CommentId,
        switching: Switching<'_>,
    ) -> DomainResult<(Cached<Arc<Comment>>, Switched)> {
        let comment = self.public_comment(comment).await?;
        let (kind, owner, target) = (EdgeKind::CommentLike, comment.record().author, comment.record().id.0);
        let switched = self.switch(EdgeAction { kind, target, owner, limit: 0, switching }).await?;
        Ok((comment, switched))
    }
}
