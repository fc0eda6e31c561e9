//! Approving and rejecting comments.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::{
    domain::{REJECTION_REASON, Text},
    graphql::{
        errors::ApiResult,
        objects::comments::Comment,
        reading::{guards::ByTable, prefetch::Selection},
        request::ids::parse_as,
    },
    primitives::CommentId,
};

action_types! {
    ApproveCommentInput {
        /// The comment to approve.
        comment_id: ID,
    }
    ApproveCommentPayload {
        /// False when it was approved already.
        changed,
        /// The comment.
        comment: Comment,
    }
    RejectCommentInput {
        /// The comment to reject.
        comment_id: ID,
        /// Why, for its author: 1 to 200 characters.
        reason: String,
    }
    RejectCommentPayload {
        /// False when it was rejected already.
        changed,
        /// The comment.
        comment: Comment,
    }
}

#[derive(Default)]
pub struct ModerationMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl ModerationMutations {
    /// Approves a comment that waits: everybody sees it. For moderators.
    async fn approve_comment(
        &self,
        ctx: &Context<'_>,
        input: ApproveCommentInput,
    ) -> ApiResult<Option<ApproveCommentPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let (changed, comment) =
            decide(ctx, &action, &input.comment_id, true, "approved by a person").await?;
        Ok(Some(ApproveCommentPayload { changed, comment }))
    }

    /// Rejects a comment that waits: only its author and moderators see it. For moderators.
    async fn reject_comment(
        &self,
        ctx: &Context<'_>,
        input: RejectCommentInput,
    ) -> ApiResult<Option<RejectCommentPayload>> {
        let action = Action::begin(ctx, input.idempotency_key)?;
        let reason = Text::parse(&input.reason, &REJECTION_REASON)?;
        let (changed, comment) = decide(ctx, &action, &input.comment_id, false, reason.as_str()).await?;
        Ok(Some(RejectCommentPayload { changed, comment }))
    }
}

async fn decide(
    ctx: &Context<'_>,
    action: &Action<'_>,
    comment: &ID,
    approve: bool,
    reason: &str,
) -> ApiResult<(bool, Comment)> {
    let comment: CommentId = parse_as("commentId", comment)?;
    let moderator = action.actor().await?;
    let (comment, changed) =
        action.plaudit().decide_comment(moderator, comment, approve, reason, action.key()).await?;
    let selection = Selection::of(ctx).inside("comment");
    Ok((changed, Comment::read_ahead(&comment, &selection, &action.scope.renewed()).await))
}
