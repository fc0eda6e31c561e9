//! Limit of open files, which bounds the number of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Below this many files for clients the log has a warning.
const FEW: u32 = 1_000;
/// Files beside those of clients and of PostgreSQL: logs, Redis, timers, and the files of the embedded stores.
const OTHER: u32 = 100;

/// Raises the soft limit to the hard one: every WebSocket is an open file, and the usual soft limit of 1,024
/// exists for programs that use `select`.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        Ok(()) => {
            tracing::debug!(from = ?limit.current, to = ?limit.maximum, "raised the limit of open files")
        }
        Err(error) => tracing::warn!(%error, limit = ?limit.current, "cannot raise the limit of open files"),
    }
}

/// How many files clients may have open, if the stores have this many connections.
pub fn left_for_clients(store_connections: u32) -> u32 {
    let limit =
        getrlimit(Resource::Nofile).current.map_or(u32::MAX, |limit| limit.try_into().unwrap_or(u32::MAX));
    let left = limit.saturating_sub(OTHER + store_connections);
    if left < FEW {
        tracing::warn!(limit, left, "the limit of open files leaves few for clients; raise it (ulimit -n)");
    }
    left.max(1)
}
