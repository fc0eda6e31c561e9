//! Answers of the engine (async-graphql) as clients get them.

use async_graphql::{Response, ServerError, Value};
use bytes::Bytes;

use crate::{
    errors::{code_of_engine_error, give_code, log_causes},
    plan::{self, Plan},
    request::error::{Rejection, answer_too_large, first_errors},
    schema::EngineOutcome,
};

/// Puts the fields of an engine's answer in order, sets null where they failed, and gives every error a code.
pub(super) fn mended(mut response: Response, outcome: &EngineOutcome, plan: Option<&Plan>) -> Response {
    if outcome.is_too_large() {
        return Response::from_errors(vec![answer_too_large(outcome.max_bytes())]);
    }
    if let Some(plan) = plan {
        plan::mend(plan, &mut response, outcome.take());
    }
    log_causes(&response.errors);
    response.errors = response.errors.into_iter().map(with_code).collect();
    response
}

pub(super) fn with_code(mut error: ServerError) -> ServerError {
    let code = code_of_engine_error(&error);
    give_code(&mut error, code);
    error
}

/// A response without data whose errors have no path failed before its first field: a request error.
pub(super) fn unless_rejected(response: Response) -> Result<Response, Rejection> {
    let is_rejected = response.data == Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty());
    if is_rejected {
        return Err(first_errors(response.errors.into_iter().map(with_code).collect()));
    }
    Ok(response)
}

pub(super) fn encoded(response: &Response) -> Bytes {
    serde_json::to_vec(response).unwrap_or_default().into()
}
