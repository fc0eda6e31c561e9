//! Records traces with OpenTelemetry's SDK, and sends them.
//!
//! - `trace`: the trace of a request
//! - `events`: the events of recorded requests that are on their way through fold and persister
//! - `sender`: the queue, and the calls to the collector

mod events;
mod sender;
mod trace;

use std::{
    sync::OnceLock,
    time::{Duration, Instant, SystemTime},
};

use events::Events;
use opentelemetry::{
    Context, KeyValue,
    trace::{Span, SpanBuilder, Status, TraceContextExt, Tracer, TracerProvider},
};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use crate::{Batch, Collector, LogOffset, Stage, StartError};

pub use trace::Trace;

/// Of this process, once started.
static RECORDER: OnceLock<Recorder> = OnceLock::new();

struct Recorder {
    sample: f64,
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    events: Events,
}

impl Recorder {
    /// Whether a trace that begins here is recorded.
    fn is_sampled(&self) -> bool {
        self.sample >= 1.0 || rand::random::<f64>() < self.sample
    }

    /// Sends a span that is over. It is part of the span in `parent`, or else begins a trace.
    fn send(&self, parent: &Context, span: SpanBuilder, (began, ended): (Instant, Instant), status: Status) {
        // Both moments by one reading of the two clocks: so no span ends before it begins. The monotonic clock is read
        // first: a delay in between makes the span late, and none begins before its parent.
        let (instant, time) = (Instant::now(), SystemTime::now());
        let time_of = |at: Instant| time - instant.saturating_duration_since(at);
        let mut span = self.tracer.build_with_context(span.with_start_time(time_of(began)), parent);
        span.set_status(status);
        span.end_with_timestamp(time_of(ended));
    }

    fn send_batch(&self, parent: &Context, batch: &Batch, ended: Instant, attributes: Vec<KeyValue>) {
        let name = match batch.stage {
            Stage::Fold => "fold",
            Stage::Persist => "persist",
        };
        let events = KeyValue::new("plaudit.batch.events", batch.events as i64);
        let attributes: Vec<KeyValue> = attributes.into_iter().chain([events]).collect();
        let span = SpanBuilder::from_name(name).with_attributes(attributes);
        self.send(parent, span, (batch.began, ended), Status::Unset);
    }
}

fn recorder() -> Option<&'static Recorder> {
    RECORDER.get()
}

/// Whether traces are recorded.
pub fn is_on() -> bool {
    recorder().is_some()
}

/// Begins to record, for the life of the process. Must be called in a runtime, which sends the traces.
///
/// # Errors
/// [`StartError::Client`] if the certificates of this machine cannot be read.
pub fn start(collector: &Collector) -> Result<(), StartError> {
    let (provider, _) = sender::provider(collector).map_err(StartError::Client)?;
    let tracer = provider.tracer("plaudit");
    let recorder = Recorder { sample: collector.sample, provider, tracer, events: Events::default() };
    // A second start changes nothing.
    let _ = RECORDER.set(recorder);
    Ok(())
}

/// Sends what is recorded, for at most `bound`. Nothing is recorded any more.
pub async fn finish(bound: Duration) {
    let Some(recorder) = recorder() else { return };
    let finishing = tokio::task::spawn_blocking(move || recorder.provider.shutdown_with_timeout(bound));
    // The exporter has logged a failure.
    let _ = finishing.await;
}

/// A batch of events was folded or persisted: it becomes a part of the traces of the requests whose events it has, and
/// otherwise, by the sampling, a trace of its own.
pub fn batch_done(batch: &Batch) {
    let Some(recorder) = recorder() else { return };
    let ended = Instant::now();
    let requests = recorder.events.done(batch, ended);
    if requests.is_empty() && recorder.is_sampled() {
        let attributes = vec![
            KeyValue::new("plaudit.shard", i64::from(batch.shard)),
            KeyValue::new("plaudit.offset.after", offset(batch.after)),
            KeyValue::new("plaudit.offset.to", offset(batch.to)),
        ];
        recorder.send_batch(&Context::new(), batch, ended, attributes);
    }
    for (at, request) in requests {
        let parent = Context::new().with_remote_span_context(request);
        recorder.send_batch(&parent, batch, ended, position_attributes(at));
    }
}

fn position_attributes(at: LogOffset) -> Vec<KeyValue> {
    vec![
        KeyValue::new("plaudit.shard", i64::from(at.shard)),
        KeyValue::new("plaudit.offset", offset(at.offset)),
    ]
}

fn offset((generation, number): (u64, u64)) -> String {
    format!("{generation}-{number}")
}
