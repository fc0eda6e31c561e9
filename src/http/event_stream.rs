//! GraphQL over server-sent events, `/graphql/stream`: for clients without WebSocket. The "distinct
//! connections mode" of PROTOCOL.md of graphql-sse: one operation per request.

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
    Shared, State, accept,
    graphql::{read, refused_method},
    observe::Observed,
    operation::{Operation, Step, Steps, rejected},
    refusal::Refusal,
    socket::until,
    sockets::{Place, Transport},
};
use crate::graphql::{ApiError, Caller, Code, Parameters};

/// Proxies of the nginx family would else hold events back until a buffer is full.
pub const UNBUFFERED: (HeaderName, &str) = (HeaderName::from_static("x-accel-buffering"), "no");

/// `POST /graphql/stream` with a JSON body, and `GET /graphql/stream?query=…`, because a browser's
/// `EventSource` cannot do otherwise.
pub async fn open(state: State, request: Request) -> Result<Response, Refusal> {
    let (mut parts, body) = request.into_parts();
    must_accept_events(&parts.headers)?;
    let observed = Observed::begin(Transport::EventStream);
    let (caller, parameters, place) = match admit(&state, &mut parts, body).await {
        Ok(admitted) => admitted,
        Err(refusal) => {
            observed.end(refusal.code(), None);
            return Err(refusal);
        }
    };
    let token_ends = caller.viewer.expires_at();
    let steps = match Operation::prepare(&state, parameters, caller, observed) {
        // A link or an image on another page must not act in the name of whoever looks at it.
        Ok(operation) if operation.kind() == OperationType::Mutation && parts.method != Method::POST => {
            let refusal = refused_method("GET is not for mutations; send this with POST", "POST");
            return Err(operation.refuse(refusal));
        }
        Ok(operation) => operation.run(),
        // Not a status of HTTP: browsers would tell nobody why.
        Err(why) => rejected(why),
    };
    let keep_alive = KeepAlive::new().interval(state.api.sockets.settings().socket_ping);
    let events = Sse::new(events(&state, steps, token_ends, place)).keep_alive(keep_alive);
    Ok(([UNBUFFERED], events).into_response())
}

/// Whose request it is, what it asks for, and its place among the open connections.
async fn admit(state: &State, parts: &mut Parts, body: Body) -> Result<(Caller, Parameters, Place), Refusal> {
    let (caller, parameters) = read(state, parts, body).await?;
    let place = state.api.sockets.admit(caller.address, Transport::EventStream)?;
    Ok((caller, parameters, place))
}

fn must_accept_events(headers: &HeaderMap) -> Result<(), Refusal> {
    if accept::quality(headers, "text", "event-stream").thousandths > 0 {
        return Ok(());
    }
    let message = "this answers with text/event-stream only, which Accept does not allow";
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, ApiError::new(Code::BadUserInput, message)))
}

/// Ends without `complete` when the token ends or this server stops: clients then ask again.
fn events(
    shared: &Arc<Shared>,
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
