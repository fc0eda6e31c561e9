//! Development tools under `/dev`: tokens for any user, and the storm. The routes exist only with development tokens.
//!
//! - [`same_machine`]: only requests of this machine are answered
//! - [`token`]: a token; [`users`]: users of the demo data
//! - [`storm`]: many simulated users at once, for some seconds

mod same_machine;
mod storm;
mod token;
mod users;

use std::sync::Arc;

use async_graphql::{Request, ServerError, Variables};
use axum::{
    Router,
    http::StatusCode,
    middleware,
    routing::{get, post},
};
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout};

use super::{
    connections::sockets::Sockets,
    operation::{LONGEST, took_too_long},
    requests::request_error::RequestError,
};
use plaudit_token_auth::{Subject, TokenSigner};

use plaudit_catalogue::settings::{HostName, RequestSettings};
use plaudit_graphql::{ApiError, Caller, Code, Engine, Rejection};

/// Signs tokens for any client.
pub struct Development {
    pub signer: TokenSigner,
    /// The user of a token when the request names none.
    pub user: Subject,
    /// More users of the demo data, with data to show.
    pub others: Vec<Subject>,
    /// The user of a moderator's token when the request names none.
    pub moderator: Subject,
}

/// State shared by these handlers.
struct DevState {
    development: Development,
    engine: Engine,
    requests: Arc<RequestSettings>,
    /// Signals that this server stops.
    sockets: Sockets,
    /// Allows one storm at a time.
    storms: Arc<Semaphore>,
}

type SharedDevState = axum::extract::State<Arc<DevState>>;

/// Everything under `/dev`. `hosts` are answered beside this machine's names.
pub fn router(
    development: Option<Development>,
    hosts: Vec<HostName>,
    engine: Engine,
    requests: Arc<RequestSettings>,
    sockets: Sockets,
) -> Router {
    let Some(development) = development else { return Router::new() };
    let storms = Arc::new(Semaphore::new(1));
    Router::new()
        .route("/dev/token", get(token::token))
        .route("/dev/users", get(users::users))
        .route("/dev/storm", post(storm::begin))
        .with_state(Arc::new(DevState { development, engine, requests, sockets, storms }))
        .route_layer(middleware::from_fn_with_state(hosts, same_machine::only_from_here))
}

/// Executes a document through the same engine as requests, and returns its data.
///
/// # Errors
/// The first error of the response, if there is one.
async fn execute(
    engine: &Engine,
    caller: Caller,
    document: &str,
    variables: Value,
) -> Result<Value, ServerError> {
    let request = Request::new(document).variables(Variables::from_json(variables));
    let executed = match engine.prepare(request, caller).await {
        Ok(prepared) => {
            timeout(LONGEST, engine.execute(prepared)).await.unwrap_or_else(|_| Ok(took_too_long()))
        }
        Err(rejected) => Err(rejected),
    };
    let (data, error) = match executed {
        Ok(executed) => {
            let error = executed.errors().first().cloned();
            let mut body: Value = serde_json::from_slice(&executed.into_bytes()).unwrap_or_default();
            (body["data"].take(), error)
        }
        Err(Rejection(errors)) => (Value::Null, errors.into_iter().next()),
    };
    error.map_or(Ok(data), Err)
}

fn bad_request(message: impl Into<String>) -> RequestError {
    RequestError::new(StatusCode::BAD_REQUEST, ApiError::new(Code::BadUserInput, message))
}
