//! Pages built by Vite, embedded in the binary, with entity tags.

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{Embed, EmbeddedFile};

/// Empty if Vite has not run before the build.
#[derive(Embed)]
#[folder = "web-demo/dist"]
#[allow_missing = true]
pub struct BuiltFiles;

/// A strong entity tag, in quotes.
pub fn entity_tag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let start: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{start}\"")
}

/// The file, or 304 if the client has it.
pub fn send(file: EmbeddedFile, tag: &str, request: &HeaderMap) -> Response {
    let headers = [(header::ETAG, tag)];
    if is_known(tag, request) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, file.data).into_response()
}

/// Compares weakly, as RFC 9110 says for `If-None-Match`: proxies may have weakened the tag.
fn is_known(tag: &str, request: &HeaderMap) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let lines = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|known| known.trim() == "*" || opaque(known) == opaque(tag))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn if_none_match_is_compared_weakly_and_may_be_a_list() {
        let has_file = |sent: &'static str| {
            let request = [(header::IF_NONE_MATCH, HeaderValue::from_static(sent))].into_iter().collect();
            is_known("W/\"7f3a\"", &request)
        };
        for known in ["\"7f3a\"", "W/\"7f3a\"", "\"0\", W/\"7f3a\" ,\"1\"", "*"] {
            assert!(has_file(known), "{known}");
        }
        for other in ["", "7f3a", "\"7f3\"", "\"0\", \"1\""] {
            assert!(!has_file(other), "{other}");
        }
        assert!(!is_known("\"7f3a\"", &HeaderMap::new()));
    }
}
