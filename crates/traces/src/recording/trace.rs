//! The trace of a request: its span, and the spans of its round trips. Names and attributes follow
//! OpenTelemetry's semantic conventions where there is one.

use std::{borrow::Cow, sync::OnceLock, time::Instant};

use opentelemetry::{
    Context, KeyValue, SpanId, TraceFlags, TraceId as OtelTraceId,
    trace::{SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, TraceState, Tracer},
};

use super::{position_attributes, recorder};
use crate::{Answered, LogOffset, RoundTrip, Store, TraceId, TraceParent};

/// The outcome of a cancelled request: its client no longer waits for the answer.
const CANCELLED: &str = "cancelled";

/// A request that is recorded. Its span is sent when it is answered, or when it is dropped without an answer.
#[derive(Debug)]
pub struct Trace {
    /// Has the request's span.
    context: Context,
    /// The position of the first event.
    event: OnceLock<LogOffset>,
}

impl Trace {
    /// Begins a request now. `None` if it is not recorded: a client that `decides` says it, otherwise the
    /// sampling does.
    pub fn begin(parent: Option<TraceParent>, decides: bool) -> Option<Self> {
        let recorder = recorder()?;
        let said = parent.filter(|_| decides).map(TraceParent::is_sampled);
        if !said.unwrap_or_else(|| recorder.is_sampled()) {
            return None;
        }
        let mut context = Context::new();
        if let Some(parent) = parent {
            context = context.with_remote_span_context(span_of_client(parent));
        }
        let span = SpanBuilder::from_name(CANCELLED).with_kind(SpanKind::Server);
        let span = recorder.tracer.build_with_context(span, &context);
        Some(Self { context: context.with_span(span), event: OnceLock::new() })
    }

    pub fn id(&self) -> TraceId {
        let id = self.context.span().span_context().trace_id();
        TraceId::new(u128::from_be_bytes(id.to_bytes()))
    }

    /// Sends the span of a round trip.
    pub fn round_trip(&self, trip: &RoundTrip<'_>) {
        let Some(recorder) = recorder() else { return };
        let (system, name) = match (trip.store, trip.name) {
            (Store::Redis, Some(name)) => ("redis", Cow::Owned(name.to_owned())),
            (Store::Redis, None) => ("redis", Cow::Borrowed("pipeline")),
            (Store::PostgreSql, _) => ("postgresql", Cow::Borrowed("statement")),
        };
        let mut attributes = vec![KeyValue::new("db.system.name", system)];
        if trip.commands > 1 {
            attributes.push(KeyValue::new("db.operation.batch.size", trip.commands as i64));
        }
        let span = SpanBuilder::from_name(name).with_kind(SpanKind::Client).with_attributes(attributes);
        let status = if trip.is_failed { Status::error("") } else { Status::Unset };
        recorder.send(&self.context, span, (trip.began, Instant::now()), status);
    }

    /// The request has appended an event to a log.
    pub fn event_at(&self, at: LogOffset) {
        let Some(recorder) = recorder() else { return };
        let span = self.context.span();
        if self.event.set(at).is_ok() {
            span.set_attributes(position_attributes(at));
        }
        for (batch, ended) in recorder.events.appended(at, span.span_context()) {
            recorder.send_batch(&self.context, &batch, ended, position_attributes(at));
        }
    }

    /// The request is answered: sends its span.
    pub fn answered(&self, answered: &Answered<'_>) {
        let span = self.context.span();
        // Only root fields give names, so names are few.
        span.update_name(format!("{} {}", answered.kind, answered.root));
        span.set_attributes([
            KeyValue::new("graphql.operation.type", answered.kind),
            KeyValue::new("plaudit.transport", answered.transport),
            KeyValue::new("plaudit.outcome", answered.outcome),
        ]);
        if let Some(name) = answered.name {
            span.set_attribute(KeyValue::new("graphql.operation.name", name.to_owned()));
        }
        if let Some(status) = answered.status {
            span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        }
        if answered.is_failed {
            span.set_status(Status::error(answered.outcome));
        }
        span.end();
    }
}

fn span_of_client(parent: TraceParent) -> SpanContext {
    let trace = OtelTraceId::from_bytes(parent.trace().get().to_be_bytes());
    let span = SpanId::from_bytes(parent.span().to_be_bytes());
    SpanContext::new(trace, span, TraceFlags::default(), true, TraceState::NONE)
}
