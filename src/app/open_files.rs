//! Limit of open files, which bounds the number of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Below this many files for clients the log has a warning.
const FEW: u32 = 1_000;
/// Files beside the connections of clients and to PostgreSQL: logs, Redis, timers, files of the embedded stores.
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
            tracing::debug!(from = ?limit.current, to = ?limit.maximum, "the limit of open files is raised")
        }
        Err(error) => tracing::warn!(%error, limit = ?limit.current, "cannot raise the limit of open files"),
    }
}

/// What clients have of the open files, if the stores have this many connections.
pub struct ClientFiles {
    /// How many they may have open, at least one.
    pub left: u32,
    /// What to do, if these are few.
    pub warning: Option<String>,
}

/// As [`raise_limit`] leaves it.
pub fn left_for_clients(store_connections: u32) -> ClientFiles {
    let limit = getrlimit(Resource::Nofile);
    let limit =
        limit.maximum.or(limit.current).map_or(u32::MAX, |limit| limit.try_into().unwrap_or(u32::MAX));
    let left = limit.saturating_sub(OTHER + store_connections);
    let warning = (left < FEW).then(|| {
        format!(
            "the limit of {limit} open files leaves {left} for clients: raise it (`ulimit -Hn`, LimitNOFILE= of the unit)"
        )
    });
    ClientFiles { left: left.max(1), warning }
}
