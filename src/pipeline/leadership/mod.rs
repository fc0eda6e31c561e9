//! Leadership of a shard: what all parts of the pipeline share while this process owns a shard.
//!
//! - [`Leadership`]: the lease with its fencing token, and how far the shard's log has come;
//! - [`Context`]: stores, settings and signals, shared by the leaderships of all shards of a process;
//! - [`retry`]: keeps a part working through outages until the leadership ends;
//! - [`Status`]: which shards this process serves, for `/readyz`.

mod context;
mod pace;
pub mod retry;
mod setup;
mod state;
mod status;

pub use context::Context;
pub use pace::Pace;
pub use setup::PipelineSetup;
pub use state::{Leadership, Progress};
pub use status::Status;
