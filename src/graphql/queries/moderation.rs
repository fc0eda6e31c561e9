//! Comments that wait for a decision of a moderator.

use futures_util::FutureExt;

use crate::{
    domain::QueueState,
    graphql::{
        definition::{
            pages::{self, FIRST, List},
            types::{Call, ObjectType, Resolve},
            values::{Object, Output},
        },
        errors::ApiResult,
    },
};

const UNDECIDED: List = List("undecidedComments");

pub fn moderation(query: ObjectType) -> ObjectType {
    query
        .field(
            &format!("undecidedComments{}: UndecidedCommentConnection", pages::arguments(FIRST)),
            "Comments that wait for a person, the oldest first. For moderators.",
            Resolve::Call(|call| undecided_comments(call).boxed()),
        )
        .field(
            "commentQueue: CommentQueue",
            "The queue of comments that wait for a decision. For moderators.",
            Resolve::Call(|call| comment_queue(call).boxed()),
        )
}

pub fn undecided_comment() -> ObjectType {
    ObjectType::new("UndecidedComment", "A comment that the configured moderator could not decide.")
        .parts([("comment: Comment!", "The comment."), ("reason: String!", "Why it waits for a person.")])
}

pub fn queue() -> ObjectType {
    ObjectType::new("CommentQueue", "The queue of comments that wait for a decision.").shared_parts([
        ("waitingCount: Count!", "Comments that wait for the configured moderator."),
        ("undecidedCount: Count!", "Comments that wait for a person."),
        ("oldestWaitingSeconds: Int!", "How long the oldest of `waitingCount` has waited, in seconds."),
    ])
}

async fn undecided_comments(call: Call<'_>) -> ApiResult<Output> {
    let request = UNDECIDED.request(call.arguments, FIRST)?;
    let waiting = call.scope.plaudit().undecided_comments(&request).await?;
    let waiting = waiting.map(|(comment, why)| {
        let id = comment.id.0;
        (id, Object::record([("comment", comment.into()), ("reason", why.into())]))
    });
    Ok(UNDECIDED.page(&request, waiting))
}

async fn comment_queue(call: Call<'_>) -> ApiResult<Output> {
    Ok(queue_state(&call.scope.plaudit().comment_queue().await?).into())
}

pub fn queue_state(state: &QueueState) -> Object {
    Object::record([
        ("waitingCount", state.waiting.max(0).into()),
        ("undecidedCount", state.undecided.max(0).into()),
        ("oldestWaitingSeconds", (state.oldest.as_secs() as i64).into()),
    ])
}
