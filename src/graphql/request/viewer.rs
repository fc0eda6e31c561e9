//! Caller and viewer: who sends a request.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use plaudit_token_auth::{Identity, Role, Subject, TokenProfile};

use crate::errors::{ApiError, ApiResult};
use plaudit_catalogue::primitives::UserId;
use plaudit_domain::{Plaudit, Requester, ToldProfile, people::accounts};

/// Who sends a request, and from which address.
#[derive(Clone, Debug)]
pub struct Caller {
    pub viewer: Viewer,
    /// Address of the client, not of a proxy in front of this server.
    pub address: IpAddr,
    /// Whether a gateway of a federated graph sends it: one of the trusted proxies, on its own behalf.
    pub is_gateway: bool,
    /// Whether one of the trusted proxies sends it, for whomever.
    pub is_by_proxy: bool,
}

impl Caller {
    /// The server itself: without a token, from the local address.
    pub fn nobody() -> Self {
        let address = Ipv4Addr::LOCALHOST.into();
        Self { viewer: Viewer::default(), address, is_gateway: false, is_by_proxy: false }
    }

    /// Whether all documents are executed for it, not only trusted ones: gateways make documents of their own, and
    /// services are the app's own servers.
    pub fn may_send_any_document(&self) -> bool {
        self.is_gateway || self.viewer.is_sent_by_service()
    }

    /// Whether it decides by `traceparent` what is recorded: traces cost, and anybody can send that header.
    pub fn decides_traces(&self) -> bool {
        self.is_by_proxy || self.viewer.is_sent_by_service()
    }

    /// The address whose limits hold; `None` for gateways and services, which ask for many clients.
    pub fn limited_address(&self) -> Option<IpAddr> {
        (!self.is_gateway && !self.viewer.is_sent_by_service()).then_some(self.address)
    }

    /// Who is charged; `None` for services. They are the app's own servers, and limit their own callers. A user
    /// for whom one acts is charged, and not the address of the server.
    pub(crate) fn source(&self) -> Option<Requester<'_>> {
        let subject = self.viewer.subject().map(Subject::as_str);
        let address = self.limited_address();
        (!self.viewer.has_role(Role::Service)).then_some(Requester { subject, address })
    }
}

/// Who acts and sees: the owner of the token, if there is one, or the user for whom a service acts.
#[derive(Clone, Default, Debug)]
pub struct Viewer(Option<Arc<SignedIn>>);

#[derive(Debug)]
struct SignedIn {
    identity: Identity,
    /// The owner of the token, if that is a service that acts for `identity`.
    service: Option<Identity>,
}

impl Viewer {
    pub fn signed_in(identity: Identity) -> Self {
        Self(Some(Arc::new(SignedIn { identity, service: None })))
    }

    /// The user of this subject, for whom the owner of the token acts: with the role user, whatever roles that
    /// user has.
    ///
    /// # Errors
    /// [`Code::Forbidden`](crate::Code::Forbidden) without token, and for one of another role than service.
    pub fn acting_for(&self, subject: Subject) -> ApiResult<Self> {
        let service = self.token().filter(|token| token.role == Role::Service).cloned();
        let Some(service) = service else {
            return Err(ApiError::forbidden("Plaudit-Act-As: this needs a token with the role service"));
        };
        let identity = Identity {
            subject,
            role: Role::User,
            profile: TokenProfile::default(),
            expires_at: service.expires_at,
        };
        Ok(Self(Some(Arc::new(SignedIn { identity, service: Some(service) }))))
    }

    /// The owner of the token, for whom nobody acts, and the user for whom the owner acts.
    pub fn parts(&self) -> (Self, Option<Subject>) {
        let acted_for = self.service().and_then(|_| self.subject().cloned());
        (self.token().cloned().map_or_else(Self::default, Self::signed_in), acted_for)
    }

    fn token(&self) -> Option<&Identity> {
        self.0.as_ref().map(|signed_in| signed_in.service.as_ref().unwrap_or(&signed_in.identity))
    }

    /// The service that acts for the viewer.
    pub(crate) fn service(&self) -> Option<&Subject> {
        self.0.as_ref()?.service.as_ref().map(|service| &service.subject)
    }

    /// Whether a service sent the token, which may act for a user.
    pub(crate) fn is_sent_by_service(&self) -> bool {
        self.token().is_some_and(|token| token.role == Role::Service)
    }

    fn identity_of(&self) -> Option<&Identity> {
        self.0.as_ref().map(|signed_in| &signed_in.identity)
    }

    pub const fn is_signed_in(&self) -> bool {
        self.0.is_some()
    }

    /// Who acts and sees; `None` without a token.
    pub(crate) fn subject(&self) -> Option<&Subject> {
        self.identity_of().map(|identity| &identity.subject)
    }

    /// Equal for all tokens of one user with one role.
    pub(crate) fn identity(&self) -> Option<(&Subject, Role)> {
        self.identity_of().map(|identity| (&identity.subject, identity.role))
    }

    /// When the token expires; `None` without a token.
    pub fn expires_at(&self) -> Option<DateTime<Utc>> {
        self.identity_of().map(|identity| identity.expires_at)
    }

    /// # Errors
    /// [`Code::Unauthenticated`](crate::Code::Unauthenticated) without token.
    pub(crate) fn must_be_signed_in(&self) -> ApiResult<&Subject> {
        self.subject().ok_or_else(ApiError::no_token)
    }

    /// The viewer's user; `None` without a token, and before the viewer's first action.
    pub(crate) async fn user(&self, plaudit: &Plaudit) -> ApiResult<Option<UserId>> {
        match self.identity_of() {
            Some(identity) => Ok(accounts::find_user(plaudit, identity.subject.as_str()).await?),
            None => Ok(None),
        }
    }

    /// Whether the viewer has this role.
    pub(crate) fn has_role(&self, role: Role) -> bool {
        self.identity_of().is_some_and(|identity| identity.role == role)
    }

    /// The viewer's user, created at the first action.
    ///
    /// # Errors
    /// [`Code::Unauthenticated`](crate::Code::Unauthenticated) without token;
    /// [`Code::Suspended`](crate::Code::Suspended), unless it is a service.
    pub(crate) async fn actor(&self, plaudit: &Plaudit) -> ApiResult<UserId> {
        let Some(identity) = self.identity_of() else { return Err(ApiError::no_token()) };
        let is_service = identity.role == Role::Service;
        Ok(accounts::ensure_user(plaudit, identity.subject.as_str(), &told(identity), is_service).await?)
    }

    /// The same for what makes nobody a user; `None` without a user.
    ///
    /// # Errors
    /// [`Code::Suspended`](crate::Code::Suspended), unless it is a service.
    pub(crate) async fn actor_if_user(&self, plaudit: &Plaudit) -> ApiResult<Option<UserId>> {
        let Some(identity) = self.identity_of() else { return Ok(None) };
        let is_service = identity.role == Role::Service;
        Ok(accounts::acting_user(plaudit, identity.subject.as_str(), &told(identity), is_service).await?)
    }

    /// The actor, for what suspended users may do, too.
    ///
    /// # Errors
    /// [`Code::Unauthenticated`](crate::Code::Unauthenticated) without token.
    pub(crate) async fn actor_even_suspended(&self, plaudit: &Plaudit) -> ApiResult<UserId> {
        let Some(identity) = self.identity_of() else { return Err(ApiError::no_token()) };
        Ok(accounts::ensure_user_even_suspended(plaudit, identity.subject.as_str(), &told(identity)).await?)
    }

    /// The user of the service that acts for the viewer.
    pub(crate) async fn acting_service(&self, plaudit: &Plaudit) -> ApiResult<Option<UserId>> {
        let Some(service) = self.service() else { return Ok(None) };
        let user =
            accounts::ensure_user_even_suspended(plaudit, service.as_str(), &ToldProfile::default()).await?;
        Ok(Some(user))
    }
}

fn told(identity: &Identity) -> ToldProfile<'_> {
    let TokenProfile { name, avatar_url, issued_at } = &identity.profile;
    ToldProfile { name: name.as_deref(), avatar_url: avatar_url.as_deref(), issued_at: *issued_at }
}
