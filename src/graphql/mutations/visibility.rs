//! Hiding and restoring users.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::graphql::{
    errors::ApiResult,
    objects::visibility::UserVisibility,
    reading::{
        guards::ByTable,
        prefetch::{Prefetch, Selection},
    },
    request::ids::parse_as,
};

action_types! {
    HideUserInput {
        /// The user to hide.
        user_id: ID,
    }
    HideUserPayload {
        /// False when the user was hidden already.
        changed,
        /// How far the recount is; query `userVisibility` again later.
        visibility: UserVisibility,
    }
    RestoreUserInput {
        /// The user to restore.
        user_id: ID,
    }
    RestoreUserPayload {
        /// False when the user was not hidden.
        changed,
        /// How far the recount is; query `userVisibility` again later.
        visibility: UserVisibility,
    }
}

#[derive(Default)]
pub struct VisibilityMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl VisibilityMutations {
    /// Hides a user: their likes, collects, follows and memberships no longer count. New ones stop counting
    /// at once; the others are recounted in the background. For moderators.
    async fn hide_user(&self, ctx: &Context<'_>, input: HideUserInput) -> ApiResult<Option<HideUserPayload>> {
        let (changed, visibility) = set_hidden(ctx, &input.user_id, input.idempotency_key, true).await?;
        Ok(Some(HideUserPayload { changed, visibility }))
    }

    /// Restores a hidden user: their likes, collects, follows and memberships count again. For moderators.
    async fn restore_user(
        &self,
        ctx: &Context<'_>,
        input: RestoreUserInput,
    ) -> ApiResult<Option<RestoreUserPayload>> {
        let (changed, visibility) = set_hidden(ctx, &input.user_id, input.idempotency_key, false).await?;
        Ok(Some(RestoreUserPayload { changed, visibility }))
    }
}

async fn set_hidden(
    ctx: &Context<'_>,
    user: &ID,
    key: Option<String>,
    hidden: bool,
) -> ApiResult<(bool, UserVisibility)> {
    let action = Action::begin(ctx, key)?;
    let user = parse_as("userId", user)?;
    let moderator = action.actor().await?;
    let outcome = action.plaudit().set_hidden(moderator, user, hidden, action.key()).await?;
    let visibility = action.plaudit().visibility(user).await?;
    let selection = Selection::of(ctx).inside("visibility").inside("user");
    let mut prefetch = Prefetch::default();
    prefetch.user(user, &selection);
    let scope = prefetch.read(&action.scope.renewed()).await;
    Ok((outcome.changed, UserVisibility { visibility, scope }))
}
