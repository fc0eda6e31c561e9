//! The trace of a request: its span, and the spans of its round trips.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Instant,
};

use opentelemetry::{KeyValue, trace::Status};
use parking_lot::Mutex;

use super::{
    events::OfRequest,
    recorder,
    span::{Place, Span, request_attributes, request_name, round_trip},
};
use crate::{Answered, Position, RoundTrip, TraceId, TraceParent};

/// The outcome of a cancelled request: its client no longer waits for the answer.
const CANCELLED: &str = "cancelled";

/// A request that is recorded. Sent when it is answered, or when it is dropped without an answer.
#[derive(Debug)]
pub struct Trace {
    place: Place,
    began: Instant,
    /// The position of the first event.
    event: Mutex<Option<Position>>,
    is_sent: AtomicBool,
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
        let place = parent.map_or_else(Place::new_trace, Place::of_client);
        Some(Self { place, began: Instant::now(), event: Mutex::default(), is_sent: AtomicBool::new(false) })
    }

    pub const fn id(&self) -> TraceId {
        self.place.trace
    }

    /// Sends the span of a round trip.
    pub fn round_trip(&self, trip: &RoundTrip<'_>) {
        if let Some(recorder) = recorder() {
            recorder.sender.send(round_trip(self.place, trip));
        }
    }

    /// The request has appended an event to a log.
    pub fn event_at(&self, at: Position) {
        let Some(recorder) = recorder() else { return };
        self.event.lock().get_or_insert(at);
        let event = OfRequest { request: self.place, at };
        for (batch, ended) in recorder.events.appended(event) {
            recorder.sender.send(Span::of_event(event, &batch, ended));
        }
    }

    /// The request is answered: sends its span.
    pub fn answered(&self, answered: &Answered<'_>) {
        let attributes = request_attributes(answered, *self.event.lock());
        let status = if answered.is_failed { Status::error(answered.outcome) } else { Status::Unset };
        self.send(request_name(answered), attributes, status);
    }

    fn send(&self, name: String, attributes: Vec<KeyValue>, status: Status) {
        if self.is_sent.swap(true, Relaxed) {
            return;
        }
        let Some(recorder) = recorder() else { return };
        recorder.sender.send(Span { status, ..Span::of_request(self.place, name, self.began, attributes) });
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if !*self.is_sent.get_mut() {
            self.send(CANCELLED.to_owned(), Vec::new(), Status::Unset);
        }
    }
}
