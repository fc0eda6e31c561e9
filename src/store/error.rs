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
    /// PostgreSQL refuses what it was given, and will again: it breaks a rule of the tables, or is no valid
    /// value. Nothing was done.
    #[error("PostgreSQL refuses it: {0}")]
    Refused(Refusal),
    /// A store answered what it never should; a bug or foreign data.
    #[error("unexpected answer: {0}")]
    Unexpected(String),
}

/// Why PostgreSQL refuses something.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message} (SQLSTATE {code})")]
pub struct Refusal {
    pub code: String,
    /// The constraint that it breaks, if it is one.
    pub constraint: Option<String>,
    pub message: String,
}

impl Refusal {
    /// `None` for errors that are not about the values: nothing else would fare better.
    fn of(error: &dyn sqlx::error::DatabaseError) -> Option<Self> {
        let code = error.code()?;
        // Cardinality, data exceptions, integrity, raised by functions and triggers, limits of an index row, and
        // internal errors, such as one damaged page. 45: free for those who raise errors.
        let about_values = ["09", "21", "22", "23", "27", "38", "39", "44", "45", "54", "P0", "XX"];
        about_values.iter().any(|class| code.starts_with(class)).then(|| Self {
            code: code.into_owned(),
            constraint: error.constraint().map(str::to_owned),
            message: error.message().to_owned(),
        })
    }
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
                _ => match Refusal::of(database.as_ref()) {
                    Some(refusal) => Self::Refused(refusal),
                    None => Self::Unexpected(error.to_string()),
                },
            },
            _ => Self::Unexpected(error.to_string()),
        }
    }
}
