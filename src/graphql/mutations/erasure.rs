//! Erasing users.

use futures_util::FutureExt;
use plaudit_token_auth::Role;

use super::action::{Action, Mutation, Permission, payload};
use crate::{
    definition::{resolve::Call, values::Output},
    errors::{ApiError, ApiResult},
    request::{access::Who, ids::global_id},
};
use plaudit_catalogue::primitives::UserId;
use plaudit_domain::people::erasure;

pub const MUTATIONS: &[Mutation] = &[Mutation {
    name: "eraseUser",
    permission: Permission::Write(Who::Oneself),
    description: "Erases a user for good: likes, collects, follows in both directions, memberships, ratings, comments, notes, inbox entries, coins, name and subject. Name and subject are gone at once; everything else stops counting and is deleted in the background. The same subject can come back as a new user. For the user (a suspended one, too), moderators and services.",
    input: &[
        ("userId: ID!", "The user to erase."),
        ("confirmation: ID", "To erase yourself: the same id again. Others omit it."),
    ],
    unchanged: Some("False when the user was erased already."),
    payload: &[("erasedUserId: ID!", "The id of the user, which no other user will get.")],
    act: |call| erase_user(call).boxed(),
}];

async fn erase_user(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let user: UserId = action.input.id("userId")?;
    let confirmation: Option<UserId> = action.input.optional_id("confirmation")?;
    let viewer = action.scope.viewer();
    let may_erase_any = viewer.has_role(Role::Moderator) || viewer.has_role(Role::Service);
    let own = viewer.user(action.plaudit()).await?;
    if own == Some(user) && confirmation != Some(user) {
        let message = "confirmation: this erases yourself for good; give the same id as in userId";
        return Err(ApiError::bad_input("confirmation", message.to_owned()));
    }
    let erased = |changed| payload(changed, [("erasedUserId", global_id(user).0.into())]);
    // Somebody who repeats their own erasure has no user any more, and must not get a new one by it.
    if !may_erase_any && confirmation == Some(user) && erasure::is_erased(action.plaudit(), user).await? {
        return Ok(erased(false));
    }
    if !may_erase_any && own != Some(user) {
        return Err(ApiError::forbidden("only the user, moderators and services can erase a user"));
    }
    let actor = if own == Some(user) { action.actor_even_suspended().await? } else { action.actor().await? };
    let outcome = erasure::erase_user(action.plaudit(), actor, user, action.key()).await?;
    Ok(erased(outcome.changed))
}
