//! Who may use a field: root fields and private fields say it where they are declared.
//!
//! The access guards (`src/graphql/reading/guards.rs`) check it before a field is resolved.
//! docs/reference/rights.md has all of them; tests compare the two, demand a rule for each root field, and try
//! every rule with every role.

use Who::{
    Anyone, Author, AuthorOrModerator, Gateways, Moderator, ModeratorOrService, Oneself, Service, SignedIn,
};

use super::viewer::Viewer;
use plaudit_token_auth::Role;

use crate::errors::{ApiError, ApiResult};

/// Who may use a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// Also without a token.
    Anyone,
    /// With `introspection` anyone: the guard of introspection decides.
    Gateways,
    /// Everybody with a token, of any role.
    SignedIn,
    /// The author of a note or comment. The domain decides, because the object is not known yet here; this check only
    /// needs a token.
    Author,
    /// The user who is named, moderators and services. The domain decides, as for [`Self::Author`].
    Oneself,
    /// The author of the object, the owner of the group, and moderators. The domain decides, as for [`Self::Author`].
    AuthorOrModerator,
    Moderator,
    ModeratorOrService,
    Service,
}

impl Who {
    /// The name in docs/reference/rights.md.
    pub const fn name(self) -> &'static str {
        match self {
            Anyone => "anyone",
            Gateways => "anyone; without `introspection` gateways, services",
            SignedIn => "signed in",
            Author => "author",
            AuthorOrModerator => "author, moderator",
            Oneself => "oneself, moderator, service",
            Moderator => "moderator",
            ModeratorOrService => "moderator, service",
            Service => "service",
        }
    }
}

pub const MODERATORS_ONLY: &str = "this needs a token with the role moderator";

/// For endpoints outside of the schema that only moderators may use.
///
/// # Errors
/// As for a field for moderators.
pub fn must_be_moderator(viewer: &Viewer) -> ApiResult<()> {
    viewer.must_be_signed_in()?;
    if viewer.has_role(Role::Moderator) { Ok(()) } else { Err(ApiError::forbidden(MODERATORS_ONLY)) }
}
