//! Likes of notes and comments.

use std::sync::Arc;

use super::switch::EdgeAction;
use crate::{
    Comment, DomainResult, Note, Plaudit, Switched, Switching, content::comments, edges::switch,
    entity_cache::Cached,
};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{CommentId, NoteId},
};

/// Likes a note or takes the like back. Returns the note and what has changed.
///
/// # Errors
/// [`crate::DomainError::NotFound`] for an unknown or removed note.
pub async fn set_note_like(
    plaudit: &Plaudit,
    note: NoteId,
    switching: Switching<'_>,
) -> DomainResult<(Cached<Arc<Note>>, Switched)> {
    switch::switch_to_note(plaudit, EdgeKind::NoteLike, note, switching).await
}

/// Likes a comment or takes the like back. Returns the comment and what has changed.
///
/// # Errors
/// [`crate::DomainError::NotFound`] for an unknown, removed or not approved comment, and for one of a
/// removed note.
pub async fn set_comment_like(
    plaudit: &Plaudit,
    comment: CommentId,
    switching: Switching<'_>,
) -> DomainResult<(Cached<Arc<Comment>>, Switched)> {
    let comment = comments::public_comment(plaudit, comment).await?;
    let (kind, owner, target) = (EdgeKind::CommentLike, comment.record().author, comment.record().id.0);
    let switched = switch::switch(plaudit, EdgeAction { kind, target, owner, limit: 0, switching }).await?;
    Ok((comment, switched))
}
