//! Leadership of a shard: what all parts of the pipeline share while this process owns a shard.
//!
//! - [`Leadership`]: the lease with its fencing token, and how far the shard's log has come;
//! - [`Context`]: stores, settings and signals, shared by all shards of a process;
//! - [`shard_group`]: what the shards of a process do together, and [`ticks`]: when;
//! - [`retry`]: keeps a part working through outages until the leadership ends;
//! - [`PipelineStatus`]: which shards this process serves, for `/status`.

mod context;
mod led_shards;
mod persist_rate;
pub mod retry;
mod setup;
mod shard_group;
mod state;
mod status;
pub mod ticks;

pub use context::{Context, WaitingCommit};
pub use setup::{PipelineSetup, ProcessName};
pub use state::{Leadership, LogProgress};
pub use status::PipelineStatus;
