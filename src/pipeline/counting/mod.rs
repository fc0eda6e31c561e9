//! Counting: the shard's log moves counters in Redis and rows and totals in PostgreSQL, each exactly once.
//!
//! - [`fold`]: log → counters in Redis → hubs;
//! - [`persist`]: log → rows and totals in PostgreSQL;
//! - [`retire`]: what both have is no longer pending in Redis;
//! - [`trim`]: keeps the log within its bounds.

pub mod fold;
pub mod persist;
pub mod retire;
mod targets;
pub mod trim;
