//! CORS: the origins whose pages may send GraphQL requests, and the answers to their preflights. Browsers send no
//! credentials of their own: pages send tokens.

use std::sync::{Arc, Once};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{account, around::REQUEST_ID, request_error::RequestError};
use crate::http::SharedApiState;
use plaudit_catalogue::settings::{PageOrigin, RequestSettings};
use plaudit_graphql::{ApiError, Code};

/// How long browsers may cache the answer to a preflight, in seconds. No browser caches it for longer.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("7200");
/// Longest part of an origin that is repeated, in characters.
const SHOWN: usize = 100;
/// Hosts of pages of this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The origins whose pages may send requests. Cheap to clone.
#[derive(Clone)]
pub struct Origins {
    listed: Arc<[PageOrigin]>,
    /// Pages of this machine, too, at any port.
    loopback: bool,
}

impl Origins {
    pub fn of(settings: &RequestSettings) -> Self {
        Self { listed: settings.cors_origins.clone().into(), loopback: settings.loopback_pages }
    }

    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && !self.loopback
    }

    fn allow(&self, origin: &HeaderValue) -> bool {
        self.listed.iter().any(|listed| listed.0 == origin) || self.loopback && is_loopback(origin)
    }
}

fn is_loopback(origin: &HeaderValue) -> bool {
    let authority = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
    let is_port = |rest: &str| {
        let port = rest.strip_prefix(':');
        rest.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_ok())
    };
    authority.is_some_and(|authority| {
        LOOPBACK.iter().any(|host| authority.strip_prefix(host).is_some_and(is_port))
    })
}

/// Adds the headers by which browsers give an answer to a page.
pub fn layer(origins: Origins) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _| origins.allow(origin)))
        .expose_headers([REQUEST_ID, header::RETRY_AFTER])
}

/// `OPTIONS`: the question of a browser whether a page may send a request.
pub async fn preflight(state: SharedApiState, request: Request) -> Result<Response, RequestError> {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    let (Some(origin), true) =
        (headers.get(header::ORIGIN), headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD))
    else {
        return Err(account::refuse_method(state, Request::from_parts(parts, body)).await);
    };
    if !Origins::of(&state.api.requests).allow(origin) {
        return Err(account::refuse(&state, &parts, refused(origin)));
    }
    account::admit(&state, account::limited_address(&state, &parts))?;
    Ok(allowed(origin, headers).into_response())
}

fn allowed(origin: &HeaderValue, asked: &HeaderMap) -> HeaderMap {
    let methods = HeaderValue::from_static("GET,POST");
    let vary = "origin, access-control-request-method, access-control-request-headers";
    let mut headers = HeaderMap::from_iter([
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()),
        (header::ACCESS_CONTROL_ALLOW_METHODS, methods),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S),
        (header::VARY, HeaderValue::from_static(vary)),
    ]);
    if let Some(names) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    headers
}

/// Says what to set, and the first time in the log.
fn refused(origin: &HeaderValue) -> RequestError {
    static TOLD: Once = Once::new();
    let origin: String = String::from_utf8_lossy(origin.as_bytes()).chars().take(SHOWN).collect();
    let message = format!(
        "pages of {origin:?} may not send requests: if this is your app, name its origin in the setting `cors_origins`"
    );
    TOLD.call_once(|| tracing::warn!("a preflight is refused: {message}"));
    RequestError::of(ApiError::new(Code::Forbidden, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine_are_those_by_http_under_a_loopback_name_at_any_port() {
        let is_loopback = |origin: &'static str| is_loopback(&HeaderValue::from_static(origin));
        for own in ["http://localhost", "http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8080"]
        {
            assert!(is_loopback(own), "{own}");
        }
        for other in [
            "https://localhost:5173",
            "http://localhost.evil.example",
            "http://localhost:5173.evil.example",
            "http://localhost@evil.example",
            "http://evil.example:80",
            "http://127.0.0.1.evil.example",
            "http://localhost:",
            "null",
            "",
        ] {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
