//! The HTTP service: routes and what surrounds every request.
//!
//! - [`graphql`]: queries and mutations; [`socket`]: subscriptions; [`sockets`]: all that are open;
//!   [`caller`]: whose token it is
//! - [`refusal`]: what is refused before GraphQL begins
//! - [`health`]: probes and metrics; [`graphiql`]: the embedded page; [`dev`]: a token for trying things out

mod caller;
mod dev;
mod graphiql;
mod graphql;
mod health;
mod refusal;
mod socket;
mod sockets;

use std::{any::Any, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
    routing::{any, get},
};
use metrics_exporter_prometheus::PrometheusHandle;
use tower_http::{catch_panic::CatchPanicLayer, compression::CompressionLayer, trace::TraceLayer};

pub use dev::DevToken;
pub use health::{Readiness, router as health_router};
pub use sockets::Sockets;

use crate::{
    auth::TokenVerifier,
    domain::Plaudit,
    graphql::{ApiError, Engine, RequestLimits},
};
use refusal::Refusal;

/// Bytes of a request's body.
const MAX_BODY: usize = 256 * 1024;

/// What the service is made of.
pub struct Api {
    pub plaudit: Plaudit,
    pub verifier: TokenVerifier,
    /// Hands out tokens to anybody; for development only.
    pub dev: Option<DevToken>,
    pub readiness: Arc<dyn Readiness>,
    pub metrics: PrometheusHandle,
    /// For a stop to close them.
    pub sockets: Sockets,
    /// What a request may cost.
    pub limits: RequestLimits,
    /// Whether GraphiQL is served.
    pub graphiql: bool,
}

/// What handlers share.
struct Shared {
    api: Api,
    engine: Engine,
}

type State = axum::extract::State<Arc<Shared>>;

/// All routes.
pub fn router(api: Api) -> Router {
    let mut routes = Router::new()
        .route("/graphql", get(graphql::query).post(graphql::execute))
        .route("/graphql/ws", any(socket::open))
        .route("/dev/token", get(dev::token));
    if api.graphiql {
        routes = routes
            .route("/", get(async || Redirect::temporary("/graphiql")))
            .route("/graphiql", get(graphiql::page))
            .route("/assets/{*path}", get(graphiql::asset));
    }
    let probes = health_router(Arc::clone(&api.readiness), api.metrics.clone());
    let engine = Engine::new(api.plaudit.clone(), api.limits);
    routes
        .with_state(Arc::new(Shared { api, engine }))
        .merge(probes)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(CompressionLayer::new())
        .layer(CatchPanicLayer::custom(panicked))
        // Spans and answers are told at level debug; what went wrong is logged where it went wrong.
        .layer(TraceLayer::new_for_http().on_failure(()))
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(message, "a handler panicked");
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, ApiError::internal()).into_response()
}
