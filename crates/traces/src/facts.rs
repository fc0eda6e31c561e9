//! The data of spans: requests, round trips, batches.

use std::time::Instant;

use url::Url;

/// Where traces go, and how many.
#[derive(Clone, Debug)]
pub struct Collector {
    /// Of OTLP over HTTP; `/v1/traces` is added.
    pub endpoint: Url,
    /// Which part of the traces that begin here is recorded, 0 to 1. A client's traces are recorded if the
    /// client records them.
    pub sample: f64,
    pub version: &'static str,
}

/// Why there are no traces.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot send traces to otlp_endpoint: {0}")]
    Client(String),
}

/// The answer to a request.
pub struct Answered<'a> {
    pub transport: &'static str,
    /// `query`, `mutation`, `subscription` or `unknown`.
    pub kind: &'static str,
    /// The root field.
    pub root: &'static str,
    /// The operation's name, as the client gave it.
    pub name: Option<&'a str>,
    /// The code of the first error, or `OK`.
    pub outcome: &'static str,
    /// Whether that error is the service's and not the caller's.
    pub is_failed: bool,
    /// Over plain HTTP.
    pub status: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Store {
    Redis,
    PostgreSql,
}

/// A round trip to a store, or a statement with the wait for a connection. It ends now.
pub struct RoundTrip<'a> {
    pub store: Store,
    pub began: Instant,
    /// Name of the command or script; `None` for statements.
    pub name: Option<&'a str>,
    pub commands: usize,
    pub is_failed: bool,
}

/// The offset of an event: its shard's log, and generation and number in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LogOffset {
    pub shard: u16,
    pub offset: (u64, u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Fold,
    Persist,
}

/// Events of a log that were folded or persisted. It ends now.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub stage: Stage,
    pub shard: u16,
    /// The offset before the first event.
    pub after: (u64, u64),
    pub to: (u64, u64),
    pub events: usize,
    pub began: Instant,
}
