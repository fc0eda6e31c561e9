//! `GET /dev/token`: a token for any user and role.

use std::time::Duration;

use axum::{
    Json,
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Development, RequestError, SharedDevState, bad_request, execute};
use plaudit_token_auth::{Role, SignError, Subject};

use plaudit_graphql::{ApiError, Caller, Engine};

const LIFE: Duration = Duration::from_hours(12);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    user: Option<Subject>,
    #[serde(default)]
    role: RequestedRole,
}

/// Not `service`: that role is for servers of apps, not for pages.
#[derive(Clone, Copy, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum RequestedRole {
    #[default]
    User,
    Moderator,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    user: String,
    role: Role,
    token: String,
    expires_at: DateTime<Utc>,
    /// The newest note, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    note_id: Option<String>,
}

impl Development {
    /// The users of the demo are called by their subjects.
    fn sign_for(&self, user: &Subject, role: Role) -> Result<String, SignError> {
        self.signer.sign_named(user, Some(user.as_str()), role, LIFE)
    }

    /// A new token of the default user, valid for half a day.
    pub fn sign(&self) -> Result<String, SignError> {
        self.sign_for(&self.user, Role::User)
    }
}

/// `GET /dev/token?user=…&role=…`, both optional.
pub async fn token(
    state: SharedDevState,
    request: Result<Query<TokenRequest>, QueryRejection>,
) -> Result<Json<Session>, RequestError> {
    let Query(TokenRequest { user, role }) = request.map_err(|why| bad_request(why.body_text()))?;
    let development = &state.development;
    let (role, user) = match role {
        RequestedRole::User => (Role::User, user.as_ref().unwrap_or(&development.user)),
        RequestedRole::Moderator => (Role::Moderator, user.as_ref().unwrap_or(&development.moderator)),
    };
    let expires_at = Utc::now() + LIFE;
    let token = development.sign_for(user, role).map_err(cannot_sign)?;
    let note_id = newest_note(&state.engine).await;
    Ok(Json(Session { user: user.to_string(), role, token, expires_at, note_id }))
}

fn cannot_sign(error: SignError) -> RequestError {
    tracing::error!(%error, "cannot sign a development token");
    RequestError::new(StatusCode::INTERNAL_SERVER_ERROR, ApiError::internal())
}

/// `None` if the database does not answer: the token is valid all the same.
async fn newest_note(engine: &Engine) -> Option<String> {
    let feed =
        execute(engine, Caller::nobody(), "{ feed(first: 1) { nodes { id } } }", json!({})).await.ok()?;
    Some(feed.pointer("/feed/nodes/0/id")?.as_str()?.to_owned())
}
