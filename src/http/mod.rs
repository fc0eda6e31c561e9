//! The HTTP service: routes and middleware.
//!
//! - [`graphql`]: queries and mutations; [`accept`] (by [`media_type`]), [`query_string`] and [`body`] read the
//!   request, [`answer`] writes the response, [`observe`] counts and logs it
//! - [`socket`], [`event_stream`]: operations over connections that stay open; [`operation`]: what both
//!   share; [`sockets`]: the open connections and their limits
//! - [`caller`]: the user of the token; [`address`]: the client's address, also behind proxies
//! - [`request_error`]: refusals before GraphQL begins; [`rates`]: status 429
//! - [`around`]: request ids, security headers, CORS, compression
//! - [`serve`]: [`connections`], each a [`connection`] with time limits; [`counts`]: how many are open
//! - [`health`]: probes and metrics; [`admin`]: metrics for the operator's page; [`pages`]: the embedded pages;
//!   [`dev`]: development tools

mod accept;
mod address;
mod admin;
mod answer;
mod around;
mod body;
mod caller;
mod connection;
mod connections;
mod counts;
mod dev;
mod event_stream;
mod graphql;
mod health;
mod media_type;
mod observe;
mod operation;
mod pages;
mod query_string;
mod rates;
mod request_error;
mod serve;
pub mod socket;
mod sockets;

use std::{any::Any, sync::Arc};

use axum::{
    Router,
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use metrics_exporter_prometheus::PrometheusHandle;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

pub use connections::Connections;
pub use dev::Development;
pub use health::{Dependency, Owner, Readiness, Report, router as health_router};
pub use serve::serve;
pub use sockets::Sockets;

use plaudit_token_auth::TokenVerifier;

use crate::{
    domain::Plaudit,
    graphql::{ApiError, Documents, Engine},
    settings::{CostSettings, PageOrigin, RequestSettings, ServerSettings},
};
use request_error::RequestError;

/// The parts of the service.
pub struct Api {
    pub plaudit: Plaudit,
    pub verifier: TokenVerifier,
    /// Hands out tokens to anybody; for development only.
    pub dev: Option<Development>,
    pub readiness: Arc<dyn Readiness>,
    pub metrics: PrometheusHandle,
    pub sockets: Sockets,
    pub documents: Documents,
    pub server: ServerSettings,
    pub requests: Arc<RequestSettings>,
    pub cost: CostSettings,
}

/// State shared by the handlers.
struct ApiState {
    api: Api,
    engine: Engine,
}

type SharedApiState = axum::extract::State<Arc<ApiState>>;

/// All routes.
pub fn router(mut api: Api) -> Router {
    let engine = Engine::new(api.plaudit.clone(), api.cost, api.requests.federation);
    let dev = dev::router(
        api.dev.take(),
        api.server.dev_hosts.clone(),
        engine.clone(),
        Arc::clone(&api.requests),
        api.sockets.clone(),
    );
    let probes = health_router(Arc::clone(&api.readiness), api.metrics.clone());
    let pages = pages::router(&api.server);
    api.sockets.begin_metrics();
    graphql_routes(&api.requests.cors_origins)
        .route("/admin/metrics", get(admin::metrics))
        .with_state(Arc::new(ApiState { api, engine }))
        .merge(probes)
        .merge(pages)
        .layer(around::compression())
        // Compressed already, or sent line by line.
        .merge(pages::assets())
        .merge(dev)
        // One layer: each has the futures of requests allocated again.
        .layer(
            ServiceBuilder::new()
                .layer(middleware::from_fn(around::surround))
                .layer(CatchPanicLayer::custom(panicked)),
        )
}

/// The routes that pages of listed origins may use.
fn graphql_routes(cors_origins: &[PageOrigin]) -> Router<Arc<ApiState>> {
    let graphql = get(graphql::answer).post(graphql::answer).fallback(graphql::refuse_method);
    let routes = Router::new()
        .route("/graphql", graphql)
        .route("/graphql/ws", any(socket::open))
        .route("/graphql/stream", get(event_stream::open).post(event_stream::open));
    match cors_origins {
        [] => routes,
        origins => routes.layer(around::cors(origins)),
    }
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(message, "a handler panicked");
    RequestError::new(StatusCode::INTERNAL_SERVER_ERROR, ApiError::internal()).into_response()
}
