//! A token for whoever asks: development only.

use std::time::Duration;

use async_graphql::Request;
use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::State;
use crate::{
    auth::{Role, SignError, Subject, TokenSigner},
    graphql::{Caller, Engine},
};

const LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// Lets the pages of a development server sign in by themselves.
pub struct DevToken {
    pub signer: TokenSigner,
    /// Whom the tokens are for.
    pub subject: Subject,
}

impl DevToken {
    /// A new token, good for half a day.
    pub fn sign(&self) -> Result<String, SignError> {
        self.signer.sign(&self.subject, Role::User, LIFE)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    user: String,
    token: String,
    /// A note worth showing, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    note_id: Option<String>,
}

/// `GET /dev/token`: 404 where tokens are not handed out.
pub async fn token(state: State) -> Response {
    let Some(dev) = &state.api.dev else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match dev.sign() {
        Ok(token) => {
            let note_id = newest_note(&state.engine).await;
            let session = Session { user: dev.subject.to_string(), token, note_id };
            Json(session).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "cannot hand out a token");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Without the database there is none, and the token is good all the same.
async fn newest_note(engine: &Engine) -> Option<String> {
    let request = Request::new("{ feed(first: 1) { nodes { id } } }");
    let feed = engine.execute(engine.prepare(request, Caller::nobody()).ok()?).await.ok()?;
    let id = feed.data.into_json().ok()?.pointer("/feed/nodes/0/id")?.as_str()?.to_owned();
    Some(id)
}
