//! Follows.

use async_graphql::{Context, ID, Object};

use super::action::{Action, action_types};
use crate::graphql::{
    errors::ApiResult,
    objects::users::User,
    reading::{
        guards::ByTable,
        prefetch::{Prefetch, Selection},
    },
    request::ids::parse_as,
};

action_types! {
    FollowInput {
        /// The user to follow.
        user_id: ID,
    }
    FollowPayload {
        /// False when you followed the user already.
        changed,
        /// The user whom you follow, with the new counts.
        user: User,
        /// You, with your new counts.
        viewer: User,
    }
    UnfollowInput {
        /// The user to unfollow.
        user_id: ID,
    }
    UnfollowPayload {
        /// False when you did not follow the user.
        changed,
        /// The user whom you no longer follow, with the new counts.
        user: User,
        /// You, with your new counts.
        viewer: User,
    }
}

#[derive(Default)]
pub struct FollowMutations;

#[Object(guard = "ByTable(\"Mutation\")")]
impl FollowMutations {
    /// Follows a user. Following again changes nothing; nobody follows themselves.
    async fn follow(&self, ctx: &Context<'_>, input: FollowInput) -> ApiResult<Option<FollowPayload>> {
        let (changed, user, viewer) = set_follow(ctx, &input.user_id, input.idempotency_key, true).await?;
        Ok(Some(FollowPayload { changed, user, viewer }))
    }

    /// Unfollows a user.
    async fn unfollow(&self, ctx: &Context<'_>, input: UnfollowInput) -> ApiResult<Option<UnfollowPayload>> {
        let (changed, user, viewer) = set_follow(ctx, &input.user_id, input.idempotency_key, false).await?;
        Ok(Some(UnfollowPayload { changed, user, viewer }))
    }
}

async fn set_follow(
    ctx: &Context<'_>,
    user: &ID,
    key: Option<String>,
    on: bool,
) -> ApiResult<(bool, User, User)> {
    let action = Action::begin(ctx, key)?;
    let user = parse_as("userId", user)?;
    let actor = action.actor().await?;
    let (user, changed) = action.plaudit().set_follow(actor, user, on, action.key()).await?;

    let selection = Selection::of(ctx);
    let mut prefetch = Prefetch::default();
    prefetch.user(user.id, &selection.inside("user"));
    prefetch.user(actor, &selection.inside("viewer"));
    let scope = prefetch.read(&action.scope.renewed()).await;
    Ok((changed, User::new(user.id, scope.clone()), User::new(actor, scope)))
}
