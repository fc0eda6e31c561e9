//! What a development server does for whoever asks: it signs them in as anybody. Without a token to give,
//! as in production, none of this is there.
//!
//! - [`token`]: a token; [`users`]: for whom one is worth having
//! - [`storm`]: many simulated users at once, for some seconds

mod storm;
mod token;
mod users;

use std::sync::Arc;

use async_graphql::{Request, ServerError, Variables};
use axum::{
    Router,
    http::StatusCode,
    routing::{get, post},
};
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout};

use super::{
    graphql::{LONGEST, took_too_long},
    refusal::Refusal,
    sockets::Sockets,
};
use plaudit_token_auth::{Subject, TokenSigner};

use crate::{
    graphql::{ApiError, Caller, Code, Engine, Rejected},
    settings::RequestSettings,
};

/// Signs tokens for whoever asks.
pub struct Development {
    pub signer: TokenSigner,
    /// Whom a token is for when nobody is named.
    pub user: Subject,
    /// More users of the demo data who have something to show.
    pub others: Vec<Subject>,
    /// Whom a moderator's token is for when nobody is named.
    pub moderator: Subject,
}

/// What these handlers share.
struct Shared {
    development: Development,
    engine: Engine,
    requests: Arc<RequestSettings>,
    /// They know when this server stops.
    sockets: Sockets,
    /// Storms that there may be: one.
    storms: Arc<Semaphore>,
}

type State = axum::extract::State<Arc<Shared>>;

/// Everything under `/dev`.
pub fn router(
    development: Option<Development>,
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
        .with_state(Arc::new(Shared { development, engine, requests, sockets, storms }))
}

/// Executes a document of our own, as any other is executed; gives its data.
///
/// # Errors
/// The first one, if there is any.
async fn ask(
    engine: &Engine,
    caller: Caller,
    document: &str,
    variables: Value,
) -> Result<Value, ServerError> {
    let request = Request::new(document).variables(Variables::from_json(variables));
    let first = |errors: Vec<ServerError>| errors.into_iter().next();
    let executed = match engine.prepare(request, caller) {
        Ok(prepared) => {
            timeout(LONGEST, engine.execute(prepared)).await.unwrap_or_else(|_| Ok(took_too_long()))
        }
        Err(rejected) => Err(rejected),
    };
    let (data, error) = match executed {
        Ok(response) => (response.data.into_json().unwrap_or_default(), first(response.errors)),
        Err(Rejected(errors)) => (Value::Null, first(errors)),
    };
    error.map_or(Ok(data), Err)
}

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ApiError::new(Code::BadUserInput, message))
}
