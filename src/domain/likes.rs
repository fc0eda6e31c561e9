//! Likes of notes and comments.

use std::sync::Arc;

use super::{
    Actor, Comment, DomainResult, IdempotencyKey, Note, Plaudit, Switched, edges::EdgeAction,
    entity_cache::Cached,
};
use crate::{
    catalogue::EdgeKind,
    primitives::{CommentId, NoteId},
};

impl Plaudit {
    /// Likes a note (`on`) or takes the like back. Returns the note and what has changed.
    ///
    /// # Errors
    /// [`super::DomainError::NotFound`] for an unknown or removed note.
    pub async fn set_note_like(
        &self,
        actor: Option<Actor>,
        note: NoteId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Cached<Arc<Note>>, Switched)> {
        self.switch_to_note(EdgeKind::NoteLike, actor, note, on, key).await
    }

    /// Likes a comment (`on`) or takes the like back. Returns the comment and what has changed.
    ///
    /// # Errors
    /// [`super::DomainError::NotFound`] for an unknown, removed or not approved comment, and for one of a
    /// removed note.
    pub async fn set_comment_like(
        &self,
        actor: Option<Actor>,
        comment: CommentId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Cached<Arc<Comment>>, Switched)> {
        let comment = self.public_comment(comment).await?;
        let (kind, owner, target) = (EdgeKind::CommentLike, comment.record().author, comment.record().id.0);
        let switched = self.switch(EdgeAction { kind, actor, target, owner, on, limit: 0, key }).await?;
        Ok((comment, switched))
    }
}
