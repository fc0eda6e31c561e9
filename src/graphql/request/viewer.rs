//! Who is asking.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use plaudit_token_auth::{Identity, Role, Subject};

use crate::{
    domain::Plaudit,
    graphql::errors::{ApiError, ApiResult},
    primitives::UserId,
};

/// Who sends a request, and from where.
#[derive(Clone, Debug)]
pub struct Caller {
    pub viewer: Viewer,
    /// Of the client, not of a proxy before this server.
    pub address: IpAddr,
}

impl Caller {
    /// Without a token, from this machine: the server itself.
    pub fn nobody() -> Self {
        Self { viewer: Viewer::default(), address: Ipv4Addr::LOCALHOST.into() }
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

    /// Of the token, if there is one.
    pub(in crate::graphql) fn subject(&self) -> Option<&Subject> {
        self.0.as_ref().map(|identity| &identity.subject)
    }

    /// What makes two viewers the same, whichever token they show.
    pub(in crate::graphql) fn who(&self) -> Option<(&Subject, Role)> {
        self.0.as_ref().map(|identity| (&identity.subject, identity.role))
    }

    /// When the token ends; `None` without one.
    pub fn expires_at(&self) -> Option<DateTime<Utc>> {
        self.0.as_ref().map(|identity| identity.expires_at)
    }

    /// # Errors
    /// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without token.
    pub(in crate::graphql) fn must_be_signed_in(&self) -> ApiResult<&Subject> {
        self.subject().ok_or_else(ApiError::no_token)
    }

    /// The viewer's user; `None` without token, and for one that has not acted yet.
    pub(in crate::graphql) async fn user(&self, plaudit: &Plaudit) -> ApiResult<Option<UserId>> {
        match &self.0 {
            Some(identity) => Ok(plaudit.find_user(identity.subject.as_str()).await?),
            None => Ok(None),
        }
    }

    /// Whether the token gives this role.
    pub(in crate::graphql) fn has_role(&self, role: Role) -> bool {
        self.0.as_ref().is_some_and(|identity| identity.role == role)
    }

    /// The viewer's user, created if this is its first action.
    ///
    /// # Errors
    /// [`Code::Unauthenticated`](crate::graphql::Code::Unauthenticated) without token.
    pub(in crate::graphql) async fn actor(&self, plaudit: &Plaudit) -> ApiResult<UserId> {
        let subject = self.must_be_signed_in()?;
        Ok(plaudit.ensure_user(subject.as_str()).await?)
    }
}
