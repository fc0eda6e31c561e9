//! Caller and viewer: who sends a request.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use plaudit_token_auth::{Identity, Role, Subject};

use crate::{
    domain::{Plaudit, RequestSource},
    graphql::errors::{ApiError, ApiResult},
    primitives::UserId,
};

/// Who sends a request, and from which address.
#[derive(Clone, Debug)]
pub struct Caller {
    pub viewer: Viewer,
    /// Address of the client, not of a proxy in front of this server.
    pub address: IpAddr,
    /// Whether a gateway of a federated graph sends it: one of the trusted proxies, on its own behalf.
    pub is_gateway: bool,
}

impl Caller {
    /// The server itself: without a token, from the local address.
    pub fn nobody() -> Self {
        Self { viewer: Viewer::default(), address: Ipv4Addr::LOCALHOST.into(), is_gateway: false }
    }

    /// Whether all documents are executed for it, not only trusted ones: gateways make documents of their own, and
    /// services are the app's own servers.
    pub fn may_send_any_document(&self) -> bool {
        self.is_gateway || self.viewer.has_role(Role::Service)
    }

    /// The address whose limits hold; `None` for gateways and services, which ask for many clients.
    pub fn limited_address(&self) -> Option<IpAddr> {
        (!self.is_gateway && !self.viewer.has_role(Role::Service)).then_some(self.address)
    }

    /// Who is charged; `None` for services. They are the app's own servers, and limit their own callers.
    pub(in crate::graphql) fn source(&self) -> Option<RequestSource<'_>> {
        let subject = self.viewer.subject().map(Subject::as_str);
        let address = self.limited_address();
        (!self.viewer.has_role(Role::Service)).then_some(RequestSource { subject, address })
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
        Ok(plaudit.ensure_user(identity.subject.as_str(), identity.name.as_deref()).await?)
    }
    /// The same for what suspended users may do, too.
    ///
    /// # Errors
    /// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without token.
    pub(in crate::graphql) async fn actor_even_suspended(&self, plaudit: &Plaudit) -> ApiResult<UserId> {
        let Some(identity) = &self.0 else { return Err(ApiError::no_token()) };
        let (subject, name) = (identity.subject.as_str(), identity.name.as_deref());
        Ok(plaudit.ensure_user_even_suspended(subject, name).await?)
    }
}
