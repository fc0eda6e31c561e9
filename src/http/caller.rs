//! Authentication of requests: the user of the token or for whom its service acts, and the client's address.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
};

use super::{ApiState, address::client_address, request_error::RequestError};
use plaudit_token_auth::{Subject, TokenVerifier};

use crate::graphql::{ApiError, ApiResult, Caller, Code, Viewer};

/// Names the user for whom a service acts: a header, or a member of the payload of `connection_init`.
pub const ACT_AS: &str = "Plaudit-Act-As";

/// The caller; anonymous without an `Authorization` header. Any request with an invalid token is refused, because its
/// sender expects to be signed in.
pub struct SentBy(pub Caller);

impl FromRequestParts<Arc<ApiState>> for SentBy {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, shared: &Arc<ApiState>) -> Result<Self, RequestError> {
        let viewer = match authorization(&parts.headers) {
            Some(value) => viewer_of(value, &shared.api.verifier).await,
            None => Ok(Viewer::default()),
        };
        let viewer = viewer.map_err(|error| {
            RequestError::new(StatusCode::UNAUTHORIZED, error).with_header(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer error=\"invalid_token\""),
            )
        })?;
        let viewer = match acted_for(&parts.headers).map_err(refused)? {
            Some(subject) => viewer.acting_for(subject).map_err(refused)?,
            None => viewer,
        };
        let requests = &shared.api.requests;
        let client = client_address(parts, &requests.trusted_proxies);
        let is_gateway = requests.federation && client.is_proxy;
        Ok(Self(Caller { viewer, address: client.address, is_gateway, is_by_proxy: client.is_by_proxy }))
    }
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

/// Reads `Bearer <token>`.
///
/// # Errors
/// [`Code::Unauthenticated`] for anything else, and for an invalid token.
pub async fn viewer_of(authorization: &str, verifier: &TokenVerifier) -> ApiResult<Viewer> {
    let token = authorization
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| ApiError::new(Code::Unauthenticated, "Authorization must be: Bearer <token>"))?;
    Ok(Viewer::signed_in(verifier.verify(token).await?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use plaudit_token_auth::{Role, TokenSecret, TokenSigner};

    #[tokio::test]
    async fn only_a_good_bearer_token_is_accepted() {
        let secret: TokenSecret = "a secret that only these tests know".parse().unwrap();
        let verifier = TokenVerifier::hs256(&secret);
        let token = TokenSigner::hs256(&secret)
            .sign(&"ana".parse().unwrap(), Role::User, Duration::from_secs(60))
            .unwrap();
        for good in [format!("Bearer {token}"), format!("bearer  {token} ")] {
            assert!(viewer_of(&good, &verifier).await.is_ok_and(|viewer| viewer.is_signed_in()), "{good}");
        }
        for bad in ["", "Bearer", "Bearer ", &token, &format!("Basic {token}"), &format!("Bearer {token}x")] {
            assert!(viewer_of(bad, &verifier).await.is_err(), "{bad}");
        }
    }
}
