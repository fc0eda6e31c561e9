//! Counting: the shard's log moves counters in Redis and rows and totals in PostgreSQL, each exactly once.
//!
//! - [`fold`]: log → counters in Redis → hubs;
//! - [`persist`]: log → rows and totals in PostgreSQL;
//! - [`retire`]: events that both have leave the pending overlay;
//! - [`heat`]: how hot notes are, for rankings;
//! - [`trim`]: keeps the log within its bounds.

pub mod fold;
mod heat;
pub mod persist;
pub mod retire;
mod targets;
pub mod trim;
