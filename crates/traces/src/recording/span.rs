//! One span, as it is sent: names and attributes by OpenTelemetry's semantic conventions where there is one.

use std::{
    borrow::Cow,
    time::{Instant, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId as OtelTraceId,
    trace::{SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::events::OfRequest;
use crate::{Answered, Batch, Position, RoundTrip, Stage, Store, TraceId, TraceParent};

/// A span's place in its trace.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub trace: TraceId,
    span: u64,
    /// 0 for the first span of a trace.
    parent: u64,
    /// The parent is a span of the client.
    is_of_client: bool,
    /// A moment by both clocks, the same for all spans of a trace: so none begins before its parent.
    clocks: (Instant, SystemTime),
}

impl Place {
    pub fn new_trace() -> Self {
        Self::first(TraceId::new(not_zero()), 0, false)
    }

    pub fn of_client(parent: TraceParent) -> Self {
        Self::first(parent.trace(), parent.span(), true)
    }

    fn first(trace: TraceId, parent: u64, is_of_client: bool) -> Self {
        let clocks = (Instant::now(), SystemTime::now());
        Self { trace, span: not_zero(), parent, is_of_client, clocks }
    }

    fn wall_clock(self, at: Instant) -> SystemTime {
        let (instant, time) = self.clocks;
        time + at.saturating_duration_since(instant) - instant.saturating_duration_since(at)
    }

    fn child(self) -> Self {
        Self { span: not_zero(), parent: self.span, is_of_client: false, ..self }
    }
}

fn not_zero<T: PartialEq + Default>() -> T
where
    rand::distr::StandardUniform: rand::distr::Distribution<T>,
{
    loop {
        let id = rand::random();
        if id != T::default() {
            return id;
        }
    }
}

/// A span that ends at `ended`.
pub struct Span {
    pub place: Place,
    pub kind: SpanKind,
    pub name: Cow<'static, str>,
    pub began: Instant,
    pub ended: Instant,
    pub attributes: Vec<KeyValue>,
    pub status: Status,
}

impl Span {
    /// A request that ends now.
    pub fn of_request(place: Place, name: String, began: Instant, attributes: Vec<KeyValue>) -> Self {
        let (name, ended) = (name.into(), Instant::now());
        Self { place, kind: SpanKind::Server, name, began, ended, attributes, status: Status::Unset }
    }

    /// A batch, as a part of the request of one of its events.
    pub fn of_event(event: OfRequest, batch: &Batch, ended: Instant) -> Self {
        let mut attributes = position_attributes(event.at);
        attributes.push(KeyValue::new("plaudit.batch.events", batch.events as i64));
        Self { place: event.request.child(), attributes, ..Self::of_batch(batch, ended) }
    }

    /// A batch, as a trace of its own.
    pub fn of_batch(batch: &Batch, ended: Instant) -> Self {
        let name = match batch.stage {
            Stage::Fold => "fold",
            Stage::Persist => "persist",
        };
        Self {
            place: Place::new_trace(),
            kind: SpanKind::Internal,
            name: name.into(),
            began: batch.began,
            ended,
            attributes: Vec::new(),
            status: Status::Unset,
        }
    }

    pub fn into_data(self, scope: InstrumentationScope) -> SpanData {
        let Place { trace, span, parent, is_of_client, .. } = self.place;
        SpanData {
            span_context: SpanContext::new(
                OtelTraceId::from_bytes(trace.get().to_be_bytes()),
                SpanId::from_bytes(span.to_be_bytes()),
                TraceFlags::SAMPLED,
                false,
                TraceState::NONE,
            ),
            parent_span_id: SpanId::from_bytes(parent.to_be_bytes()),
            parent_span_is_remote: is_of_client,
            span_kind: self.kind,
            name: self.name,
            start_time: self.place.wall_clock(self.began),
            end_time: self.place.wall_clock(self.ended),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: self.status,
            instrumentation_scope: scope,
        }
    }
}

pub fn round_trip(request: Place, trip: &RoundTrip<'_>) -> Span {
    let (system, name) = match (trip.store, trip.name) {
        (Store::Redis, Some(name)) => ("redis", Cow::Owned(name.to_owned())),
        (Store::Redis, None) => ("redis", Cow::Borrowed("pipeline")),
        (Store::PostgreSql, _) => ("postgresql", Cow::Borrowed("statement")),
    };
    let mut attributes = vec![KeyValue::new("db.system.name", system)];
    if trip.commands > 1 {
        attributes.push(KeyValue::new("db.operation.batch.size", trip.commands as i64));
    }
    let status = if trip.is_failed { Status::error("") } else { Status::Unset };
    Span {
        place: request.child(),
        kind: SpanKind::Client,
        name,
        began: trip.began,
        ended: Instant::now(),
        attributes,
        status,
    }
}

/// Few names: those of root fields.
pub fn request_name(answered: &Answered<'_>) -> String {
    format!("{} {}", answered.kind, answered.root)
}

pub fn request_attributes(answered: &Answered<'_>, event: Option<Position>) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("graphql.operation.type", answered.kind),
        KeyValue::new("plaudit.transport", answered.transport),
        KeyValue::new("plaudit.outcome", answered.outcome),
    ];
    let name = answered.name.map(|name| KeyValue::new("graphql.operation.name", name.to_owned()));
    let status = answered.status.map(|status| KeyValue::new("http.response.status_code", i64::from(status)));
    attributes.extend(name.into_iter().chain(status));
    attributes.extend(event.into_iter().flat_map(position_attributes));
    attributes
}

fn position_attributes(at: Position) -> Vec<KeyValue> {
    vec![
        KeyValue::new("plaudit.shard", i64::from(at.shard)),
        KeyValue::new("plaudit.offset", offset(at.offset)),
    ]
}

/// Of a batch that is a trace of its own.
pub fn batch_attributes(batch: &Batch) -> Vec<KeyValue> {
    vec![
        KeyValue::new("plaudit.shard", i64::from(batch.shard)),
        KeyValue::new("plaudit.offset.after", offset(batch.after)),
        KeyValue::new("plaudit.offset.to", offset(batch.to)),
        KeyValue::new("plaudit.batch.events", batch.events as i64),
    ]
}

fn offset((generation, number): (u64, u64)) -> String {
    format!("{generation}-{number}")
}
