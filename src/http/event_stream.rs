//! GraphQL over server-sent events, `/graphql/stream`: for clients without WebSocket. The "distinct
//! connections mode" of PROTOCOL.md of graphql-sse: one operation per request.

use std::{convert::Infallible, sync::Arc};

use async_graphql::parser::types::OperationType;
use axum::{
    Json,
    extract::{
        Query,
        rejection::{JsonRejection, QueryRejection},
    },
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use chrono::{DateTime, Utc};
use futures_util::{
    FutureExt, Stream, StreamExt,
    future::{Either, pending, select},
    stream,
};

use super::{
    Shared, State,
    caller::SentBy,
    graphql::{self, bad_request, only_post, parameters_of, refused_body},
    operation::{Operation, Step, Steps, rejected},
    refusal::Refusal,
    socket::until,
    sockets::{Place, Transport},
};
use crate::graphql::{ApiError, Caller, Code, Parameters};

const EVENT_STREAM: &str = "text/event-stream";

/// Proxies of the nginx family would else hold events back until a buffer is full.
const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// `POST /graphql/stream` with a JSON body.
pub async fn post(
    state: State,
    SentBy(caller): SentBy,
    headers: HeaderMap,
    body: Result<Json<Parameters>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(parameters) = body.map_err(|why| refused_body(&why))?;
    open(&state, &headers, parameters, caller, |_| true)
}

/// `GET /graphql/stream?query=…`: a browser's `EventSource` cannot do otherwise. Not for mutations.
pub async fn get(
    state: State,
    SentBy(caller): SentBy,
    headers: HeaderMap,
    parameters: Result<Query<graphql::Parameters>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(parameters) = parameters.map_err(|why| bad_request(why.body_text()))?;
    open(&state, &headers, parameters_of(parameters)?, caller, |kind| kind != OperationType::Mutation)
}

fn open(
    shared: &Arc<Shared>,
    headers: &HeaderMap,
    parameters: Parameters,
    caller: Caller,
    is_allowed: fn(OperationType) -> bool,
) -> Result<Response, Refusal> {
    if !accepts_events(headers) {
        let message = format!("this answers with {EVENT_STREAM}, which Accept does not allow");
        return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, ApiError::new(Code::BadUserInput, message)));
    }
    let place = shared.api.sockets.admit(caller.address, Transport::EventStream)?;
    let token_ends = caller.viewer.expires_at();
    let steps = match Operation::prepare(shared, parameters, caller) {
        Ok(operation) if !is_allowed(operation.kind()) => return Err(only_post()),
        Ok(operation) => operation.run(),
        // Not a status of HTTP: browsers would tell nobody why.
        Err(why) => rejected(why),
    };
    let keep_alive = KeepAlive::new().interval(shared.api.sockets.rules().ping);
    let events = Sse::new(events(shared, steps, token_ends, place)).keep_alive(keep_alive);
    Ok(([UNBUFFERED], events).into_response())
}

/// Ends without `complete` when the token ends or this server stops: clients then ask again.
fn events(
    shared: &Shared,
    steps: Steps,
    token_ends: Option<DateTime<Utc>>,
    place: Place,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    let token_ends = match token_ends {
        Some(end) => Either::Left(tokio::time::sleep_until(until(end))),
        None => Either::Right(pending()),
    };
    let end = select(Box::pin(token_ends), Box::pin(shared.api.sockets.stopping())).map(drop);
    let counted = move |event| {
        let _ = &place;
        Ok(event)
    };
    steps.flat_map(|step| stream::iter(told(step))).take_until(end).map(counted)
}

fn told(step: Step) -> Vec<Event> {
    let next = |result: &str| Event::default().event("next").data(result);
    // Browsers tell nobody of an event without any data, and axum writes none for an empty text.
    let complete = || Event::default().event("complete").data("\n");
    match step {
        Step::Next(result) => vec![next(&String::from_utf8_lossy(&result))],
        Step::Rejected(errors) => {
            vec![next(&serde_json::json!({ "errors": errors }).to_string()), complete()]
        }
        Step::Complete => vec![complete()],
    }
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(header::ACCEPT) else { return true };
    let accept = accept.to_str().unwrap_or_default().to_ascii_lowercase();
    let types = accept.split(',').filter_map(|range| range.split(';').next()).map(str::trim);
    types.into_iter().any(|range| [EVENT_STREAM, "text/*", "*/*"].contains(&range))
}
