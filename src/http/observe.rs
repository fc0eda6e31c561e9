//! What is told of each GraphQL request: metrics, and at level debug a line in the log.

use std::{borrow::Cow, time::Instant};

use async_graphql::parser::types::OperationType;
use axum::http::StatusCode;
use metrics::{counter, histogram};

use crate::graphql::Parameters;

/// Characters of an operation's name that are logged.
const MAX_NAME: usize = 64;

/// A request under way.
pub struct Observed {
    began: Instant,
    kind: &'static str,
    operation: Option<String>,
}

impl Observed {
    pub fn begin() -> Self {
        Self { began: Instant::now(), kind: "unknown", operation: None }
    }

    /// From here on time counts: how long a body takes to arrive is the client's business.
    pub fn parameters_are(&mut self, parameters: &Parameters) {
        self.began = Instant::now();
        if tracing::enabled!(tracing::Level::DEBUG) {
            self.operation =
                parameters.operation_name.as_ref().map(|name| name.chars().take(MAX_NAME).collect());
        }
    }

    pub fn kind_is(&mut self, kind: OperationType) {
        self.kind = match kind {
            OperationType::Query => "query",
            OperationType::Mutation => "mutation",
            OperationType::Subscription => "subscription",
        };
    }

    /// `outcome`: the code of the first error, or `OK`.
    pub fn end(self, outcome: Cow<'static, str>, status: StatusCode) {
        let took = self.began.elapsed();
        histogram!("plaudit_request_seconds", "kind" => self.kind).record(took);
        tracing::debug!(
            kind = self.kind,
            operation = self.operation,
            status = status.as_u16(),
            outcome = outcome.as_ref(),
            duration_ms = took.as_secs_f64() * 1e3,
            "answered"
        );
        counter!("plaudit_requests_total", "kind" => self.kind, "outcome" => outcome).increment(1);
    }
}
