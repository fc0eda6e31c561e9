//! What the operator's page reads: `/admin/…`, for moderators.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::{State, caller::SentBy, health::measured, refusal::Refusal};
use crate::graphql::{ApiError, Code, must_be_moderator};

/// The text of `/metrics`, which a proxy keeps inside.
pub async fn metrics(state: State, SentBy(caller): SentBy) -> Result<Response, Refusal> {
    must_be_moderator(&caller.viewer).map_err(refused)?;
    Ok(measured(&state.api.metrics))
}

fn refused(error: ApiError) -> Refusal {
    match error.code() {
        Code::Forbidden => Refusal::new(StatusCode::FORBIDDEN, error),
        _ => Refusal::new(StatusCode::UNAUTHORIZED, error)
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
    }
}
