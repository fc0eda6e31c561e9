//! Queries and mutations over HTTP: `POST /graphql`, and `GET /graphql` for queries.

use std::{sync::Arc, time::Duration};

use async_graphql::{Executor, Request, Variables, parser::types::OperationType};
use async_graphql_axum::GraphQLResponse;
use axum::{
    Json,
    extract::{Query, rejection::JsonRejection, rejection::QueryRejection},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{Shared, State, caller::Caller, refusal::Refusal};
use crate::{
    graphql::{ApiError, Code, Viewer},
    store::tally::Tally,
};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// A request that needs longer is told to try again: each call of a store is bounded by itself, but a
/// request may make many in a row.
const LONGEST: Duration = Duration::from_millis(1_900);

/// `POST /graphql` with a JSON body.
pub async fn execute(
    state: State,
    Caller(viewer): Caller,
    body: Result<Json<Request>, JsonRejection>,
) -> Result<Response, Refusal> {
    let Json(request) = body.map_err(|why| refused_body(&why))?;
    Ok(run(&state, viewer, request).await)
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
    Caller(viewer): Caller,
    parameters: Result<Query<Parameters>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(parameters) = parameters.map_err(|why| bad_request(why.body_text()))?;
    let mut request = request_of(parameters)?;
    if !is_query(&mut request) {
        // A link or an image on another page must not act in the name of whoever looks at it.
        let error = ApiError::new(Code::BadUserInput, "GET is for queries; send this with POST");
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, error).with_header(header::ALLOW, "POST"));
    }
    Ok(run(&state, viewer, request).await)
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

fn parse_json<T: for<'a> Deserialize<'a>>(name: &str, text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|why| bad_request(format!("{name} is not a JSON object: {why}")))
}

/// A document that cannot be parsed counts as one: the engine tells what is wrong with it.
fn is_query(request: &mut Request) -> bool {
    let name = request.operation_name.clone();
    let is_meant = |operation: Option<&str>| name.is_none() || operation == name.as_deref();
    request.parsed_query().map_or(true, |document| {
        let mut meant =
            document.operations.iter().filter(|(name, _)| is_meant(name.map(|name| name.as_str())));
        meant.all(|(_, operation)| operation.node.ty == OperationType::Query)
    })
}

/// Executes, and tells the cost.
async fn run(shared: &Shared, viewer: Viewer, request: Request) -> Response {
    let tally = Arc::new(Tally::default());
    let execution = shared.engine.execute(request.data(viewer));
    let bounded = tokio::time::timeout(LONGEST, Arc::clone(&tally).observe(execution));
    let response = bounded.await.unwrap_or_else(|_| took_too_long());
    let mut response = GraphQLResponse::from(response).into_response();
    if let Ok(cost) = HeaderValue::try_from(server_timing(&tally)) {
        response.headers_mut().insert(SERVER_TIMING, cost);
    }
    response
}

/// Whatever was under way is done or will not be; every mutation may be sent again.
fn took_too_long() -> async_graphql::Response {
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

fn bad_request(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, ApiError::new(Code::BadUserInput, message))
}

fn refused_body(why: &JsonRejection) -> Refusal {
    let message = format!(
        "{}; send one JSON object (no batch) with query, and optionally variables and operationName",
        why.body_text()
    );
    Refusal::new(why.status(), ApiError::new(Code::BadUserInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_query(document: &str, operation: Option<&str>) -> bool {
        let mut request = Request::new(document);
        request.operation_name = operation.map(str::to_owned);
        super::is_query(&mut request)
    }

    #[test]
    fn get_runs_only_queries() {
        let both = "query A { viewer { id } } mutation B { likeNote(input: {}) { changed } }";
        assert!(is_query("{ viewer { id } }", None));
        assert!(is_query(both, Some("A")));
        assert!(!is_query(both, Some("B")));
        assert!(!is_query(both, None));
        assert!(!is_query("subscription { noteCountsChanged(noteIds: []) { id } }", None));
    }

    #[test]
    fn the_cost_is_told() {
        assert_eq!(
            server_timing(&Tally::default()),
            "redis;desc=\"0 round trips\", sql;desc=\"0 statements\""
        );
    }
}
