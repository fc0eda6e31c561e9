//! What can go wrong between Plaudit and its stores.

use crate::primitives::{Offset, fault::Injected};

pub type StoreResult<T> = Result<T, StoreError>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Redis did not answer, or not in time. Whether it did what was asked is unknown.
    #[error("Redis does not answer: {0}")]
    RedisUnreachable(#[source] ::redis::RedisError),
    /// PostgreSQL did not answer, or not in time. Whether a commit happened is unknown.
    #[error("PostgreSQL does not answer: {0}")]
    SqlUnreachable(String),
    /// This Redis process, or this shard on it, has not been verified yet. Nothing was done; it passes
    /// when the shard's owner has looked at it.
    #[error("shard state in Redis is not verified yet")]
    Unverified,
    /// The shard has a newer owner. Nothing was done.
    #[error("the shard has a newer owner")]
    Fenced,
    /// Entries are missing in a shard's log.
    #[error("the log has a gap: after {after} comes {found}")]
    LogGap { after: Offset, found: Offset },
    /// What was read moved under the reader too many times.
    #[error("the shard is too busy to read from; tried {tries} times")]
    Contended { tries: u32 },
    /// A store answered what it never should; a bug or foreign data.
    #[error("unexpected answer: {0}")]
    Unexpected(String),
}

impl StoreError {
    /// Whether the same call may succeed a little later.
    pub const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RedisUnreachable(_) | Self::SqlUnreachable(_) | Self::Unverified | Self::Contended { .. }
        )
    }
}

impl From<Injected> for StoreError {
    fn from(injected: Injected) -> Self {
        Self::SqlUnreachable(injected.to_string())
    }
}

impl From<::redis::RedisError> for StoreError {
    fn from(error: ::redis::RedisError) -> Self {
        use ::redis::{ErrorKind, ServerErrorKind};
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::NoScript) => Self::Unverified,
            ErrorKind::Io
            | ErrorKind::ClusterConnectionNotFound
            | ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::TryAgain,
            ) => Self::RedisUnreachable(error),
            _ if error.is_timeout() || error.is_connection_dropped() => Self::RedisUnreachable(error),
            // Out of memory: writes are refused as a whole until something is freed.
            _ if error.code() == Some("OOM") || error.code() == Some("MISCONF") => {
                Self::RedisUnreachable(error)
            }
            _ => Self::Unexpected(error.to_string()),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => Self::SqlUnreachable(error.to_string()),
            sqlx::Error::Database(database) => match database.code().as_deref() {
                // Connection exceptions, operator intervention (shutdown, crash, still starting), out of
                // resources, cancelled by a timeout, deadlock and serialisation failures, a transaction that
                // was idle for too long: all pass.
                Some(code)
                    if code.starts_with("08")
                        || code.starts_with("57")
                        || code.starts_with("53")
                        || code.starts_with("40")
                        || code == "55P03"
                        || code == "25006"
                        || code == "25P03" =>
                {
                    Self::SqlUnreachable(error.to_string())
                }
                _ => Self::Unexpected(error.to_string()),
            },
            _ => Self::Unexpected(error.to_string()),
        }
    }
}
