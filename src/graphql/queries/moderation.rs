//! Comments that wait for a decision of a moderator.

use std::sync::Arc;

use async_graphql::{Context, Object, SimpleObject};

use crate::{
    domain,
    graphql::{
        errors::ApiResult,
        objects::comments::Comment,
        reading::{
            guards::ByTable,
            pages::{FIRST, List, Page},
            prefetch::{Prefetch, Selection},
            scope::Scope,
        },
        request::scalars::Count,
    },
};

const UNDECIDED: List = List("pendingComments");

/// A comment, and why it waits for a person.
type UndecidedComment = (Arc<domain::Comment>, String);

/// A comment that the configured moderator could not decide.
#[derive(SimpleObject)]
struct PendingComment {
    comment: Comment,
    /// Why it waits for a person.
    why: String,
}

/// The queue of comments that wait for a decision.
#[derive(SimpleObject)]
struct CommentQueue {
    /// Comments that wait for the configured moderator.
    waiting_count: Count,
    /// Comments that wait for a person.
    undecided_count: Count,
    /// How long the oldest of `waitingCount` has waited, in seconds.
    oldest_waiting_seconds: i64,
}

#[derive(Default)]
pub struct ModerationQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl ModerationQueries {
    /// Comments that wait for a person, the oldest first. For moderators.
    async fn pending_comments(
        &self,
        ctx: &Context<'_>,
        #[graphql(default_with = "Some(FIRST)", desc = "Number of items: 1 to 100.")] first: Option<i32>,
        #[graphql(desc = "Only items after this cursor.")] after: Option<String>,
    ) -> ApiResult<Option<Page<PendingComment>>> {
        let scope = Scope::of(ctx);
        let request = UNDECIDED.page_request(first.unwrap_or(FIRST), after.as_deref())?;
        let waiting = scope.plaudit().undecided_comments(&request).await?;
        let selection = Selection::of_nodes(ctx).inside("comment");
        let waiting = waiting.map(|(comment, why)| (comment.id.0, (comment, why)));
        let want = |prefetch: &mut Prefetch, (comment, _): &UndecidedComment| {
            prefetch.comment(comment, &selection);
        };
        let node = |(comment, why): UndecidedComment, scope| {
            Some(PendingComment { comment: Comment::new(comment.id, scope), why })
        };
        Ok(Some(UNDECIDED.prefetched_page(&request, waiting, scope, want, node).await))
    }

    /// The queue of comments that wait for a decision. For moderators.
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
