//! Leadership of a shard: what all parts of the pipeline share while this process owns a shard.
//!
//! - [`Leadership`]: the lease with its fencing token, and how far the shard's log has come;
//! - [`Context`]: stores, settings and signals, shared by all shards of a process;
//! - [`retry`]: keeps a part working through outages until the leadership ends;
//! - [`PipelineStatus`]: which shards this process serves, for `/readyz`.

mod commit_group;
mod context;
mod persist_rate;
pub mod retry;
mod setup;
mod state;
mod status;

pub use commit_group::{CommitGroup, WaitingBatch};
pub use context::Context;
pub use persist_rate::PersistRateLimit;
pub use setup::PipelineSetup;
pub use state::{Leadership, LogProgress};
pub use status::PipelineStatus;
