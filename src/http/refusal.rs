//! Requests that are refused before GraphQL begins. The body has GraphQL's shape all the same, so that
//! clients find the code where they always look for it.

use async_graphql::ServerError;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};

use super::{accept::MediaType, answer};
use crate::graphql::ApiError;

/// An HTTP status and one GraphQL error.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    error: Box<ApiError>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub fn new(status: StatusCode, error: ApiError) -> Self {
        Self { status, error: Box::new(error), header: None }
    }

    pub fn with_header(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// `extensions.code`.
    pub fn code(&self) -> &'static str {
        self.error.code().name()
    }

    pub fn into_response_as(self, media_type: MediaType) -> Response {
        let mut response = answer::errors(self.status, &[ServerError::from(*self.error)], media_type);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.into_response_as(MediaType::Json)
    }
}
