//! Hiding and restoring users.

use futures_util::FutureExt;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    request::access::Who,
};
use plaudit_catalogue::primitives::UserId;
use plaudit_domain::people::visibility;

const USER: (&str, &str) = ("user: User!", "The user: `visibility` says how far the recount is.");

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "hideUser",
        permission: Permission::Write(Who::ModeratorOrService),
        description: "Hides a user: only the user and moderators see what the user wrote, and neither that nor the user's likes, collects, follows, memberships and ratings count. New ones do not count at once; the others are recounted in the background. For moderators and services.",
        input: &[("userId: ID!", "The user to hide.")],
        unchanged: Some("False when the user was hidden already."),
        payload: &[USER],
        act: |call| set_hidden(call, true).boxed(),
    },
    Mutation {
        name: "restoreUser",
        permission: Permission::Write(Who::ModeratorOrService),
        description: "Restores a hidden user: all that was not removed meanwhile is seen and counts again, recounted in the background. For moderators and services.",
        input: &[("userId: ID!", "The user to restore.")],
        unchanged: Some("False when the user was not hidden."),
        payload: &[USER],
        act: |call| set_hidden(call, false).boxed(),
    },
];

async fn set_hidden(call: Call<'_>, hidden: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let user: UserId = action.input.id("userId")?;
    let moderator = action.actor().await?;
    let outcome = visibility::set_hidden(action.plaudit(), moderator, user, hidden, action.key()).await?;
    Ok(payload(outcome.changed, [("user", user.into())]))
}
