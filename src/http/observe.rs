//! Metrics of each GraphQL operation, and at level debug a line in the log.

use std::{
    collections::HashMap,
    sync::LazyLock,
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use metrics::{Counter, Histogram, counter, histogram};
use parking_lot::RwLock;

use super::sockets::Transport;
use crate::graphql::{OperationLabel, Parameters};

/// Characters of an operation's name that are logged.
const MAX_NAME: usize = 64;

/// A running operation.
pub struct Observation {
    transport: Transport,
    began: Instant,
    label: OperationLabel,
    /// The name that the client gave it.
    name: Option<String>,
}

impl Observation {
    pub fn begin(transport: Transport) -> Self {
        Self { transport, began: Instant::now(), label: OperationLabel::UNKNOWN, name: None }
    }

    /// Starts the clock: the duration does not include the time in which the body arrived.
    pub fn parameters_are(&mut self, parameters: &Parameters) {
        self.began = Instant::now();
        if tracing::enabled!(tracing::Level::DEBUG) {
            self.name = parameters.operation_name.as_ref().map(|name| name.chars().take(MAX_NAME).collect());
        }
    }

    pub const fn operation_is(&mut self, label: OperationLabel) {
        self.label = label;
    }

    /// `outcome`: the code of the first error, or `OK`; `status`: over plain HTTP.
    pub fn end(self, outcome: &'static str, status: Option<StatusCode>) {
        let took = self.began.elapsed();
        tracing::debug!(
            kind = self.label.kind,
            root = self.label.root,
            transport = self.transport.name(),
            operation = self.name,
            status = status.map(|status| status.as_u16()),
            outcome,
            duration_ms = took.as_secs_f64() * 1e3,
            "answered"
        );
        count(Labels { transport: self.transport, operation: self.label, outcome }, took);
    }
}

/// Labels of a metric. The schema and the error codes bound the number of combinations.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Labels {
    transport: Transport,
    operation: OperationLabel,
    outcome: &'static str,
}

struct Series {
    requests: Counter,
    seconds: Histogram,
}

impl Series {
    fn of(labels: Labels) -> Self {
        let Labels { transport, operation: OperationLabel { kind, root }, outcome } = labels;
        let transport = transport.name();
        Self {
            requests: counter!(
                "plaudit_requests_total",
                "transport" => transport, "kind" => kind, "operation" => root, "outcome" => outcome
            ),
            seconds: histogram!(
                "plaudit_request_seconds", "transport" => transport, "kind" => kind, "operation" => root
            ),
        }
    }

    fn count(&self, took: Duration) {
        self.requests.increment(1);
        self.seconds.record(took);
    }
}

/// Caches the series, because a look-up by labels in the registry allocates.
fn count(labels: Labels, took: Duration) {
    static SERIES: LazyLock<RwLock<HashMap<Labels, Series>>> = LazyLock::new(RwLock::default);
    if let Some(known) = SERIES.read().get(&labels) {
        return known.count(took);
    }
    SERIES.write().entry(labels).or_insert_with(|| Series::of(labels)).count(took);
}
