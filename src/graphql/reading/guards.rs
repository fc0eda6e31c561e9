//! Access guards: check the [access table](crate::request::access) before a field is resolved.

use plaudit_token_auth::Role;

use super::scope::Scope;
use crate::{
    errors::{ApiError, ApiResult},
    request::access::{
        MODERATORS_ONLY,
        Who::{
            self, Anyone, Author, AuthorOrModerator, Gateways, Moderator, ModeratorOrService, Oneself,
            Service, SignedIn,
        },
    },
};

/// Whether the viewer may use a field. `who`: its rule.
///
/// # Errors
/// [`Code::Unauthenticated`](crate::Code::Unauthenticated) without a token where one is needed;
/// [`Code::Forbidden`](crate::Code::Forbidden) if the token is not sufficient. The object was not read.
pub fn check(who: Option<Who>, scope: &Scope) -> ApiResult<()> {
    let who = match who {
        // Before `viewer`, which shared events do not have.
        None | Some(Anyone | Gateways) => return Ok(()),
        Some(who) => who,
    };
    let viewer = scope.viewer();
    viewer.must_be_signed_in()?;
    let forbidden = match who {
        Anyone | Gateways | SignedIn | Author | AuthorOrModerator | Oneself => return Ok(()),
        Moderator | ModeratorOrService if viewer.has_role(Role::Moderator) => return Ok(()),
        Service | ModeratorOrService if viewer.has_role(Role::Service) => return Ok(()),
        Moderator => MODERATORS_ONLY,
        ModeratorOrService => "this needs a token with the role moderator or service",
        Service => "this needs a token with the role service",
    };
    Err(ApiError::forbidden(forbidden))
}
