//! Scripts, styles and images of pages, compressed by the build instead of for each request.

use axum::{
    Router,
    extract::Path,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use rust_embed::EmbeddedFile;

use super::built::{BuiltFiles, entity_tag, send};

/// Content codings, the one with the smallest result first, with the suffix of the compressed file's name.
const CODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// `GET /assets/…`.
pub fn router() -> Router {
    Router::new().route("/assets/{*path}", get(asset))
}

/// The file's name contains its hash, so its content never changes.
async fn asset(Path(path): Path<String>, request: HeaderMap) -> Response {
    let Some((original, (coding, file))) = find(&path, &request) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, original.metadata.mimetype()),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::VARY, "accept-encoding"),
    ];
    let coding = coding.map(|coding| [(header::CONTENT_ENCODING, coding)]);
    let tag = entity_tag(&file);
    (headers, coding, send(file, &tag, &request)).into_response()
}

type Encoded = (Option<&'static str>, EmbeddedFile);

/// A file and its content coding. Compressed files have no address of their own.
fn find(path: &str, request: &HeaderMap) -> Option<(EmbeddedFile, Encoded)> {
    if CODINGS.iter().any(|(_, end)| path.ends_with(end)) {
        return None;
    }
    let original = BuiltFiles::get(&format!("assets/{path}"))?;
    let mut accepted = CODINGS.iter().filter(|(coding, _)| accepts(coding, request));
    let compressed = accepted
        .find_map(|(coding, end)| Some((Some(*coding), BuiltFiles::get(&format!("assets/{path}{end}"))?)));
    let sent = compressed.unwrap_or_else(|| (None, original.clone()));
    Some((original, sent))
}

/// Whether `Accept-Encoding` allows the coding.
fn accepts(coding: &str, request: &HeaderMap) -> bool {
    let lines = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let elements: Vec<_> = lines.flat_map(|line| line.split(',')).map(named).collect();
    let is_accepted = |name: &str| {
        elements.iter().find(|(named, _)| named.eq_ignore_ascii_case(name)).map(|(_, is_wanted)| *is_wanted)
    };
    is_accepted(coding).or_else(|| is_accepted("*")).unwrap_or(false)
}

/// Reads `br;q=0.5`: the coding, and whether its weight is above 0.
fn named(element: &str) -> (&str, bool) {
    let (name, parameters) = element.split_once(';').unwrap_or((element, ""));
    let weight = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("q="));
    let is_wanted = weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0));
    (name.trim(), is_wanted)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_coding_is_used_if_the_client_accepts_it() {
        let accepts = |coding: &str, sent: &'static str| {
            let request = [(header::ACCEPT_ENCODING, HeaderValue::from_static(sent))].into_iter().collect();
            accepts(coding, &request)
        };
        for sent in ["gzip, deflate, br, zstd", "BR", "br;q=0.5", "gzip;q=0, *", "br ; q=1.0,*;q=0"] {
            assert!(accepts("br", sent), "{sent}");
        }
        for sent in ["", "gzip", "br;q=0", "br;q=0.000, *", "*;q=0", "brotli", "br;q=x"] {
            assert!(!accepts("br", sent), "{sent}");
        }
        assert!(!super::accepts("br", &HeaderMap::new()));
    }
}
