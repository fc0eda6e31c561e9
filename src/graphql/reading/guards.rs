//! Access guards: check the [access table](crate::graphql::request::access) before a field is resolved.

use plaudit_token_auth::Role;

use super::scope::Scope;
use crate::{
    catalogue::Entity,
    graphql::{
        errors::{ApiError, ApiResult},
        request::access::{
            MODERATORS_ONLY,
            Who::{self, Anyone, AuthorOrModerator, Moderator, Owner, Service, SignedIn},
        },
    },
};

/// Whether the viewer may use a field. `who`: its rule; `of`: the user whose field it is.
///
/// # Errors
/// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without a token where one is needed;
/// [`Code::Forbidden`](crate::graphql::Code::Forbidden) if the token is not sufficient. The object was not read.
pub async fn check(who: Option<Who>, scope: &Scope, of: Option<Entity>) -> ApiResult<()> {
    let who = match who {
        // Before `viewer`, which shared events do not have.
        None | Some(Anyone) => return Ok(()),
        Some(who) => who,
    };
    let viewer = scope.viewer();
    viewer.must_be_signed_in()?;
    let forbidden = match who {
        Anyone | SignedIn | AuthorOrModerator => return Ok(()),
        Moderator if viewer.has_role(Role::Moderator) => return Ok(()),
        Service if viewer.has_role(Role::Service) => return Ok(()),
        Owner if of.is_some() && viewer.user(scope.plaudit()).await?.map(Entity::from) == of => return Ok(()),
        Moderator => MODERATORS_ONLY,
        Service => "this needs a token with the role service",
        Owner => "only the user themselves can see this",
    };
    Err(ApiError::forbidden(forbidden))
}
