//! What a development server does for whoever asks: it signs them in as anybody. Without a token to give,
//! as in production, none of this is there.
//!
//! - [`token`]: a token; [`users`]: for whom one is worth having

mod token;
mod users;

use std::sync::Arc;

use axum::{Router, http::StatusCode, routing::get};

use super::refusal::Refusal;
use crate::{
    auth::{Subject, TokenSigner},
    graphql::{ApiError, Code, Engine},
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
}

type State = axum::extract::State<Arc<Shared>>;

/// Everything under `/dev`.
pub fn router(development: Option<Development>, engine: Engine) -> Router {
    let Some(development) = development else { return Router::new() };
    Router::new()
        .route("/dev/token", get(token::token))
        .route("/dev/users", get(users::users))
        .with_state(Arc::new(Shared { development, engine }))
}

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ApiError::new(Code::BadUserInput, message))
}
