//! GraphiQL: a page in the binary, so that it works without internet.

use axum::{
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{Embed, EmbeddedFile};

/// What Vite built; empty when it has not run.
#[derive(Embed)]
#[folder = "web-demo/dist"]
#[allow_missing = true]
struct Built;

const PAGE: &str = "graphiql/index.html";

/// Scripts, workers and connections only of our own. The editor sets styles inline, and has its icons in a
/// data URL.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const NOT_BUILT: &str = "GraphiQL is not in this build. Run `make web`, then build again.\n";

/// `GET /graphiql`.
pub async fn page(headers: HeaderMap) -> Response {
    match Built::get(PAGE) {
        Some(file) => {
            let policy = [(header::CONTENT_SECURITY_POLICY, POLICY)];
            (policy, send(&file, "no-cache", &headers)).into_response()
        }
        None => (StatusCode::NOT_FOUND, NOT_BUILT).into_response(),
    }
}

/// `GET /assets/…`: the name of each contains its hash, so it never changes.
pub async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match Built::get(&format!("assets/{path}")) {
        Some(file) => send(&file, "public, max-age=31536000, immutable", &headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn send(file: &EmbeddedFile, cache_control: &'static str, request: &HeaderMap) -> Response {
    let tag = entity_tag(file);
    let is_known = request.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let headers = [
        (header::CONTENT_TYPE, file.metadata.mimetype().to_owned()),
        (header::CACHE_CONTROL, cache_control.to_owned()),
        (header::ETAG, tag),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, file.data.clone()).into_response()
}

/// Weak: what is sent may be compressed.
fn entity_tag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let start: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{start}\"")
}
