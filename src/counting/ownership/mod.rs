//! Ownership of shards: exactly one process leads a shard at a time, under a lease with a fencing token.
//!
//! - [`sharing`]: has this process lead its [`share`] of the shards;
//! - [`owner`]: takes the lease, recovers the shard, runs all parts until the leadership ends;
//! - [`recovery`]: checks the shard's log and counters before anything else runs;
//! - [`reset`]: begins the next epoch of counters that may be wrong;
//! - [`watch`]: renews the lease, and ends the leadership when a store lost state;
//! - [`heartbeat`]: lets hubs notice missed messages.

mod heartbeat;
mod owner;
mod recovery;
mod reset;
mod share;
pub mod sharing;
mod watch;
