//! Ownership of shards: exactly one process leads a shard at a time, under a lease with a fencing token.
//!
//! - [`owner`]: takes the lease, recovers the shard, runs all parts until the leadership ends;
//! - [`recovery`]: makes sure of log and counters before anything else runs;
//! - [`watch`]: renews the lease, and ends the leadership when a store is not what it was;
//! - [`heartbeat`]: a sign of life for the hubs.

mod heartbeat;
pub mod owner;
mod recovery;
mod watch;
