//! Likes of notes and comments.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::graphql::{
    errors::ApiResult,
    objects::{comments::Comment, notes::Note},
    reading::{guards::ByTable, prefetch::Selection},
    request::ids::parse_as,
};

action_types! {
    LikeNoteInput {
        /// The note to like.
        note_id: ID,
    }
    LikeNotePayload {
        /// False when you liked it already.
        changed,
        /// The note, with its new counts.
        note: Note,
    }
    UnlikeNoteInput {
        /// The note whose like is taken back.
        note_id: ID,
    }
    UnlikeNotePayload {
        /// False when you did not like it.
        changed,
        /// The note, with its new counts.
        note: Note,
    }
    LikeCommentInput {
        /// The comment to like.
        comment_id: ID,
    }
    LikeCommentPayload {
        /// False when you liked it already.
        changed,
        /// The comment, with its new counts.
        comment: Comment,
    }
    UnlikeCommentInput {
        /// The comment whose like is taken back.
        comment_id: ID,
    }
    UnlikeCommentPayload {
        /// False when you did not like it.
        changed,
        /// The comment, with its new counts.
        comment: Comment,
    }
}

#[derive(Default)]
pub struct LikeMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl LikeMutations {
    /// Likes a note. Liking it again changes nothing.
    async fn like_note(&self, ctx: &Context<'_>, input: LikeNoteInput) -> ApiResult<Option<LikeNotePayload>> {
        let (changed, note) = set_note_like(ctx, &input.note_id, input.idempotency_key, true).await?;
        Ok(Some(LikeNotePayload { changed, note }))
    }

    /// Takes the like of a note back.
    async fn unlike_note(
        &self,
        ctx: &Context<'_>,
        input: UnlikeNoteInput,
    ) -> ApiResult<Option<UnlikeNotePayload>> {
        let (changed, note) = set_note_like(ctx, &input.note_id, input.idempotency_key, false).await?;
        Ok(Some(UnlikeNotePayload { changed, note }))
    }

    /// Likes a comment. Liking it again changes nothing.
    async fn like_comment(
        &self,
        ctx: &Context<'_>,
        input: LikeCommentInput,
    ) -> ApiResult<Option<LikeCommentPayload>> {
        let (changed, comment) =
            set_comment_like(ctx, &input.comment_id, input.idempotency_key, true).await?;
        Ok(Some(LikeCommentPayload { changed, comment }))
    }

    /// Takes the like of a comment back.
    async fn unlike_comment(
        &self,
        ctx: &Context<'_>,
        input: UnlikeCommentInput,
    ) -> ApiResult<Option<UnlikeCommentPayload>> {
        let (changed, comment) =
            set_comment_like(ctx, &input.comment_id, input.idempotency_key, false).await?;
        Ok(Some(UnlikeCommentPayload { changed, comment }))
    }
}

async fn set_note_like(
    ctx: &Context<'_>,
    note: &ID,
    key: Option<String>,
    on: bool,
) -> ApiResult<(bool, Note)> {
    let action = Action::begin(ctx, key)?;
    let note = parse_as("noteId", note)?;
    let (note, changed) =
        action.plaudit().set_note_like(action.actor().await?, note, on, action.key()).await?;
    let selection = Selection::of(ctx).inside("note");
    Ok((changed, Note::read_ahead(&note, &selection, &action.scope.renewed()).await))
}

async fn set_comment_like(
    ctx: &Context<'_>,
    comment: &ID,
    key: Option<String>,
    on: bool,
) -> ApiResult<(bool, Comment)> {
    let action = Action::begin(ctx, key)?;
    let comment = parse_as("commentId", comment)?;
    let (comment, changed) =
        action.plaudit().set_comment_like(action.actor().await?, comment, on, action.key()).await?;
    let selection = Selection::of(ctx).inside("comment");
    Ok((changed, Comment::read_ahead(&comment, &selection, &action.scope.renewed()).await))
}
