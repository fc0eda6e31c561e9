//! Embedded pages: the demo app, examples of elements, the operator's page and GraphiQL. They load nothing from
//! other servers.
//!
//! - [`built`]: the embedded files; [`assets`]: scripts, styles and images

mod assets;
mod built;

use axum::{
    Router,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};

pub use assets::router as assets;
use built::BuiltFiles;

use plaudit_catalogue::settings::ServerSettings;

/// Paths of the demo app, which has its own router.
const APP_ADDRESSES: [&str; 9] =
    ["/", "/two", "/note/{id}", "/user/{id}", "/group/{id}", "/groups", "/inbox", "/hot", "/likes"];

/// Only resources of this server, and nothing inline. `connect-src 'self'` allows WebSockets to it too, in
/// Chromium from 71 on, Firefox, and Safari from 16 on.
const STRICT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The editor sets styles inline, has its icons in a data URL, and starts workers.
const EDITOR: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const APP: HtmlPage = HtmlPage { file: "app/index.html", policy: STRICT };
const ELEMENTS: HtmlPage = HtmlPage { file: "elements/index.html", policy: STRICT };
const ADMIN: HtmlPage = HtmlPage { file: "admin/index.html", policy: STRICT };
const GRAPHIQL: HtmlPage = HtmlPage { file: "graphiql/index.html", policy: EDITOR };

const NOT_BUILT: &str = "This page is not in this build. Run `make web`, then build again.\n";

/// An HTML document with its content security policy.
#[derive(Clone, Copy)]
struct HtmlPage {
    file: &'static str,
    policy: &'static str,
}

/// `/admin`, the operator's page: always served, because it contains no data.
pub fn admin() -> Router {
    Router::new().route("/admin", ADMIN.at())
}

/// Routes of the other pages.
pub fn router(settings: &ServerSettings) -> Router {
    let mut routes = Router::new();
    if settings.serves_demo() {
        routes = APP_ADDRESSES.iter().fold(routes, |routes, address| routes.route(address, APP.at()));
        routes = routes.route("/elements", ELEMENTS.at());
    } else if settings.serves_graphiql() {
        routes = routes.route("/", get(async || Redirect::temporary("/graphiql")));
    }
    if settings.serves_graphiql() {
        routes = routes.route("/graphiql", GRAPHIQL.at());
    }
    routes
}

impl HtmlPage {
    fn at(self) -> axum::routing::MethodRouter {
        get(async move |headers: HeaderMap| self.answer(&headers))
    }

    fn answer(self, request: &HeaderMap) -> Response {
        let Some(file) = BuiltFiles::get(self.file) else {
            return (StatusCode::NOT_FOUND, NOT_BUILT).into_response();
        };
        let headers = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-cache"),
            (header::CONTENT_SECURITY_POLICY, self.policy),
        ];
        // Weak, because the response may be compressed.
        let tag = format!("W/{}", built::entity_tag(&file));
        (headers, built::send(file, &tag, request)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_that_is_not_in_the_build_answers_how_to_build_it() {
        let answer = HtmlPage { file: "nowhere/index.html", policy: STRICT }.answer(&HeaderMap::new());
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        let text = axum::body::to_bytes(answer.into_body(), 1_000).await.unwrap();
        assert!(String::from_utf8_lossy(&text).contains("make web"), "{text:?}");
    }
}
