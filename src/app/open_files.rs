//! Limit of open files, which bounds the number of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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
