//! Traces: a request with its round trips, and what becomes of its event, sent to a collector by OTLP.
//!
//! - `parent`: what a client says of its trace (W3C `traceparent`), read also without the feature `otlp`
//! - `facts`: the data of spans: requests, round trips, batches
//! - `recording`: with the feature, [`Trace`] and its spans, the sender, the events that are on their way;
//!   `off`: without it, a [`Trace`] that there never is, so that the compiler removes all of it

mod facts;
mod parent;

#[cfg(not(feature = "otlp"))]
mod off;
#[cfg(feature = "otlp")]
mod recording;

/// Whether this build can record traces.
pub const IS_BUILT: bool = cfg!(feature = "otlp");

pub use facts::{Answered, Batch, Collector, LogOffset, RoundTrip, Stage, StartError, Store};
pub use parent::{BadTraceParent, TraceId, TraceParent};

#[cfg(not(feature = "otlp"))]
pub use off::{Trace, batch_done, finish, is_on, start};
#[cfg(feature = "otlp")]
pub use recording::{Trace, batch_done, finish, is_on, start};
