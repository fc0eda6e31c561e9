//! Comments that wait to be judged.

use async_graphql::{Context, ID, Object, SimpleObject};

use super::{
    access::ByTable,
    actions::{Action, action_types},
    comments::Comment,
    errors::ApiResult,
    ids::parse_as,
    pages::{FIRST, List, Page},
    prefetch::{Prefetch, Selection},
    scalars::Count,
    scope::Scope,
};
use crate::{
    domain::{REJECTION_REASON, Text},
    primitives::CommentId,
};

const UNDECIDED: List = List("pendingComments");

/// A comment that no moderator could decide.
#[derive(SimpleObject)]
struct PendingComment {
    comment: Comment,
    /// Why it waits for a person.
    why: String,
}

/// How much waits to be judged.
#[derive(SimpleObject)]
struct CommentQueue {
    /// Comments that the configured moderator has still to judge.
    waiting_count: Count,
    /// Comments that wait for a person.
    undecided_count: Count,
    /// How long the oldest of the first has waited, in seconds.
    oldest_waiting_seconds: i64,
}

#[derive(Default)]
pub struct VerdictQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl VerdictQueries {
    /// Comments that wait for a person, the oldest first. For moderators.
    async fn pending_comments(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "How many: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Those after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<PendingComment>>> {
        let scope = Scope::of(ctx);
        let request = UNDECIDED.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let waiting = scope.plaudit().undecided_comments(&request).await?;
        let selection = Selection::of_nodes(ctx).inside("comment");
        let mut prefetch = Prefetch::default();
        for (comment, _) in &waiting.items {
            prefetch.comment(comment, &selection);
        }
        let scope = prefetch.read(scope).await;
        let nodes = waiting.items.into_iter().map(|(comment, why)| {
            (comment.id.0, PendingComment { comment: Comment::new(comment.id, scope.clone()), why })
        });
        Ok(Some(UNDECIDED.page(&request, waiting.has_more, nodes)))
    }

    /// How much waits to be judged. For moderators.
    async fn comment_queue(&self, ctx: &Context<'_>) -> ApiResult<Option<CommentQueue>> {
        let scope = Scope::of(ctx);
        let state = scope.plaudit().comment_queue().await?;
        Ok(Some(CommentQueue {
            waiting_count: state.waiting.into(),
            undecided_count: state.undecided.into(),
            oldest_waiting_seconds: state.oldest.as_secs() as i64,
        }))
    }
}

action_types! {
    ApproveCommentInput {
        /// The comment to show.
        comment_id: ID,
    }
    ApproveCommentPayload {
        /// False when it was approved already.
        changed,
        /// The comment.
        comment: Comment,
    }
    RejectCommentInput {
        /// The comment not to show.
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
pub struct VerdictMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl VerdictMutations {
    /// Shows a comment that waits. For moderators.
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

    /// Never shows a comment that waits. For moderators.
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
