//! Queries and mutations over HTTP: `POST /graphql`, and `GET /graphql` for queries, as
//! [GraphQL over HTTP](https://graphql.github.io/graphql-over-http/draft/) specifies.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use axum::{
    body::Body,
    extract::{FromRequestParts, Request},
    http::{Method, request::Parts},
    response::{IntoResponse, Response},
};
use plaudit_traces::TraceParent;
use tokio::time::Instant;

use super::{
    SharedApiState,
    connections::sockets::Transport,
    operation::{LONGEST, prepare, took_too_long},
    operators::observe::Observation,
    requests::{
        accept, account, answer::Answer, body, caller::SentBy, query_string, request_error::RequestError,
    },
};
use plaudit_graphql::{ApiError, Caller, Code, Parameters, Prepared, Rejection};
use plaudit_store::tally::Tally;

/// `POST /graphql` with a JSON body, `GET /graphql?query=…`.
pub async fn answer(state: SharedApiState, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let media_type = match accept::negotiate(&parts.headers) {
        Ok(media_type) => media_type,
        Err(refusal) => return account::refuse(&state, &parts, refusal).into_response(),
    };
    let parent: Option<TraceParent> = parts.extensions.get().copied();
    let mut observed = Observation::begin(Transport::Http, parent);
    let answer = match read(&state, &mut parts, body).await {
        Ok((caller, parameters)) => {
            observed.parameters_are(&parameters, &caller);
            if parent.is_none() {
                observed.name_trace();
            }
            execute(&state, &parts.method, caller, parameters, &mut observed).await
        }
        Err(refusal) => Answer::Refused(account::refuse(&state, &parts, refusal)),
    };
    let outcome = answer.outcome();
    let response = answer.into_response(media_type);
    observed.end(outcome, Some(response.status()));
    response
}

pub async fn read(
    state: &SharedApiState,
    parts: &mut Parts,
    body: Body,
) -> Result<(Caller, Parameters), RequestError> {
    let SentBy(caller) = SentBy::from_request_parts(parts, state).await?;
    let parameters = if parts.method == Method::POST {
        let body = body::read(&parts.headers, body, &state.api.requests).await?;
        Parameters::from_json(&body)
            .map_err(|error| RequestError::new(body::status_of_refused(&body), error))?
    } else {
        query_string::parameters(parts.uri.query().unwrap_or_default())?
    };
    Ok((caller, parameters))
}

async fn execute(
    state: &SharedApiState,
    method: &Method,
    caller: Caller,
    parameters: Parameters,
    observed: &mut Observation,
) -> Answer {
    let until = Instant::now() + LONGEST;
    let prepared = match prepare(state, parameters, caller).await {
        Ok(prepared) => prepared,
        Err(rejected) => return Answer::Rejected(rejected),
    };
    observed.operation_is(prepared.label());
    match prepared.kind() {
        OperationType::Subscription => Answer::Rejected(no_subscriptions()),
        // A link or an image on another page must not act on behalf of the person who opens that page.
        OperationType::Mutation if method != Method::POST => {
            Answer::Refused(RequestError::of_method("GET is for queries; send this with POST", "POST"))
        }
        OperationType::Query | OperationType::Mutation => run(state, prepared, until, observed.tally()).await,
    }
}

async fn run(state: &SharedApiState, prepared: Prepared, until: Instant, tally: Arc<Tally>) -> Answer {
    let execution = state.engine.execute(prepared);
    let bounded = tokio::time::timeout_at(until, Arc::clone(&tally).observe(execution));
    match bounded.await.unwrap_or_else(|_| Ok(took_too_long())) {
        Ok(executed) => Answer::Executed(executed, tally),
        Err(rejected) => Answer::Rejected(rejected),
    }
}

fn no_subscriptions() -> Rejection {
    let message = "subscriptions are at /graphql/ws, by WebSocket (graphql-transport-ws), and at /graphql/stream, by \
                   server-sent events";
    Rejection(vec![ApiError::new(Code::BadUserInput, message).into()])
}
