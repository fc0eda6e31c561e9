//! Request errors: a request is refused before anything of it is executed.

use async_graphql::{ServerError, Value};

/// A request error of the GraphQL specification: nothing was executed, so the response has errors and no data.
#[derive(Debug)]
pub struct Rejection(pub Vec<ServerError>);

impl Rejection {
    /// Seconds until a request that was refused by a rate limit may be sent again.
    pub fn retry_after(&self) -> Option<u64> {
        self.0.iter().find_map(|error| match error.extensions.as_ref()?.get("retryAfter")? {
            Value::Number(seconds) => seconds.as_u64(),
            _ => None,
        })
    }
}
