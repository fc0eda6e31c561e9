//! Statuses and bodies of answers
//! ([GraphQL over HTTP](https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes)).

use std::{convert::Infallible, sync::Arc};

use async_graphql::{ServerError, Value};
use async_graphql_axum::GraphQLResponse;
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{
    media_type::MediaType,
    rates::too_many,
    request_error::{RequestError, errors, status_of_code},
};
use plaudit_graphql::{Code, Executed, Rejection, outcome};
use plaudit_store::tally::Tally;

/// Bytes that are compressed at once, in about a millisecond.
const PIECE: usize = 64 * 1024;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The result of a request.
pub enum Answer {
    /// The execution result, perhaps with errors of fields, and the calls to stores that it made.
    Executed(Executed, Arc<Tally>),
    /// Well-formed, but not executed: the document or the variables are invalid.
    Rejected(Rejection),
    /// Refused by the rules of HTTP or of this service.
    Refused(RequestError),
}

impl Answer {
    /// The code of the first error, or `OK`.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Executed(executed, _) => outcome(executed.errors().first()),
            Self::Rejected(Rejection(errors)) => outcome(errors.first()),
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

/// After an execution errors of fields are part of the result. `application/json` is answered with 200 also
/// then: 294 is defined beside the other media type alone.
fn executed_response(executed: Executed, tally: &Tally, media_type: MediaType) -> Response {
    let is_partial = media_type == MediaType::GraphqlResponse && !executed.errors().is_empty();
    let mut response = match executed {
        Executed::Planned(answered) => in_pieces(answered.body),
        Executed::Introspected(response) => GraphQLResponse::from(response).into_response(),
    };
    if let Some(status) = StatusCode::from_u16(Code::FAILED_STATUS).ok().filter(|_| is_partial) {
        *response.status_mut() = status;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type.header());
    if let Ok(cost) = HeaderValue::try_from(server_timing(tally)) {
        headers.insert(SERVER_TIMING, cost);
    }
    response
}

/// A long body is sent, and before that compressed, in pieces: between two of them the worker serves others.
fn in_pieces(body: Bytes) -> Response {
    let length = body.len();
    if length <= PIECE {
        return body.into_response();
    }
    let pieces = stream::unfold(body, async |mut rest| {
        tokio::task::yield_now().await;
        let piece = rest.split_to(PIECE.min(rest.len()));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), rest))
    });
    // Compression polls a body again after its end.
    let mut response = Body::from_stream(pieces.fuse()).into_response();
    response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    response
}

/// Status 200 for a document that `application/json` asks for and that is refused: clients of that type take any other
/// status for a failure of a proxy and ignore the errors.
fn rejected_response(rejected: &Rejection, media_type: MediaType) -> Response {
    let status = match status_of(rejected) {
        status if media_type == MediaType::Json && status.is_client_error() => StatusCode::OK,
        status => status,
    };
    let mut response = errors(status, &rejected.0, media_type);
    if let Some(seconds) = rejected.retry_after() {
        too_many(&mut response, seconds);
    }
    response
}

/// 400 for what cannot be read, 422 for what can and is refused: by validation, for its variables, or because
/// there is no such operation. 503 if this server is the reason.
fn status_of(Rejection(errors): &Rejection) -> StatusCode {
    let has = |code: Code| {
        let is = |error: &ServerError| match error.extensions.as_ref()?.get("code")? {
            Value::String(name) => Some(name == code.name()),
            _ => None,
        };
        errors.iter().any(|error| is(error) == Some(true))
    };
    let code = [Code::ParseFailed, Code::RetryLater].into_iter().find(|code| has(*code));
    status_of_code(code.unwrap_or(Code::ValidationFailed))
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
    fn server_timing_names_round_trips_and_statements() {
        assert_eq!(
            server_timing(&Tally::default()),
            "redis;desc=\"0 round trips\", sql;desc=\"0 statements\""
        );
    }
}
