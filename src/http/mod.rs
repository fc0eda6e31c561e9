//! The HTTP service: routes and middleware.
//!
//! - [`graphql`]: queries and mutations; [`accept`] (by [`media_type`]), [`query_string`] and [`body`] read the
//!   request, [`answer`] writes the response, [`observe`] counts and logs it
//! - [`socket`], [`event_stream`]: operations over connections that stay open; [`operation`]: what both
//!   share; [`sockets`]: the open connections and their limits
//! - [`caller`]: the user of the token; [`address`]: the client's address, also behind proxies
//! - [`request_error`]: refusals before GraphQL begins; [`rates`]: status 429; [`account`]: who pays for what
//!   is answered without GraphQL
//! - [`around`]: request ids, security headers, compression; [`cors`]: pages of other origins
//! - [`serve`]: [`connections`], each a [`connection`] with time limits; [`idle`]: which of them
//!   makes room; [`hints`]: warnings about settings
//! - [`health`]: probes and state; [`exposition`]: metrics; [`admin`]: metrics for the operator's page; [`pages`]: the
//!   embedded pages; [`dev`]: development tools

mod connections;
mod dev;
mod event_stream;
mod graphql;
mod hints;
mod operation;
mod operators;
mod pages;
mod requests;
pub mod socket;

use std::{any::Any, sync::Arc};

use axum::{
    Router,
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::{MethodRouter, any, get},
};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

pub use connections::listener::Connections;
pub use connections::serve::serve;
pub use connections::sockets::Sockets;
pub use dev::Development;
pub use operators::exposition::Exposition;
pub use operators::health::{Dependency, HealthReport, Owner, Readiness};

use plaudit_token_auth::TokenVerifier;

use plaudit_catalogue::settings::{CostSettings, RequestSettings, ServerSettings};
use plaudit_domain::Plaudit;
use plaudit_graphql::{ApiError, Documents, Engine};
use requests::cors::Origins;
use requests::request_error::RequestError;

/// The parts of the service.
pub struct Api {
    pub plaudit: Plaudit,
    pub verifier: TokenVerifier,
    /// Hands out tokens to anybody; for development only.
    pub dev: Option<Development>,
    pub readiness: Arc<dyn Readiness>,
    pub metrics: Exposition,
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

/// The routes of a process.
pub struct Routes {
    /// At `listen`.
    pub public: Router,
    /// At `operator_listen`, if that is set: all of them.
    pub operators: Option<Router>,
}

/// The routes of the role API.
pub fn routes(mut api: Api) -> Routes {
    let engine = Engine::new(api.plaudit.clone(), api.cost, api.requests.federation);
    let dev = dev::router(
        api.dev.take(),
        api.server.dev_hosts.clone(),
        engine.clone(),
        Arc::clone(&api.requests),
        api.sockets.clone(),
    );
    let probes = operators::health::probes(Arc::clone(&api.readiness));
    let details = operators::health::details(Arc::clone(&api.readiness), api.metrics.clone());
    let pages = pages::router(&api.server);
    let (origins, is_divided) = (Origins::of(&api.requests), api.server.operator_listen.is_some());
    api.sockets.begin_metrics();
    let state = Arc::new(ApiState { api, engine });
    let charge = || middleware::from_fn_with_state(Arc::clone(&state), requests::account::charge);
    let operators = Router::new()
        .route("/admin/metrics", get(operators::admin::metrics))
        .with_state(Arc::clone(&state))
        .merge(details)
        .merge(pages::admin().layer(requests::around::compression()))
        .layer(charge());
    // Assets are compressed already, and the lines of a storm are sent one by one.
    let others = pages
        .layer(requests::around::compression())
        .merge(pages::assets())
        .merge(dev)
        .fallback(async || StatusCode::NOT_FOUND)
        .layer(charge());
    let public = graphql_routes(&origins)
        .with_state(Arc::clone(&state))
        .layer(requests::around::compression())
        .merge(others)
        .merge(probes);
    Routes::new(public, operators, is_divided)
}

/// The routes of a process without the role API, which has no clients and no accounts.
pub fn routes_without_api(readiness: Arc<dyn Readiness>, metrics: Exposition, is_divided: bool) -> Routes {
    let operators = operators::health::details(Arc::clone(&readiness), metrics);
    Routes::new(operators::health::probes(readiness), operators, is_divided)
}

impl Routes {
    /// `is_divided`: whether `operators` has an address of its own.
    fn new(public: Router, operators: Router, is_divided: bool) -> Self {
        let whole = surrounded(public.clone().merge(operators));
        if is_divided {
            Self { public: surrounded(public), operators: Some(whole) }
        } else {
            Self { public: whole, operators: None }
        }
    }
}

/// One layer: each has the futures of requests allocated again.
fn surrounded(routes: Router) -> Router {
    routes.layer(
        ServiceBuilder::new()
            .layer(middleware::from_fn(requests::around::surround))
            .layer(CatchPanicLayer::custom(panicked)),
    )
}

/// The routes that pages of listed origins may use.
fn graphql_routes(origins: &Origins) -> Router<Arc<ApiState>> {
    let for_pages = |methods: MethodRouter<Arc<ApiState>>| {
        let methods = if origins.is_empty() {
            methods
        } else {
            methods.route_layer(requests::cors::layer(origins.clone()))
        };
        methods.options(requests::cors::preflight).fallback(requests::account::refuse_method)
    };
    Router::new()
        .route("/graphql", for_pages(get(graphql::answer).post(graphql::answer)))
        .route("/graphql/ws", any(socket::open))
        .route("/graphql/stream", for_pages(get(event_stream::open).post(event_stream::open)))
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
