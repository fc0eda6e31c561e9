//! Comments that wait for a decision of a moderator.

use async_graphql::{Context, Object, SimpleObject};

use crate::graphql::{
    errors::ApiResult,
    objects::comments::Comment,
    reading::{
        guards::ByTable,
        pages::{FIRST, List, Page},
        prefetch::{Prefetch, Selection},
        scope::Scope,
    },
    request::scalars::Count,
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
pub struct ModerationQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl ModerationQueries {
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
