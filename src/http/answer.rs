//! Statuses and bodies of answers
//! ([GraphQL over HTTP](https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes)).

use std::sync::Arc;

use async_graphql::{Response as Executed, ServerError};
use async_graphql_axum::GraphQLResponse;
use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{accept::MediaType, rates::too_many, refusal::Refusal};
use crate::{
    graphql::{Rejected, outcome},
    store::tally::Tally,
};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// What became of a request.
pub enum Answer {
    /// Perhaps with errors of fields, perhaps with null data; and what it cost.
    Executed(Executed, Arc<Tally>),
    /// A well-formed request, but GraphQL's rules forbid to execute it.
    Rejected(Rejected),
    /// HTTP's rules do, or those of this service.
    Refused(Refusal),
}

impl Answer {
    /// The code of the first error, or `OK`.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Executed(executed, _) => outcome(executed.errors.first()),
            Self::Rejected(Rejected(errors)) => outcome(errors.first()),
            Self::Refused(refusal) => refusal.code(),
        }
    }

    pub fn into_response(self, media_type: MediaType) -> Response {
        match self {
            Self::Executed(executed, tally) => executed_response(executed, &tally, media_type),
            Self::Rejected(rejected) => rejected_response(&rejected, media_type),
            Self::Refused(refusal) => refusal.into_response_as(media_type),
        }
    }
}

/// 200 for all that was executed: errors of fields are part of the result.
fn executed_response(executed: Executed, tally: &Tally, media_type: MediaType) -> Response {
    let mut response = GraphQLResponse::from(executed).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type.header());
    if let Ok(cost) = HeaderValue::try_from(server_timing(tally)) {
        headers.insert(SERVER_TIMING, cost);
    }
    response
}

/// Clients that know only JSON take another status than 200 for the failure of some proxy, and do not look at
/// the errors.
fn rejected_response(rejected: &Rejected, media_type: MediaType) -> Response {
    let status = match media_type {
        MediaType::GraphqlResponse => StatusCode::BAD_REQUEST,
        MediaType::Json => StatusCode::OK,
    };
    let mut response = errors(status, &rejected.0, media_type);
    if let Some(seconds) = rejected.retry_after() {
        too_many(&mut response, seconds);
    }
    response
}

/// Errors without `data`: nothing was executed.
pub fn errors(status: StatusCode, errors: &[ServerError], media_type: MediaType) -> Response {
    #[derive(Serialize)]
    struct Body<'a> {
        errors: &'a [ServerError],
    }

    let body = serde_json::to_vec(&Body { errors }).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, media_type.header())], body).into_response()
}

fn server_timing(tally: &Tally) -> String {
    format!(
        "redis;desc=\"{} round trips\", sql;desc=\"{} statements\"",
        tally.redis_round_trips(),
        tally.sql_statements()
    )
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
