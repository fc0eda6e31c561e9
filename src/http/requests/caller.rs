//! Authentication of requests: the user of the token or for whom its service acts, and the client's address.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
};

use super::{address::client_address, request_error::RequestError};
use crate::http::{Api, ApiState};
use plaudit_domain::Requester;
use plaudit_graphql::{ApiError, ApiResult, Caller, Code, Viewer};
use plaudit_token_auth::Subject;

/// Names the user for whom a service acts: a header, or a member of the payload of `connection_init`.
pub const ACT_AS: &str = "Plaudit-Act-As";

/// The caller; anonymous without an `Authorization` header. Any request with an invalid token is refused, because its
/// sender expects to be signed in.
pub struct SentBy(pub Caller);

impl FromRequestParts<Arc<ApiState>> for SentBy {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<ApiState>) -> Result<Self, RequestError> {
        let requests = &shared.api.requests;
        let client = client_address(parts, &requests.trusted_proxies);
        let is_gateway = requests.federation && client.is_proxy;
        let (viewer, is_by_proxy) = (Viewer::default(), client.is_by_proxy);
        let mut caller = Caller { viewer, address: client.address, is_gateway, is_by_proxy };
        if let Some(value) = authorization(&parts.headers) {
            let viewer = viewer_of(value, &shared.api, caller.limited_address()).await;
            caller.viewer = viewer.map_err(unauthenticated)?;
        }
        if let Some(subject) = acted_for(&parts.headers).map_err(refused)? {
            caller.viewer = caller.viewer.acting_for(subject).map_err(refused)?;
        }
        Ok(Self(caller))
    }
}

fn unauthenticated(error: ApiError) -> RequestError {
    if let Some(seconds) = error.retry_after() {
        return RequestError::of(error).with_header(header::RETRY_AFTER, seconds.into());
    }
    let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
    RequestError::of(error).with_header(header::WWW_AUTHENTICATE, challenge)
}

fn refused(error: ApiError) -> RequestError {
    let status =
        if error.code() == Code::Forbidden { StatusCode::FORBIDDEN } else { StatusCode::BAD_REQUEST };
    RequestError::new(status, error)
}

/// The user for whom a service acts, by the header `Plaudit-Act-As`.
///
/// # Errors
/// [`Code::BadUserInput`] for several such headers, and for a text that cannot be a subject.
fn acted_for(headers: &HeaderMap) -> ApiResult<Option<Subject>> {
    let mut values = headers.get_all(ACT_AS).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ApiError::bad_input(ACT_AS, format!("{ACT_AS}: send it once")));
    }
    // Bytes that are not UTF-8 are not the subject of any token; as an empty one they are refused.
    subject_of(str::from_utf8(value.as_bytes()).unwrap_or_default()).map(Some)
}

/// The subject in a header or message `Plaudit-Act-As`.
///
/// # Errors
/// [`Code::BadUserInput`] for a text that cannot be one.
pub fn subject_of(text: &str) -> ApiResult<Subject> {
    Subject::try_from(text.to_owned()).map_err(|why| ApiError::bad_input(ACT_AS, format!("{ACT_AS}: {why}")))
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    // Bytes that are not text cannot be a token; as an empty token they are refused.
    headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default())
}

/// Reads `Bearer <token>`, which a client of this address sends; `None` for an address without limits. Whatever
/// is refused is charged to the address. Once that has spent its rate so, only tokens that were verified before
/// are accepted: others behind the same address keep theirs, and no signature is verified for callers who make
/// them up.
///
/// # Errors
/// [`Code::Unauthenticated`] for anything else, and for an invalid token; [`Code::RateLimited`].
pub async fn viewer_of(authorization: &str, api: &Api, address: Option<IpAddr>) -> ApiResult<Viewer> {
    let token = bearer(authorization);
    let rates = api.plaudit.rates();
    let payer = rates.payer(Some(Requester::of_address(address)));
    let is_verified = || token.as_ref().is_ok_and(|token| api.verifier.has_verified(token));
    rates.admit_token(&payer, is_verified)?;
    let identity = match token {
        Ok(token) => api.verifier.verify(token).await.map_err(ApiError::from),
        Err(error) => Err(error),
    };
    if identity.is_err() {
        rates.charge_refused_token(&payer);
    }
    identity.map(Viewer::signed_in)
}

fn bearer(authorization: &str) -> ApiResult<&str> {
    authorization
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| ApiError::new(Code::Unauthenticated, "Authorization must be: Bearer <token>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_is_read() {
        for good in ["Bearer a.b.c", "bearer  a.b.c "] {
            assert_eq!(bearer(good).ok(), Some("a.b.c"), "{good}");
        }
        for bad in ["", "Bearer", "a.b.c", "Basic a.b.c"] {
            assert!(bearer(bad).is_err(), "{bad}");
        }
    }
}
