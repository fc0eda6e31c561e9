//! Whoever asks too often is told so by HTTP as well.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

/// Nothing was executed, so the status may say so, whatever the media type (RFC 6585, section 4).
pub fn too_many(response: &mut Response, retry_after_s: u64) {
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_s));
}
