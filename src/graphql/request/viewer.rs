//! Caller and viewer: who sends a request.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use plaudit_token_auth::{Identity, Role, Subject, TokenProfile};

use crate::{
    domain::{Plaudit, RequestSource, ToldProfile},
    graphql::errors::{ApiError, ApiResult},
    primitives::UserId,
};

/// Who sends a request, and from which address.
#[derive(Clone, Debug)]
pub struct Caller {
    pub viewer: Viewer,
    /// Address of the client, not of a proxy in front of this server.
    pub address: IpAddr,
}

impl Caller {
    /// The server itself: without a token, from the local address.
    pub fn nobody() -> Self {
        Self { viewer: Viewer::default(), address: Ipv4Addr::LOCALHOST.into() }
    }

    /// Who is charged; `None` for services. They are the app's own servers, and limit their own callers.
    pub(in crate::graphql) fn source(&self) -> Option<RequestSource<'_>> {
        let subject = self.viewer.subject().map(Subject::as_str);
        (!self.viewer.has_role(Role::Service)).then_some(RequestSource { subject, address: self.address })
    }
}

/// The owner of the token, if there is one.
#[derive(Clone, Default, Debug)]
pub struct Viewer(Option<Arc<Identity>>);

impl Viewer {
    pub fn signed_in(identity: Identity) -> Self {
        Self(Some(Arc::new(identity)))
    }

    pub const fn is_signed_in(&self) -> bool {
        self.0.is_some()
    }

    /// Subject of the token, if there is one.
    pub(in crate::graphql) fn subject(&self) -> Option<&Subject> {
        self.0.as_ref().map(|identity| &identity.subject)
    }

    /// Equal for all tokens of one user with one role.
    pub(in crate::graphql) fn identity(&self) -> Option<(&Subject, Role)> {
        self.0.as_ref().map(|identity| (&identity.subject, identity.role))
    }

    /// When the token expires; `None` without a token.
    pub fn expires_at(&self) -> Option<DateTime<Utc>> {
        self.0.as_ref().map(|identity| identity.expires_at)
    }

    /// # Errors
    /// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without token.
    pub(in crate::graphql) fn must_be_signed_in(&self) -> ApiResult<&Subject> {
        self.subject().ok_or_else(ApiError::no_token)
    }

    /// The viewer's user; `None` without a token, and before the viewer's first action.
    pub(in crate::graphql) async fn user(&self, plaudit: &Plaudit) -> ApiResult<Option<UserId>> {
        match &self.0 {
            Some(identity) => Ok(plaudit.find_user(identity.subject.as_str()).await?),
            None => Ok(None),
        }
    }

    /// Whether the token has this role.
    pub(in crate::graphql) fn has_role(&self, role: Role) -> bool {
        self.0.as_ref().is_some_and(|identity| identity.role == role)
    }

    /// The viewer's user, created at the first action.
    ///
    /// # Errors
    /// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without token;
    /// [`Code::Suspended`](crate::graphql::Code::Suspended).
    pub(in crate::graphql) async fn actor(&self, plaudit: &Plaudit) -> ApiResult<UserId> {
        let Some(identity) = &self.0 else { return Err(ApiError::no_token()) };
        Ok(plaudit.ensure_user(identity.subject.as_str(), &told(identity)).await?)
    }

    /// The same for what suspended users may do, too.
    ///
    /// # Errors
    /// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without token.
    pub(in crate::graphql) async fn actor_even_suspended(&self, plaudit: &Plaudit) -> ApiResult<UserId> {
        let Some(identity) = &self.0 else { return Err(ApiError::no_token()) };
        Ok(plaudit.ensure_user_even_suspended(identity.subject.as_str(), &told(identity)).await?)
    }
}

fn told(identity: &Identity) -> ToldProfile<'_> {
    let TokenProfile { name, avatar_url, issued_at } = &identity.profile;
    ToldProfile { name: name.as_deref(), avatar_url: avatar_url.as_deref(), issued_at: *issued_at }
}
