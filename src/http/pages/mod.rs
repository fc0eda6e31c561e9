//! The pages that this server has inside, so that they work without internet.
//!
//! - [`built`]: the files, and how they are sent; [`assets`]: what the pages are made of

mod assets;
mod built;

use axum::{
    Router,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};

pub use assets::router as assets;
use built::Built;

use crate::settings::ServerSettings;

/// What the demo app shows; it tells them apart by itself.
const APP_ADDRESSES: [&str; 9] =
    ["/", "/two", "/note/{id}", "/user/{id}", "/group/{id}", "/groups", "/inbox", "/hot", "/likes"];

/// Everything only from here, and nothing inline. `connect-src 'self'` means WebSockets to here too, in
/// Chromium from 71 on, Firefox, and Safari from 16 on.
const STRICT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The editor sets styles inline, has its icons in a data URL, and starts workers.
const EDITOR: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self' data:; connect-src 'self'; worker-src 'self'; \
    frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const APP: Page = Page { file: "app/index.html", policy: STRICT };
const ADMIN: Page = Page { file: "admin/index.html", policy: STRICT };
const GRAPHIQL: Page = Page { file: "graphiql/index.html", policy: EDITOR };

const NOT_BUILT: &str = "This page is not in this build. Run `make web`, then build again.\n";

/// An HTML document with the policy that its browser is to hold it to.
#[derive(Clone, Copy)]
struct Page {
    file: &'static str,
    policy: &'static str,
}

/// The pages that are served, the operator's always: it has no data inside. Their parts are at [`assets`].
pub fn router(settings: &ServerSettings) -> Router {
    let mut routes = Router::new().route("/admin", ADMIN.at());
    if settings.serves_demo() {
        routes = APP_ADDRESSES.iter().fold(routes, |routes, address| routes.route(address, APP.at()));
    } else if settings.serves_graphiql() {
        routes = routes.route("/", get(async || Redirect::temporary("/graphiql")));
    }
    if settings.serves_graphiql() {
        routes = routes.route("/graphiql", GRAPHIQL.at());
    }
    routes
}

impl Page {
    fn at(self) -> axum::routing::MethodRouter {
        get(async move |headers: HeaderMap| self.answer(&headers))
    }

    fn answer(self, request: &HeaderMap) -> Response {
        let Some(file) = Built::get(self.file) else {
            return (StatusCode::NOT_FOUND, NOT_BUILT).into_response();
        };
        let headers = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-cache"),
            (header::CONTENT_SECURITY_POLICY, self.policy),
        ];
        // Weak: what is sent may be compressed on the way.
        let tag = format!("W/{}", built::entity_tag(&file));
        (headers, built::send(file, &tag, request)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_that_is_not_in_the_build_says_how_it_gets_there() {
        let answer = Page { file: "nowhere/index.html", policy: STRICT }.answer(&HeaderMap::new());
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        let text = axum::body::to_bytes(answer.into_body(), 1_000).await.unwrap();
        assert!(String::from_utf8_lossy(&text).contains("make web"), "{text:?}");
    }
}
