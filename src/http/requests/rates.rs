//! Status 429 and `Retry-After` for requests beyond a rate limit.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

/// Whatever the media type: nothing was executed (RFC 6585, section 4).
pub fn too_many(response: &mut Response, retry_after_s: u64) {
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s));
}
