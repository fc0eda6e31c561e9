//! Middleware of every request: its id, security headers and compression.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use plaudit_traces::TraceParent;
use tower_http::compression::{
    CompressionLayer, CompressionLevel,
    predicate::{And, DefaultPredicate, Predicate, SizeAbove},
};
use tracing::{Instrument, field};
use uuid::Uuid;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// Longest id, in bytes, that is accepted from clients and proxies.
const MAX_REQUEST_ID: usize = 64;

/// Below this many bytes compression saves no packet.
const COMPRESS_ABOVE: u64 = 1_024;

/// Default headers of every response. A page sets its own policy.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Gives the request an id, which is in the response and in each log line of the request, as the id of its trace is in
/// those lines.
pub async fn surround(mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let span = tracing::error_span!("request", id = id.to_str().unwrap_or_default(), trace = field::Empty);
    if let Some(parent) = trace_parent(request.headers()) {
        span.record("trace", field::display(parent.trace()));
        request.extensions_mut().insert(parent);
    }
    let mut response = next.run(request).instrument(span).await;
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The client's id if it is safe to log, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
    let is_safe = |id: &&HeaderValue| {
        let id = id.as_bytes();
        !id.is_empty() && id.len() <= MAX_REQUEST_ID && id.iter().all(is_allowed)
    };
    headers.get(REQUEST_ID).filter(is_safe).cloned().unwrap_or_else(|| {
        let id = Uuid::new_v4().to_string();
        HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("none"))
    })
}

/// What the client says of its trace. Two such headers say nothing, as W3C Trace Context specifies.
fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    let mut sent = headers.get_all(TRACE_PARENT).iter();
    let parent = sent.next()?.to_str().ok()?.parse().ok()?;
    sent.next().is_none().then_some(parent)
}

/// Compression at its fastest level: time matters more than the last tenth of the bytes.
pub fn compression() -> CompressionLayer<And<DefaultPredicate, SizeAbove>> {
    let worth_it = DefaultPredicate::new().and(SizeAbove::new(COMPRESS_ABOVE));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worth_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_safe_to_log_is_kept_and_any_other_is_replaced() {
        let is_kept = |given: &'static [u8]| {
            let given = HeaderValue::from_bytes(given).unwrap();
            let id = request_id(&[(REQUEST_ID, given.clone())].into_iter().collect());
            assert!(id.len() <= MAX_REQUEST_ID);
            id == given
        };
        assert!(is_kept(b"7f3a-01:Root=1/x_y.z+"));
        for bad in [&b""[..], b"a b", b"a\tb", b"\xc3\xa9", b"a\"b", b"a\x1b[31m", &[b'a'; 65]] {
            if HeaderValue::from_bytes(bad).is_ok() {
                assert!(!is_kept(bad), "{bad:?}");
            }
        }
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
