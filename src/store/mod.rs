//! The two stores: Redis (what is live) and PostgreSQL (what is kept). One typed call per script and per statement.

pub mod error;
pub mod redis;
pub mod single_flight;
pub mod sql;
pub mod tally;

pub use error::{StoreError, StoreResult};
