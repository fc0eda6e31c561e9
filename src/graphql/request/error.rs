//! Request errors: why a request is refused before anything of it is executed.

use async_graphql::{ServerError, Value};

use crate::graphql::guard::brief;

/// How many errors of a document a client is sent.
const MAX_ERRORS: usize = 16;

/// Nothing was executed, so the answer has errors and no data: a request error of the GraphQL specification.
#[derive(Debug)]
pub struct Rejected(pub Vec<ServerError>);

impl Rejected {
    /// After how many seconds the request may be sent again, when it came too soon.
    pub fn retry_after(&self) -> Option<u64> {
        self.0.iter().find_map(|error| match error.extensions.as_ref()?.get("retryAfter")? {
            Value::Number(seconds) => seconds.as_u64(),
            _ => None,
        })
    }
}

/// A document of a thousand errors is not answered with all of them.
pub fn first_errors(mut errors: Vec<ServerError>) -> Rejected {
    errors.truncate(MAX_ERRORS);
    for error in &mut errors {
        error.message = brief(std::mem::take(&mut error.message));
    }
    Rejected(errors)
}
