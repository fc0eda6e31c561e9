//! `/admin/metrics`, which the operator's page reads; for moderators.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::{SharedApiState, caller::SentBy, health::metrics_text, request_error::RequestError};
use crate::graphql::{ApiError, Code, must_be_moderator};

/// The text of `/metrics`, which proxies usually do not pass on.
pub async fn metrics(state: SharedApiState, SentBy(caller): SentBy) -> Result<Response, RequestError> {
    must_be_moderator(&caller.viewer).map_err(refused)?;
    Ok(metrics_text(&state.api.metrics))
}

fn refused(error: ApiError) -> RequestError {
    match error.code() {
        Code::Forbidden => RequestError::new(StatusCode::FORBIDDEN, error),
        _ => RequestError::new(StatusCode::UNAUTHORIZED, error)
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
    }
}
