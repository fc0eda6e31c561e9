//! The two stores: Redis (live counts) and PostgreSQL (durable rows). One typed call per script and per statement.

mod breaker;
pub mod error;
pub mod redis;
pub mod single_flight;
pub mod sql;
pub mod tally;

use std::time::Duration;

pub use error::{ErrorClass, SqlRefusal, StoreError, StoreResult};

/// How long both stores keep an idempotency key.
pub const KEY_LIFE: Duration = Duration::from_hours(24);
