//! Request bodies: accepts only JSON in UTF-8, and limits its bytes and the time that it takes to arrive.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, header},
};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::IgnoredAny;

use super::{media_type::MediaRange, request_error::RequestError};
use plaudit_catalogue::settings::RequestSettings;
use plaudit_graphql::{ApiError, Code};

/// Reads a whole body.
///
/// # Errors
/// 415 for anything but JSON in UTF-8: a page of any origin may send forms and text without a preflight. 413 and 408
/// beyond the limits, 400 for a body that ends early.
pub async fn read(
    headers: &HeaderMap,
    body: Body,
    settings: &RequestSettings,
) -> Result<Bytes, RequestError> {
    check_type(headers)?;
    if content_length(headers).is_some_and(|bytes| bytes > settings.max_body) {
        return Err(too_large(settings.max_body));
    }
    let read = tokio::time::timeout(settings.client_timeout, collect(body, settings.max_body));
    read.await.unwrap_or_else(|_| Err(too_slow(settings.client_timeout)))
}

/// The status of a body that is no request: it is JSON, or it is not.
pub fn status_of_refused(body: &[u8]) -> StatusCode {
    let is_json = serde_json::from_slice::<IgnoredAny>(body).is_ok();
    if is_json { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::BAD_REQUEST }
}

fn check_type(headers: &HeaderMap) -> Result<(), RequestError> {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let given = types.next().and_then(|value| value.to_str().ok()).and_then(MediaRange::parse);
    let is_json = given.is_some_and(|given| given.is("application", "json") && given.is_utf8());
    if !is_json || types.next().is_some() {
        return Err(unsupported("Content-Type must be application/json, in UTF-8"));
    }
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if !encoding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(unsupported("a request's body must not be compressed"))
        }
        _ => Ok(()),
    }
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn collect(body: Body, max: usize) -> Result<Bytes, RequestError> {
    match Limited::new(body, max).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(max)),
        Err(_) => Err(ended_early()),
    }
}

fn unsupported(message: &str) -> RequestError {
    request_error(StatusCode::UNSUPPORTED_MEDIA_TYPE, message.to_owned())
}

fn too_large(max: usize) -> RequestError {
    let message =
        format!("a request's body may have {max} bytes at most: send a shorter document or fewer variables");
    request_error(StatusCode::PAYLOAD_TOO_LARGE, message)
}

fn too_slow(time: Duration) -> RequestError {
    request_error(StatusCode::REQUEST_TIMEOUT, format!("the body did not arrive within {time:?}"))
}

fn ended_early() -> RequestError {
    request_error(StatusCode::BAD_REQUEST, "the body ended early".to_owned())
}

fn request_error(status: StatusCode, message: String) -> RequestError {
    RequestError::new(status, ApiError::new(Code::BadUserInput, message))
}

#[cfg(test)]
mod tests {
    use axum::{http::HeaderValue, response::IntoResponse};
    use futures_util::stream;

    use super::*;

    async fn status(headers: &[(&'static str, &'static str)], body: Body) -> Result<Bytes, StatusCode> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect();
        let settings = RequestSettings {
            max_body: 10,
            client_timeout: Duration::from_millis(200),
            ..RequestSettings::default()
        };
        read(&headers, body, &settings).await.map_err(|refusal| refusal.into_response().status())
    }

    const JSON: (&str, &str) = ("content-type", "application/json");

    #[tokio::test]
    async fn only_json_in_utf_8_is_read() {
        for good in
            ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""]
        {
            assert_eq!(status(&[("content-type", good)], "{}".into()).await.unwrap(), "{}");
        }
        for bad in [
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/plain",
            "text/plain; application/json",
            "application/graphql",
            "application/json; charset=utf-16",
            "application/jsonp",
            "",
        ] {
            let refused = status(&[("content-type", bad)], "{}".into()).await;
            assert_eq!(refused, Err(StatusCode::UNSUPPORTED_MEDIA_TYPE), "{bad}");
        }
        for headers in [&[][..], &[JSON, JSON], &[JSON, ("content-encoding", "gzip")]] {
            assert_eq!(status(headers, "{}".into()).await, Err(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
    }

    #[tokio::test]
    async fn a_body_beyond_the_limit_is_refused_with_or_without_a_content_length() {
        let chunked = |bytes: usize| {
            Body::from_stream(stream::iter(
                (0..bytes).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(b"x"))),
            ))
        };
        assert_eq!(status(&[JSON], "x".repeat(10).into()).await.unwrap().len(), 10);
        assert_eq!(status(&[JSON], chunked(10)).await.unwrap().len(), 10);
        assert_eq!(status(&[JSON], chunked(11)).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
        let announced = [JSON, ("content-length", "11")];
        let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(status(&announced, never).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_within_the_time_limit_is_refused() {
        let never = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        assert_eq!(status(&[JSON], never).await, Err(StatusCode::REQUEST_TIMEOUT));
    }
}
