//! Records traces and sends them.
//!
//! - `trace`: the trace of a request
//! - `span`: one span, as it is sent
//! - `events`: the events of recorded requests that are on their way through fold and persister
//! - `sender`: the queue, and the calls to the collector

mod events;
mod sender;
mod span;
mod trace;

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use events::Events;
use sender::Sender;
use span::{Span, batch_attributes};

use crate::{Batch, Collector, StartError};

pub use trace::Trace;

/// Of this process, once started.
static RECORDER: OnceLock<Recorder> = OnceLock::new();

struct Recorder {
    sample: f64,
    sender: Sender,
    events: Events,
}

impl Recorder {
    /// Whether a trace that begins here is recorded.
    fn is_sampled(&self) -> bool {
        self.sample >= 1.0 || rand::random::<f64>() < self.sample
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
    let sender = Sender::new(collector).map_err(StartError::Client)?;
    let recorder = Recorder { sample: collector.sample, sender, events: Events::default() };
    // A second start changes nothing.
    let _ = RECORDER.set(recorder);
    Ok(())
}

/// Sends what is recorded, for at most `bound`. Nothing is recorded any more.
pub async fn finish(bound: Duration) {
    if let Some(recorder) = recorder() {
        recorder.sender.finish(bound).await;
    }
}

/// A batch of events was folded or persisted: it becomes a part of the traces of the requests whose events it has, and
/// otherwise, by the sampling, a trace of its own.
pub fn batch_done(batch: &Batch) {
    let Some(recorder) = recorder() else { return };
    let ended = Instant::now();
    let requests = recorder.events.done(batch, ended);
    if requests.is_empty() && recorder.is_sampled() {
        recorder.sender.send(Span { attributes: batch_attributes(batch), ..Span::of_batch(batch, ended) });
    }
    for request in requests {
        recorder.sender.send(Span::of_event(request, batch, ended));
    }
}
