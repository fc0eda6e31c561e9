//! The two stores: Redis (live counts) and PostgreSQL (durable rows). One typed call per script and per statement.

mod acl;
mod breaker;
mod cached_values;
mod clock;
pub mod coalescer;
pub mod error;
pub mod expiring;
pub mod redis;
pub mod sql;
pub mod tally;
mod tls;

use std::time::Duration;

pub use clock::ClockDifference;
pub use error::{ErrorClass, SqlRefusal, StoreError, StoreResult, ensure};

/// How long both stores keep an idempotency key.
pub const KEY_LIFE: Duration = Duration::from_hours(24);

/// How long Redis keeps the key of a switch that changed nothing. Repetitions after a lost reply come within minutes;
/// in a day, one client could fill a gigabyte with requests that change nothing.
pub const UNCHANGED_KEY_LIFE: Duration = Duration::from_mins(10);

/// How long a ranking is kept after it was the current one: the time that a reader has for the next page.
pub const RANKING_SNAPSHOT_LIFE: Duration = Duration::from_mins(10);
