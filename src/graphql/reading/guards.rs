//! Access guards: check the [access table](crate::graphql::request::access) before a field is resolved.

use async_graphql::{Context, Guard, Result};

use super::scope::Scope;
use plaudit_token_auth::Role;

use crate::{
    graphql::{
        errors::{ApiError, ApiResult},
        request::access::{
            MODERATORS_ONLY,
            Who::{Anyone, AuthorOrModerator, Moderator, Owner, Service, SignedIn},
            rule,
        },
    },
    primitives::UserId,
};

/// Guards the fields of this root type.
pub struct ByTable(pub &'static str);

impl Guard for ByTable {
    async fn check(&self, ctx: &Context<'_>) -> Result<()> {
        Ok(check(ctx, self.0, None).await?)
    }
}

/// Guards a private field of this type. The field belongs to this user.
pub struct Private(pub &'static str, pub UserId);

impl Guard for Private {
    async fn check(&self, ctx: &Context<'_>) -> Result<()> {
        Ok(check(ctx, self.0, Some(self.1)).await?)
    }
}

/// # Errors
/// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without a token where one is needed;
/// [`Code::Forbidden`](crate::graphql::Code::Forbidden) if the token is not sufficient. The object was not read.
async fn check(ctx: &Context<'_>, of_type: &'static str, owner: Option<UserId>) -> ApiResult<()> {
    let (field, scope) = (ctx.field().name(), Scope::of(ctx));
    let Some(who) = rule(of_type, field) else {
        tracing::error!(of_type, field, "the access table has no rule for this field");
        return Err(ApiError::internal());
    };
    if who == Anyone {
        return Ok(()); // before `viewer`, which shared events do not have
    }
    let viewer = scope.viewer();
    viewer.must_be_signed_in()?;
    let forbidden = match who {
        Anyone | SignedIn | AuthorOrModerator => return Ok(()),
        Moderator if viewer.has_role(Role::Moderator) => return Ok(()),
        Service if viewer.has_role(Role::Service) => return Ok(()),
        Owner if owner.is_some() && viewer.user(scope.plaudit()).await? == owner => return Ok(()),
        Moderator => MODERATORS_ONLY,
        Service => "this needs a token with the role service",
        Owner => "only the user themselves can see this",
    };
    Err(ApiError::forbidden(forbidden))
}
