//! Follows.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};

use super::{
    errors::ApiResult,
    ids::parse_as,
    prefetch::{Prefetch, Selection},
    scope::Scope,
    users::User,
};
use crate::domain::IdempotencyKey;

#[derive(InputObject)]
struct FollowInput {
    /// The user to follow.
    user_id: ID,
    /// Any text of at most 64 bytes. The same key within 24 hours gives the first result again and acts no
    /// second time.
    idempotency_key: Option<String>,
}

#[derive(InputObject)]
struct UnfollowInput {
    /// The user to follow no longer.
    user_id: ID,
    /// Any text of at most 64 bytes. The same key within 24 hours gives the first result again and acts no
    /// second time.
    idempotency_key: Option<String>,
}

#[derive(SimpleObject)]
struct FollowPayload {
    /// False when you followed the user already.
    changed: bool,
    /// Who is followed, with the new counts.
    user: User,
    /// You, with your new counts.
    viewer: User,
}

#[derive(SimpleObject)]
struct UnfollowPayload {
    /// False when you did not follow the user.
    changed: bool,
    /// Who is followed no longer, with the new counts.
    user: User,
    /// You, with your new counts.
    viewer: User,
}

#[derive(Default)]
pub struct FollowMutations;

#[Object]
impl FollowMutations {
    /// Follows a user. Following again changes nothing; nobody follows themselves.
    async fn follow(&self, ctx: &Context<'_>, input: FollowInput) -> ApiResult<Option<FollowPayload>> {
        let Followed { changed, user, viewer } =
            set_follow(ctx, &input.user_id, input.idempotency_key, true).await?;
        Ok(Some(FollowPayload { changed, user, viewer }))
    }

    /// Follows a user no longer.
    async fn unfollow(&self, ctx: &Context<'_>, input: UnfollowInput) -> ApiResult<Option<UnfollowPayload>> {
        let Followed { changed, user, viewer } =
            set_follow(ctx, &input.user_id, input.idempotency_key, false).await?;
        Ok(Some(UnfollowPayload { changed, user, viewer }))
    }
}

struct Followed {
    changed: bool,
    user: User,
    viewer: User,
}

async fn set_follow(ctx: &Context<'_>, user: &ID, key: Option<String>, on: bool) -> ApiResult<Followed> {
    let scope = Scope::of(ctx);
    scope.viewer().must_be_signed_in()?;
    let user = parse_as("userId", user)?;
    let key = key.map(IdempotencyKey::parse).transpose()?;
    let actor = scope.viewer().actor(scope.plaudit()).await?;
    let (user, changed) = scope.plaudit().set_follow(actor, user, on, key.as_ref()).await?;

    let selection = Selection::of(ctx);
    let mut prefetch = Prefetch::default();
    prefetch.user(user.id, &selection.inside("user"));
    prefetch.user(actor, &selection.inside("viewer"));
    let scope = prefetch.read(&scope.renewed()).await;
    Ok(Followed { changed, user: User::new(user.id, scope.clone()), viewer: User::new(actor, scope) })
}
