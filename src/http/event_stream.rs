//! GraphQL over server-sent events, `/graphql/stream`, for clients without WebSocket: the "distinct connections mode"
//! of graphql-sse's PROTOCOL.md, with one operation per request.

use std::{convert::Infallible, sync::Arc};

use async_graphql::parser::types::OperationType;
use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, Method, StatusCode, request::Parts},
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
    ApiState, SharedApiState,
    connections::sockets::{OpenSocket, Transport},
    graphql::read,
    operation::{OperationStep, OperationSteps, StreamedOperation, rejected},
    operators::observe::Observation,
    requests::{accept, account, request_error::RequestError},
    socket::until,
};
use plaudit_graphql::{ApiError, Caller, Code, Parameters};

/// Keeps proxies such as nginx from holding events back until a buffer is full.
pub const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// `POST /graphql/stream` with a JSON body, and `GET /graphql/stream?query=…`, because a browser's
/// `EventSource` only sends GET.
pub async fn open(state: SharedApiState, request: Request) -> Result<Response, RequestError> {
    let (mut parts, body) = request.into_parts();
    must_accept_events(&parts.headers).map_err(|refusal| account::refuse(&state, &parts, refusal))?;
    let observed = Observation::begin(Transport::EventStream, parts.extensions.get().copied());
    let (caller, parameters, place) = match admit(&state, &mut parts, body).await {
        Ok(admitted) => admitted,
        Err(refusal) => {
            let refusal = account::refuse(&state, &parts, refusal);
            observed.end(refusal.code(), None);
            return Err(refusal);
        }
    };
    let token_ends = caller.viewer.expires_at();
    let steps = match StreamedOperation::prepare(Arc::clone(&state), parameters, caller, observed).await {
        // A link or an image on another page must not act on behalf of the person who opens that page.
        Ok(operation) if operation.kind() == OperationType::Mutation && parts.method != Method::POST => {
            let refusal = RequestError::of_method("GET is not for mutations; send this with POST", "POST");
            return Err(operation.refuse(refusal));
        }
        Ok(operation) => operation.run(),
        // Not an HTTP status: browsers do not show the body of a failed stream.
        Err(why) => rejected(why),
    };
    let keep_alive = KeepAlive::new().interval(state.api.sockets.settings().socket_ping);
    let events = Sse::new(events(&state, steps, token_ends, place)).keep_alive(keep_alive);
    Ok(([UNBUFFERED], events).into_response())
}

/// Reads the caller and the parameters, and takes a place among the open connections.
async fn admit(
    state: &SharedApiState,
    parts: &mut Parts,
    body: Body,
) -> Result<(Caller, Parameters, OpenSocket), RequestError> {
    let (caller, parameters) = read(state, parts, body).await?;
    let place = state.api.sockets.admit(caller.limited_address(), Transport::EventStream)?;
    Ok((caller, parameters, place))
}

fn must_accept_events(headers: &HeaderMap) -> Result<(), RequestError> {
    if accept::quality(headers, "text", "event-stream").thousandths > 0 {
        return Ok(());
    }
    let message = "the response is text/event-stream, which Accept does not allow";
    Err(RequestError::new(StatusCode::NOT_ACCEPTABLE, ApiError::new(Code::BadUserInput, message)))
}

/// Ends without `complete` when the token expires or this server stops: clients then connect again.
fn events(
    shared: &Arc<ApiState>,
    steps: OperationSteps,
    token_ends: Option<DateTime<Utc>>,
    place: OpenSocket,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    let token_ends = match token_ends {
        Some(end) => Either::Left(tokio::time::sleep_until(until(end))),
        None => Either::Right(pending()),
    };
    let end = select(Box::pin(token_ends), Box::pin(shared.api.sockets.stopping())).map(drop);
    let holding_place = move |event| {
        let _ = &place;
        Ok(event)
    };
    steps.flat_map(|step| stream::iter(encode(step))).take_until(end).map(holding_place)
}

fn encode(step: OperationStep) -> Vec<Event> {
    let next = |result: &str| Event::default().event("next").data(result);
    // Browsers ignore an event without data, and axum writes no data line for an empty string.
    let complete = || Event::default().event("complete").data("\n");
    match step {
        OperationStep::Next(result) => vec![next(&String::from_utf8_lossy(&result))],
        OperationStep::Rejected(errors) => {
            vec![next(&serde_json::json!({ "errors": errors }).to_string()), complete()]
        }
        OperationStep::Complete => vec![complete()],
    }
}
