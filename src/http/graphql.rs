//! Queries and mutations over HTTP: `POST /graphql`, and `GET /graphql` for queries.

use std::{sync::Arc, time::Duration};

use async_graphql::{Request, Response as Answer, Variables, parser::types::OperationType};
use async_graphql_axum::GraphQLResponse;
use axum::{
    Json,
    extract::{Query, rejection::JsonRejection, rejection::QueryRejection},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{Shared, State, caller::SentBy, refusal::Refusal};
use crate::{
    graphql::{self, ApiError, Caller, Code, Fields, Prepared, Rejected},
    store::tally::Tally,
};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// A request that needs longer is told to try again: each call of a store is bounded by itself, but a
/// request may make many in a row.
pub const LONGEST: Duration = Duration::from_millis(1_900);

/// `POST /graphql` with a JSON body.
pub async fn execute(
    state: State,
    SentBy(caller): SentBy,
    body: Result<Json<Request>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(request) = body.map_err(|why| refused_body(&why))?;
    Ok(answer(&state, request, caller).await)
}

/// The parameters of `GET /graphql`; the last two are JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    query: String,
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
}

/// `GET /graphql?query=…`.
pub async fn query(
    state: State,
    SentBy(caller): SentBy,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(parameters) = parameters.map_err(|why| bad_request(why.body_text()))?;
    let request = request_of(parameters)?;
    match state.engine.prepare(request, caller) {
        // A link or an image on another page must not act in the name of whoever looks at it.
        Ok(prepared) if prepared.kind() != OperationType::Query => Err(only_post()),
        Ok(prepared) => Ok(run(&state, prepared).await),
        Err(rejected) => Ok(rejected_answer(rejected)),
    }
}

/// What is refused by GET.
pub fn only_post() -> Refusal {
    let error = ApiError::new(Code::BadUserInput, "GET is for queries; send this with POST");
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error).with_header(header::ALLOW, "POST")
}

fn request_of(parameters: Parameters) -> Result<Request, Refusal> {
    let mut request = Request::new(parameters.query);
    request.operation_name = parameters.operation_name;
    if let Some(variables) = parameters.variables {
        request.variables = parse_json::<Variables>("variables", &variables)?;
    }
    if let Some(extensions) = parameters.extensions {
        request.extensions = parse_json("extensions", &extensions)?;
    }
    Ok(request)
}

/// The same, for transports that know documents by their hashes.
pub fn parameters_of(parameters: Parameters) -> Result<graphql::Parameters, Refusal> {
    let fields = Fields {
        query: Some(parameters.query),
        operation_name: parameters.operation_name,
        variables: parameters.variables.map(|text| parse_json("variables", &text)).transpose()?,
        extensions: parameters.extensions.map(|text| parse_json("extensions", &text)).transpose()?,
        ..Fields::default()
    };
    fields.try_into().map_err(|why: &str| bad_request(why))
}

fn parse_json<T: for<'a> Deserialize<'a>>(name: &str, text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|why| bad_request(format!("{name} is not a JSON object: {why}")))
}

async fn answer(shared: &Shared, request: Request, caller: Caller) -> Response {
    match shared.engine.prepare(request, caller) {
        Ok(prepared) => run(shared, prepared).await,
        Err(rejected) => rejected_answer(rejected),
    }
}

fn rejected_answer(Rejected(errors): Rejected) -> Response {
    GraphQLResponse::from(Answer::from_errors(errors)).into_response()
}

/// Executes, and tells the cost.
async fn run(shared: &Shared, prepared: Prepared) -> Response {
    let tally = Arc::new(Tally::default());
    let execution = shared.engine.execute(prepared);
    let bounded = tokio::time::timeout(LONGEST, Arc::clone(&tally).observe(execution));
    let mut response = match bounded.await.unwrap_or_else(|_| Ok(took_too_long())) {
        Ok(answer) => GraphQLResponse::from(answer).into_response(),
        Err(rejected) => rejected_answer(rejected),
    };
    if let Ok(cost) = HeaderValue::try_from(server_timing(&tally)) {
        response.headers_mut().insert(SERVER_TIMING, cost);
    }
    response
}

/// Whatever was under way is done or will not be; every mutation may be sent again.
pub fn took_too_long() -> async_graphql::Response {
    let message = format!("the stores did not answer within {LONGEST:?}; try again");
    async_graphql::Response::from_errors(vec![ApiError::new(Code::RetryLater, message).into()])
}

fn server_timing(tally: &Tally) -> String {
    format!(
        "redis;desc=\"{} round trips\", sql;desc=\"{} statements\"",
        tally.redis_round_trips(),
        tally.sql_statements()
    )
}

pub fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ApiError::new(Code::BadUserInput, message))
}

pub fn refused_body(why: &JsonRejection) -> Refusal {
    let message = format!(
        "{}; send one JSON object (no batch) with query, and optionally variables and operationName",
        why.body_text()
    );
    Refusal::new(why.status(), ApiError::new(Code::BadUserInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_told() {
        assert_eq!(
            server_timing(&Tally::default()),
            "redis;desc=\"0 round trips\", sql;desc=\"0 statements\""
        );
    }
}
