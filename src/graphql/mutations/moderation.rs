//! Approving and rejecting comments.

use futures_util::FutureExt;

use super::action::{Action, Mutation, payload};
use crate::{
    domain::{REJECTION_REASON, Text},
    graphql::{
        definition::{types::Call, values::Output},
        errors::ApiResult,
    },
    primitives::CommentId,
};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "approveComment",
        description: "Approves a comment that waits: everybody sees it. For moderators.",
        input: &[("commentId: ID!", "The comment to approve.")],
        unchanged: Some("False when it was approved already."),
        payload: &[("comment: Comment!", "The comment.")],
        act: |call| approve(call).boxed(),
    },
    Mutation {
        name: "rejectComment",
        description: "Rejects a comment that waits: only its author and moderators see it. For moderators.",
        input: &[
            ("commentId: ID!", "The comment to reject."),
            ("reason: String!", "Why, for its author: 1 to 200 characters."),
        ],
        unchanged: Some("False when it was rejected already."),
        payload: &[("comment: Comment!", "The comment.")],
        act: |call| reject(call).boxed(),
    },
];

async fn approve(call: Call<'_>) -> ApiResult<Output> {
    decide(&Action::begin(call)?, true, "approved by a person").await
}

async fn reject(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let reason = Text::parse(&action.input.text("reason").unwrap_or_default(), &REJECTION_REASON)?;
    decide(&action, false, reason.as_str()).await
}

async fn decide(action: &Action<'_>, approve: bool, reason: &str) -> ApiResult<Output> {
    let comment: CommentId = action.input.id("commentId")?;
    let moderator = action.actor().await?;
    let (comment, changed) =
        action.plaudit().decide_comment(moderator, comment, approve, reason, action.key()).await?;
    Ok(payload(changed, [("comment", comment.into())]))
}
