//! Counting: the shard's log moves counters in Redis and rows and totals in PostgreSQL, each exactly once.
//!
//! - [`fold`]: log → counters in Redis → hubs;
//! - [`persist`]: log → rows and totals in PostgreSQL;
//! - [`retire`]: events that both have leave the pending overlay;
//! - [`heat`]: how hot notes are, for rankings;
//! - [`trim`]: keeps the log within its bounds; [`lag`]: how far the others are behind it;
//! - [`traces`]: fold and persister as parts of the traces of requests.

pub mod fold;
mod heat;
mod lag;
pub mod persist;
pub mod retire;
mod traces;
pub mod trim;
