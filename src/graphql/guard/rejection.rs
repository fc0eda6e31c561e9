//! Request errors: why a request is refused before anything of it is executed.

use async_graphql::{PathSegment, ServerError};
use metrics::counter;

use super::error::{CostError, CostErrorClass, CostReason, DocumentError, Limit, brief};
use crate::errors::{Code, Rejection, give_code};

const REFUSALS: &str = "plaudit_guard_refusals_total";

/// Most errors of one document that a client is sent.
const MAX_ERRORS: usize = 16;

/// Keeps the first errors only, with short messages: a document may have a thousand errors.
pub fn first_errors(mut errors: Vec<ServerError>) -> Rejection {
    errors.truncate(MAX_ERRORS);
    for error in &mut errors {
        error.message = brief(std::mem::take(&mut error.message));
    }
    Rejection(errors)
}

/// Registers a counter for every reason, so that the series exists before the first refusal.
pub fn register_refusals() {
    for reason in CostReason::ALL {
        counter!(REFUSALS, "reason" => reason.name()).increment(0);
    }
}

/// Counts a refused request, and gives the error its code.
pub fn cost_error(error: CostError) -> ServerError {
    counter!(REFUSALS, "reason" => error.reason().name()).increment(1);
    coded(error)
}

fn coded(error: CostError) -> ServerError {
    let code = match error.class() {
        CostErrorClass::Syntax => Code::ParseFailed,
        CostErrorClass::Document => Code::ValidationFailed,
        CostErrorClass::Variables => Code::BadUserInput,
    };
    let mut error = ServerError::from(error);
    give_code(&mut error, code);
    error
}

/// An answer or a message would have more than `max_bytes`.
pub fn answer_too_large(max_bytes: usize) -> ServerError {
    cost_error(CostError::Beyond { limit: Limit::AnswerSize, maximum: max_bytes as u64, measured: None })
}

/// About how many bytes an error takes in an answer.
pub fn error_size(error: &ServerError) -> usize {
    /// Code, position, and what stands between.
    const OTHER: usize = 100;
    let segment = |segment: &PathSegment| match segment {
        PathSegment::Field(key) => key.len() + 3,
        PathSegment::Index(_) => 4,
    };
    OTHER + error.message.len() + error.path.iter().map(segment).sum::<usize>()
}

/// Why a document is refused.
pub fn document_error(error: DocumentError) -> Rejection {
    let (mut error, code) = match error {
        DocumentError::Cost(CostError::UnknownNames(names)) => {
            counter!(REFUSALS, "reason" => CostReason::TooManyUnknownNames.name()).increment(1);
            let each = names.into_iter().map(|unknown| coded(CostError::UnknownNames(vec![unknown])));
            return Rejection(each.collect());
        }
        DocumentError::Cost(error) => return Rejection(vec![cost_error(error)]),
        DocumentError::Syntax(error) => (error, Code::ParseFailed),
        DocumentError::Invalid(error) => (error, Code::ValidationFailed),
    };
    give_code(&mut error, code);
    Rejection(vec![error])
}
