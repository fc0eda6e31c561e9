//! `POST /dev/storm`: simulated users act for some seconds, through the same engine as requests, to show the
//! counts under load. One storm at a time; it ends early when the client goes away.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use async_graphql::ServerError;
use axum::{
    body::Body,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use chrono::Utc;
use futures_util::{Stream, StreamExt, stream};
use plaudit_storm::{FindError, Storm, StormApi, TargetNotes};
use plaudit_token_auth::{Identity, Role, Subject, TokenProfile};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::{RequestError, SharedDevState, bad_request, execute};
use crate::http::{event_stream::UNBUFFERED, requests::body};
use plaudit_graphql::{ApiError, Caller, Code, Engine, Viewer, outcome};

const USERS: std::ops::RangeInclusive<i64> = 1..=500;
const SECONDS: std::ops::RangeInclusive<i64> = 1..=30;
const MAX_NOTES: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct StormRequest {
    users: i64,
    seconds: i64,
    /// Notes to act on; if empty, those that visitors see first.
    note_ids: Vec<String>,
}

impl Default for StormRequest {
    fn default() -> Self {
        Self { users: 300, seconds: 10, note_ids: Vec::new() }
    }
}

/// Access of the storm's users to the engine.
struct EngineApi(Engine);

impl StormApi for EngineApi {
    type Caller = Caller;
    type Error = ServerError;

    fn visitor(&self) -> Caller {
        Caller::nobody()
    }

    fn user(&self, subject: &str, address: IpAddr) -> Option<Caller> {
        let subject = subject.parse::<Subject>().ok()?;
        let expires_at = Utc::now() + Duration::from_hours(1);
        Some(Caller {
            viewer: Viewer::signed_in(Identity {
                profile: TokenProfile { name: Some(subject.to_string()), ..TokenProfile::default() },
                subject,
                role: Role::User,
                expires_at,
            }),
            address,
            is_gateway: false,
            is_by_proxy: false,
        })
    }

    async fn execute(
        &self,
        caller: &Caller,
        document: &'static str,
        variables: Value,
    ) -> Result<Value, ServerError> {
        execute(&self.0, caller.clone(), document, variables).await
    }
}

/// `POST /dev/storm`: a line of JSON four times a second, the last one with `done`.
pub async fn begin(state: SharedDevState, http_request: Request) -> Result<Response, RequestError> {
    let (parts, body) = http_request.into_parts();
    let request = StormRequest::read(&body::read(&parts.headers, body, &state.requests).await?)?;
    let permit = Arc::clone(&state.storms).try_acquire_owned().map_err(|_| one_at_a_time())?;
    let api = EngineApi(state.engine.clone());
    let targets =
        TargetNotes::find(&api, &request.note_ids).await.map_err(|why| no_targets(why, &request.note_ids))?;
    let time = Duration::from_secs(request.seconds.unsigned_abs());
    let storm = Storm::begin(api, targets, request.users as u16, time);
    let lines = lines(storm, permit).take_until(state.sockets.stopping());
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((headers, [UNBUFFERED], Body::from_stream(lines)).into_response())
}

impl StormRequest {
    fn read(body: &[u8]) -> Result<Self, RequestError> {
        let request: Self = serde_json::from_slice(body).map_err(|why| bad_request(why.to_string()))?;
        within("users", request.users, USERS)?;
        within("seconds", request.seconds, SECONDS)?;
        let notes = request.note_ids.len();
        if notes > MAX_NOTES {
            return Err(bad_request(format!("noteIds may have {MAX_NOTES} ids at most, not {notes}")));
        }
        Ok(request)
    }
}

fn within(name: &str, value: i64, bounds: std::ops::RangeInclusive<i64>) -> Result<(), RequestError> {
    if bounds.contains(&value) {
        return Ok(());
    }
    Err(bad_request(format!("{name} must be {} to {}, not {value}", bounds.start(), bounds.end())))
}

fn one_at_a_time() -> RequestError {
    let message = "a storm is running; wait until it ends";
    RequestError::new(StatusCode::CONFLICT, ApiError::new(Code::RetryLater, message))
}

fn no_targets(why: FindError<ServerError>, named: &[String]) -> RequestError {
    match (why, named) {
        (FindError::Execution(error), _) if outcome(Some(&error)) == Code::RetryLater.name() => {
            RequestError::of(ApiError::new(Code::RetryLater, error.message))
        }
        (FindError::Execution(error), _) => bad_request(format!("noteIds: {}", error.message)),
        (FindError::NoNotes, []) => {
            bad_request("there are no notes to act on: start with --seed-if-empty, or post one")
        }
        (FindError::NoNotes, _) => bad_request("noteIds: none of these is a note"),
    }
}

/// The reports of the storm as lines. Dropping the stream ends the storm and allows the next one.
fn lines(storm: Storm, permit: OwnedSemaphorePermit) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold((storm, permit), async |(mut storm, permit)| {
        let mut line = serde_json::to_vec(&storm.next().await?).ok()?;
        line.push(b'\n');
        Some((Ok(line.into()), (storm, permit)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_field_has_a_default() {
        let request = StormRequest::read(b"{}").ok().unwrap();
        assert_eq!((request.users, request.seconds, request.note_ids.len()), (300, 10, 0));
        let request =
            StormRequest::read(br#"{ "users": 500, "seconds": 1, "noteIds": ["note_1"] }"#).ok().unwrap();
        assert_eq!((request.users, request.seconds, request.note_ids.len()), (500, 1, 1));
    }
}
