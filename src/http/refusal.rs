//! Requests that are refused before GraphQL begins. The body has GraphQL's shape all the same, so that
//! clients find the code where they always look for it.

use async_graphql::ServerError;
use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};

use crate::graphql::ApiError;

/// An HTTP status and one GraphQL error.
pub struct Refusal {
    status: StatusCode,
    error: ApiError,
    header: Option<(HeaderName, &'static str)>,
}

impl Refusal {
    pub const fn new(status: StatusCode, error: ApiError) -> Self {
        Self { status, error, header: None }
    }

    pub fn with_header(self, name: HeaderName, value: &'static str) -> Self {
        Self { header: Some((name, value)), ..self }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "errors": [ServerError::from(self.error)] });
        let mut response = (self.status, Json(body)).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
