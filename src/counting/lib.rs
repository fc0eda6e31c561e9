//! From the event log to counters and rows, and to the counts that clients see. Each shard of the log is led by one
//! process, which runs its parts:
//!
//! - [`ownership`]: takes a shard's lease, recovers the shard, and watches over the leadership;
//! - [`pipeline`]: moves the log into Redis and PostgreSQL, each event exactly once;
//! - [`jobs`]: invalidations, backfills, moderation, reconciliation and others;
//! - [`leadership`]: what these parts share.
//!
//! [`reshard`] changes the number of shards. [`dead`] lets operators apply or drop events that PostgreSQL refused.
//! [`hub`] has live counts in every process; [`reconcile`] recounts from rows, compares both stores, repairs.

pub mod dead;
pub mod hub;
mod jobs;
mod lead;
mod leadership;
mod ownership;
mod pipeline;
pub mod reconcile;
pub mod reshard;

pub use lead::run;
pub use leadership::{PipelineSetup, PipelineStatus, ProcessName};
pub use pipeline::persist::{Moved, Notices};
