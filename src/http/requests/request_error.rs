//! Errors of requests that are refused before GraphQL begins. The body has the shape of a GraphQL response, so that
//! clients find the code in its usual place.

use async_graphql::ServerError;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::media_type::MediaType;
use plaudit_graphql::{ApiError, Code};

/// An HTTP status and one GraphQL error.
#[derive(Debug)]
pub struct RequestError {
    status: StatusCode,
    error: Box<ApiError>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl RequestError {
    pub fn new(status: StatusCode, error: ApiError) -> Self {
        Self { status, error: Box::new(error), header: None }
    }

    /// With the status of the error's code.
    pub fn of(error: ApiError) -> Self {
        Self::new(status_of_code(error.code()), error)
    }

    /// Of a method that is not `allowed` there.
    pub fn of_method(message: &str, allowed: &'static str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, ApiError::new(Code::BadUserInput, message))
            .with_header(header::ALLOW, HeaderValue::from_static(allowed))
    }

    pub fn with_header(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// `extensions.code`.
    pub fn code(&self) -> &'static str {
        self.error.code().name()
    }

    pub fn into_response_as(self, media_type: MediaType) -> Response {
        let mut response = errors(self.status, &[ServerError::from(*self.error)], media_type);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        self.into_response_as(MediaType::Json)
    }
}

/// The status of a request that is refused with this code.
pub fn status_of_code(code: Code) -> StatusCode {
    StatusCode::from_u16(code.refused_status()).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY)
}

/// Errors without `data`: nothing was executed.
pub fn errors(status: StatusCode, errors: &[ServerError], media_type: MediaType) -> Response {
    #[derive(Serialize)]
    struct ErrorBody<'a> {
        errors: &'a [ServerError],
    }

    let body = serde_json::to_vec(&ErrorBody { errors }).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, media_type.header())], body).into_response()
}
