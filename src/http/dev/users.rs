//! `GET /dev/users`: users of the demo data to sign in as.

use axum::Json;
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::json;

use super::{SharedDevState, execute};
use plaudit_token_auth::{Role, Subject};

use plaudit_graphql::{Caller, Engine};

#[derive(Serialize)]
pub struct Users {
    users: Vec<DemoUser>,
}

#[derive(Serialize)]
struct DemoUser {
    subject: String,
    role: Role,
}

/// `GET /dev/users`: the default user, other users that exist, and a moderator.
pub async fn users(state: SharedDevState) -> Json<Users> {
    let development = &state.development;
    let others = join_all(development.others.iter().map(|subject| existing(&state.engine, subject))).await;
    let users = std::iter::once(&development.user).chain(others.into_iter().flatten());
    let with_role = |role| move |subject: &Subject| DemoUser { subject: subject.to_string(), role };
    let moderator = with_role(Role::Moderator)(&development.moderator);
    Json(Users { users: users.map(with_role(Role::User)).chain([moderator]).collect() })
}

/// `None` for a user that does not exist, and if the database does not answer.
async fn existing<'a>(engine: &Engine, subject: &'a Subject) -> Option<&'a Subject> {
    let document = "query ($subject: String!) { userBySubject(subject: $subject) { id } }";
    let data =
        execute(engine, Caller::nobody(), document, json!({ "subject": subject.as_str() })).await.ok()?;
    data["userBySubject"].is_object().then_some(subject)
}
