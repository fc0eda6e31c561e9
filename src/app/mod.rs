//! Starts the service from its parts.
//!
//! - `stores`: opens Redis and PostgreSQL, embedded or yours; `database`, `redis_server`, `one_redis`: what
//!   they must be; `address`: what messages call them;
//! - `check`: `plaudit check`, with the same requirements;
//! - `serve`, `leaving`: the order of start and of stop; `api`, `pipeline`: the two roles of a process;
//! - `keys`: the keys of tokens;
//! - `readiness`: what `/readyz` and `/status` say;
//! - `metrics`: what `/metrics` says;
//! - `log`: how events are written;
//! - `service_manager`: reports to systemd;
//! - `open_files`: raises the limit of open files; `time_slice`: shortens what a busy CPU makes requests wait;
//! - `error`: why a start fails, in one line.

mod address;
mod api;
mod check;
mod database;
mod error;
mod keys;
mod leaving;
mod log;
mod metrics;
mod one_redis;
mod open_files;
mod pipeline;
mod process;
mod readiness;
mod redis_server;
mod serve;
mod service_manager;
mod stores;
mod time_slice;

pub use check::{Findings, check};
pub use error::AppError;
pub use log::start_log;
pub use metrics::{METRICS, Metric, MetricKind};
pub use serve::serve;
pub use stores::{
    open_database, open_redis_in_layout, open_replica, open_stores, open_stores_also_without_redis,
};
