//! Metrics of each GraphQL operation, its trace, and at level debug a line in the log.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use metrics::{Counter, Histogram, counter, histogram};
use parking_lot::RwLock;
use plaudit_traces::{Answered, Trace, TraceId, TraceParent};
use tracing::Span;

use crate::http::connections::sockets::Transport;
use plaudit_graphql::{Caller, Code, OperationLabel, Parameters};
use plaudit_store::tally::Tally;

/// Characters of an operation's name that are logged and traced.
const MAX_NAME: usize = 64;

/// A running operation.
pub struct Observation {
    transport: Transport,
    began: Instant,
    label: OperationLabel,
    /// The name that the client gave it.
    name: Option<String>,
    /// What the client says of its trace, beside the operation's parameters.
    parent: Option<TraceParent>,
    trace: Option<Arc<Trace>>,
}

impl Observation {
    /// `parent`: what the client says of its trace; if nothing, the parameters of the operation may say it.
    pub fn begin(transport: Transport, parent: Option<TraceParent>) -> Self {
        let (began, label) = (Instant::now(), OperationLabel::UNKNOWN);
        Self { transport, began, label, name: None, parent, trace: None }
    }

    /// Starts the clock: the duration does not include the time in which the body arrived.
    pub fn parameters_are(&mut self, parameters: &Parameters, caller: &Caller) {
        self.began = Instant::now();
        self.parent = self.parent.or(parameters.traceparent);
        self.trace = Trace::begin(self.parent, caller.decides_traces()).map(Arc::new);
        if self.trace.is_some() || tracing::enabled!(tracing::Level::DEBUG) {
            self.name = parameters.operation_name.as_ref().map(|name| name.chars().take(MAX_NAME).collect());
        }
    }

    /// The trace of the client, or the trace of the request if it is recorded.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.parent.map(TraceParent::trace).or_else(|| self.trace.as_deref().map(Trace::id))
    }

    /// Lines in the log that are written from now on in the span of the HTTP request carry the trace's id, which its
    /// headers did not have.
    pub fn name_trace(&self) {
        if let Some(trace) = self.trace_id() {
            Span::current().record("trace", tracing::field::display(trace));
        }
    }

    /// Lines in the log that are written meanwhile carry the trace's id. There is no span without a trace.
    pub fn span(&self) -> Span {
        self.trace_id().map_or_else(Span::none, |trace| tracing::error_span!("operation", %trace))
    }

    /// For the calls to stores that the operation makes.
    pub fn tally(&self) -> Arc<Tally> {
        Arc::new(Tally::of_request(self.trace.clone()))
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
            "a request was answered"
        );
        if let Some(trace) = &self.trace {
            trace.answered(&Answered {
                transport: self.transport.name(),
                kind: self.label.kind,
                root: self.label.root,
                name: self.name.as_deref(),
                outcome,
                is_failed: [Code::RetryLater, Code::Internal].iter().any(|code| code.name() == outcome),
                status: status.map(|status| status.as_u16()),
            });
        }
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
