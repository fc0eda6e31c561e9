//! A load generator: up to hundreds of simulated users act at the same time, for some seconds, through an
//! [`StormApi`]. The caller implements that trait and reads the progress, four times a second.
//!
//! - `targets`: the notes that users act on; `crowd`: the users and their actions; `progress`: progress reports

mod crowd;
mod progress;
mod targets;

use std::net::IpAddr;

use serde_json::Value;

pub use progress::{Progress, Storm};
pub use targets::{FindError, TargetNotes};

/// Executes GraphQL documents, as the server does for its clients.
pub trait StormApi: Send + Sync + 'static {
    /// Sender of a document.
    type Caller: Send + Sync;
    type Error: Send;

    /// A caller without a token.
    fn visitor(&self) -> Self::Caller;

    /// `None` when the API has no such user.
    fn user(&self, subject: &str, address: IpAddr) -> Option<Self::Caller>;

    /// Returns the data of the response.
    ///
    /// # Errors
    /// The first error of the response.
    fn execute(
        &self,
        caller: &Self::Caller,
        document: &'static str,
        variables: Value,
    ) -> impl Future<Output = Result<Value, Self::Error>> + Send;
}
