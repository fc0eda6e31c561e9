//! Hiding and restoring users.

use futures_util::FutureExt;

use super::action::{Action, Mutation, payload};
use crate::graphql::{
    definition::{resolve::Call, values::Output},
    errors::ApiResult,
    objects::visibility::visibility,
};

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "hideUser",
        description: "Hides a user: their likes, collects, follows and memberships no longer count. New ones stop counting at once; the others are recounted in the background. For moderators.",
        input: &[("userId: ID!", "The user to hide.")],
        unchanged: Some("False when the user was hidden already."),
        payload: &[(
            "visibility: UserVisibility!",
            "How far the recount is; read `User.visibility` again later.",
        )],
        act: |call| set_hidden(call, true).boxed(),
    },
    Mutation {
        name: "restoreUser",
        description: "Restores a hidden user: their likes, collects, follows and memberships count again. For moderators.",
        input: &[("userId: ID!", "The user to restore.")],
        unchanged: Some("False when the user was not hidden."),
        payload: &[(
            "visibility: UserVisibility!",
            "How far the recount is; read `User.visibility` again later.",
        )],
        act: |call| set_hidden(call, false).boxed(),
    },
];

async fn set_hidden(call: Call<'_>, hidden: bool) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let user = action.input.id("userId")?;
    let moderator = action.actor().await?;
    let outcome = action.plaudit().set_hidden(moderator, user, hidden, action.key()).await?;
    let now = action.plaudit().visibility(user).await?;
    Ok(payload(outcome.changed, [("visibility", visibility(&now).into())]))
}
