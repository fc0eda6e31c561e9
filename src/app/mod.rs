//! Starts the service from its parts.
//!
//! - `stores`: opens Redis and PostgreSQL, embedded or yours, and checks that they are fit;
//! - `serve`: the order of start and stop; `api`, `pipeline`: the two roles of a process;
//! - `keys`: the keys of tokens;
//! - `readiness`: what `/readyz` says;
//! - `metrics`: what `/metrics` says;
//! - `log`: how events are written;
//! - `open_files`: raises the limit of open files;
//! - `error`: why a start fails, in one line.

mod api;
mod error;
mod keys;
mod log;
mod metrics;
mod open_files;
mod pipeline;
mod process;
mod readiness;
mod serve;
mod stores;

pub use error::AppError;
pub use log::start_log;
pub use metrics::METRICS;
pub use serve::serve;
pub use stores::{beside_running_server, open_database, open_redis_in_layout, open_replica, open_stores};
