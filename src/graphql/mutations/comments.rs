//! Writing and deleting comments.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use plaudit_token_auth::Role;

use crate::{
    domain::CommentText,
    graphql::{
        errors::ApiResult,
        objects::{comments::Comment, notes::Note},
        reading::{guards::ByTable, prefetch::Selection},
        request::ids::parse_as,
    },
    primitives::{CommentId, NoteId, UserId},
};

action_types! {
    AddCommentInput {
        /// What it is about.
        note_id: ID,
        /// The comment to reply to. Omit it to comment on the note itself.
        parent_id: Option<ID>,
        /// At most 1024 characters; at least one, unless there are images.
        body: String,
        /// At most 9 https addresses. They are not fetched.
        images: Option<Vec<String>>,
        /// Users to notify: at most 10.
        mentions: Option<Vec<ID>>,
    }
    AddCommentPayload {
        /// Always true: every comment is new.
        changed,
        /// The new comment: only you see it until it is approved.
        comment: Comment,
    }
    DeleteCommentInput {
        /// The comment to remove.
        comment_id: ID,
    }
    DeleteCommentPayload {
        /// False when it was removed before.
        changed,
        /// The id of the removed comment, to evict from your cache.
        comment_id: ID,
        /// Its note, with the new counts. Null if the note was removed.
        note: Option<Note>,
    }
}

#[derive(Default)]
pub struct CommentMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl CommentMutations {
    /// Comments on a note, or replies to a comment. A reply to a reply is listed beside it and names its
    /// author. Others see it once it is approved. Send an idempotency key if you may have to retry.
    async fn add_comment(
        &self,
        ctx: &Context<'_>,
        input: AddCommentInput,
    ) -> ApiResult<Option<AddCommentPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let note: NoteId = parse_as("noteId", &input.note_id)?;
        let parent: Option<CommentId> =
            input.parent_id.map(|parent| parse_as("parentId", &parent)).transpose()?;
        let mentions = input.mentions.unwrap_or_default();
        let mentions =
            mentions.iter().map(|user| parse_as("mentions", user)).collect::<ApiResult<Vec<UserId>>>()?;
        let text = CommentText::parse(&input.body, input.images.unwrap_or_default(), mentions)?;
        let author = action.actor().await?;
        let (comment, changed) =
            action.plaudit().add_comment(author, note, parent, &text, action.key()).await?;
        let selection = Selection::of(ctx).inside("comment");
        let comment = Comment::read_ahead(&comment, &selection, &action.scope.renewed()).await;
        Ok(Some(AddCommentPayload { changed, comment }))
    }

    /// Removes a comment: your own, or any if you are a moderator. A comment with replies leaves a
    /// placeholder.
    async fn delete_comment(
        &self,
        ctx: &Context<'_>,
        input: DeleteCommentInput,
    ) -> ApiResult<Option<DeleteCommentPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let comment: CommentId = parse_as("commentId", &input.comment_id)?;
        let actor = action.actor().await?;
        let may_remove_any = action.scope.viewer().has_role(Role::Moderator);
        let (place, outcome) =
            action.plaudit().delete_comment(actor, comment, may_remove_any, action.key()).await?;
        let scope = action.scope.renewed();
        let note = match scope.note(place.note).await? {
            Some(note) => Some(Note::read_ahead(&note, &Selection::of(ctx).inside("note"), &scope).await),
            None => None,
        };
        Ok(Some(DeleteCommentPayload { changed: outcome.changed, comment_id: input.comment_id, note }))
    }
}
