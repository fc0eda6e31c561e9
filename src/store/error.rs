//! Errors of the two stores, and what they mean for the caller.

use super::{acl, tls};
use plaudit_catalogue::primitives::{
    Offset,
    fault::{FailingStore, Injected},
};

pub type StoreResult<T> = Result<T, StoreError>;

/// Class of an error: whether and how to retry. [`StoreError::class`] is the only place that decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// The caller's fault: the same call never succeeds, so it is not retried.
    Caller,
    /// The store works, but is at its limit. Retry with backoff, and within a request only briefly: retries are load
    /// too.
    Overload,
    /// An outage, a takeover or a deadlock. Retry with backoff.
    Transient,
    /// A bug, or data of another program. A retry does not help.
    Fault,
}

impl ErrorClass {
    pub const ALL: [Self; 4] = [Self::Caller, Self::Overload, Self::Transient, Self::Fault];

    /// The name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Overload => "overload",
            Self::Transient => "transient",
            Self::Fault => "fault",
        }
    }

    /// Whether the same call may succeed a little later.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Overload | Self::Transient)
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Redis did not answer, or not in time. The outcome of the call is unknown.
    #[error("Redis does not answer: {0}")]
    RedisUnreachable(#[source] ::redis::RedisError),
    /// Redis takes no more writes or connections. Nothing was done.
    #[error("Redis takes no more: {0}")]
    RedisBusy(String),
    /// Redis cannot execute this yet: it loads its data, is a replica, or cannot save. Nothing was done.
    #[error("Redis is not ready: {0}")]
    RedisUnready(String),
    /// Another node of the cluster has the shard. Nothing was done.
    #[error("another node of the cluster has the shard: {0}")]
    RedisMoved(String),
    /// PostgreSQL did not answer, or not in time. Whether a commit happened is unknown.
    #[error("PostgreSQL does not answer: {0}")]
    SqlUnreachable(String),
    /// PostgreSQL works, but had no connection left, or no time for this statement.
    #[error("PostgreSQL takes no more: {0}")]
    SqlBusy(String),
    /// PostgreSQL ended the statement: it starts or stops, or this was a deadlock.
    #[error("PostgreSQL ended the statement: {0}")]
    SqlInterrupted(String),
    /// No TLS connection: a certificate is wrong or missing. Nothing was done.
    #[error("no TLS connection to {store}: {reason}")]
    Tls { store: &'static str, reason: String },
    /// What the settings say of a store cannot be used. The text says what to change.
    #[error("{0}")]
    Misconfigured(String),
    /// The breaker is open: the store did not answer the last calls. Nothing was sent.
    #[error("{0} did not answer the last calls; the next attempt follows shortly")]
    Resting(&'static str),
    /// A shard's log has reached its share of Redis' memory. Nothing was done.
    #[error("the shard's log is full: too many events are not in PostgreSQL yet")]
    LogFull,
    /// The shard is not recovered on this Redis process. Nothing was done. Lasts until the shard's owner has finished
    /// the recovery.
    #[error("the shard is not recovered on this Redis process yet")]
    NotRecovered,
    /// Replicas are not known to have the event. It may count, or not.
    #[error(
        "fewer replicas of Redis than redis_replicas are known to have it: until more do, actions of the shard answer \
         RETRY_LATER"
    )]
    NotReplicated,
    /// The shard has a newer owner. Nothing was done.
    #[error("the shard has a newer owner")]
    Fenced,
    /// Entries are missing in a shard's log.
    #[error("the log has a gap between {after} and {found}")]
    LogGap { after: Offset, found: Offset },
    /// A shard's log has another entry at this offset than the one that was read there before.
    #[error("the entry {at} of the log is another one than before")]
    LogOverwritten { at: Offset },
    /// Redis has no key of this name.
    #[error("Redis has no such key")]
    NoSuchKey,
    /// A log already has an entry with this id or a higher one.
    #[error("the log already has this entry or a later one")]
    EntryTooOld,
    /// The data changed during each attempt to read it.
    #[error("the data changed during each of {tries} attempts to read it")]
    Contended { tries: u32 },
    /// PostgreSQL refuses these values permanently: they violate a constraint, or are invalid. Nothing was done.
    #[error("PostgreSQL refuses it: {0}")]
    Refused(SqlRefusal),
    /// A reply that the store should never give: a bug, or data of another program.
    #[error("unexpected answer: {0}")]
    Unexpected(String),
    /// A rule of the pipeline does not hold: a bug. The shard stops before it writes what is wrong.
    #[error("a rule does not hold: {0}")]
    Broken(&'static str),
}

/// An assertion on the write path.
///
/// # Errors
/// [`StoreError::Broken`], with the rule, if it does not hold.
pub const fn ensure(holds: bool, rule: &'static str) -> StoreResult<()> {
    if holds { Ok(()) } else { Err(StoreError::Broken(rule)) }
}

/// Why PostgreSQL refuses a statement.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message} (SQLSTATE {code})")]
pub struct SqlRefusal {
    pub code: String,
    /// The constraint that the values violate, if any.
    pub constraint: Option<String>,
    pub message: String,
}

impl SqlRefusal {
    /// `None` for errors that are not about the values.
    fn of(error: &dyn sqlx::error::DatabaseError) -> Option<Self> {
        let code = error.code()?;
        // Cardinality, data exceptions, integrity, raised by functions and triggers, limits of an index row, and
        // internal errors, such as one damaged page. 45: user-defined.
        let about_values = ["09", "21", "22", "23", "27", "38", "39", "44", "45", "54", "P0", "XX"];
        about_values.iter().any(|class| code.starts_with(class)).then(|| Self {
            code: code.into_owned(),
            constraint: error.constraint().map(str::to_owned),
            message: error.message().to_owned(),
        })
    }
}

impl StoreError {
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::RedisBusy(_) | Self::SqlBusy(_) | Self::LogFull | Self::Contended { .. } => {
                ErrorClass::Overload
            }
            Self::RedisUnreachable(_)
            | Self::RedisUnready(_)
            | Self::RedisMoved(_)
            | Self::SqlUnreachable(_)
            | Self::SqlInterrupted(_)
            | Self::Tls { .. }
            | Self::Resting(_)
            | Self::NotReplicated
            | Self::NotRecovered => ErrorClass::Transient,
            Self::Refused(_) => ErrorClass::Caller,
            Self::Fenced
            | Self::LogGap { .. }
            | Self::LogOverwritten { .. }
            | Self::NoSuchKey
            | Self::EntryTooOld
            | Self::Misconfigured(_)
            | Self::Unexpected(_)
            | Self::Broken(_) => ErrorClass::Fault,
        }
    }

    /// Whether the same call may succeed a little later.
    pub const fn is_transient(&self) -> bool {
        self.class().is_retryable()
    }

    /// Whether PostgreSQL failed temporarily: it may succeed later, or with less work.
    pub const fn is_of_postgresql(&self) -> bool {
        matches!(self, Self::SqlUnreachable(_) | Self::SqlBusy(_) | Self::SqlInterrupted(_))
    }

    /// Whether PostgreSQL is away, or is taken to be.
    pub fn is_postgresql_away(&self) -> bool {
        self.is_of_postgresql() || matches!(self, Self::Resting(store) if *store == tls::POSTGRESQL.store)
    }

    /// Whether Redis is away, or is taken to be, or is not verified.
    pub fn is_redis_away(&self) -> bool {
        match self {
            Self::Resting(store) => *store == tls::REDIS.store,
            Self::RedisUnreachable(_) | Self::RedisUnready(_) | Self::NotRecovered => true,
            _ => false,
        }
    }

    /// Whether Redis has refused the call as a whole, and may take it in a moment: the shard is on its way to
    /// this server, or is not verified there.
    pub(super) const fn is_redis_not_ready(&self) -> bool {
        matches!(self, Self::RedisUnready(_) | Self::RedisMoved(_) | Self::NotRecovered)
    }

    /// Whether the store did not answer at all. Every other error is an answer: the store is up.
    pub(super) const fn is_silence(&self) -> bool {
        matches!(self, Self::RedisUnreachable(_) | Self::SqlUnreachable(_) | Self::Tls { .. })
    }
}

impl From<Injected> for StoreError {
    fn from(injected: Injected) -> Self {
        match injected.store() {
            FailingStore::Redis => {
                let error = std::io::Error::new(std::io::ErrorKind::TimedOut, injected.to_string());
                Self::RedisUnreachable(error.into())
            }
            FailingStore::PostgreSql => Self::SqlUnreachable(injected.to_string()),
        }
    }
}

impl From<::redis::RedisError> for StoreError {
    fn from(error: ::redis::RedisError) -> Self {
        use ::redis::{ErrorKind, ServerErrorKind};
        if let Some(reason) = tls::explain(&error, &tls::REDIS) {
            return Self::Tls { store: tls::REDIS.store, reason };
        }
        let error = first_of_pipeline(error);
        if let Some(refused) = acl::explain(error.code(), &error.to_string()) {
            return Self::Misconfigured(refused);
        }
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::NoScript) => Self::NotRecovered,
            ErrorKind::AuthenticationFailed => {
                Self::Misconfigured(format!("Redis refuses the user or the password of redis_url: {error}"))
            }
            ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => Self::RedisUnreachable(error),
            ErrorKind::Server(ServerErrorKind::Moved) => Self::RedisMoved(error.to_string()),
            ErrorKind::Server(
                // Ask: a slot is on its way, key by key. Until it has arrived, some of the shard's keys are missing.
                // CrossSlot: the server has become a node of a cluster, and refused the command as a whole.
                ServerErrorKind::Ask
                | ServerErrorKind::CrossSlot
                | ServerErrorKind::BusyLoading
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::TryAgain,
            ) => Self::RedisUnready(error.to_string()),
            _ if error.is_timeout() || error.is_connection_dropped() => Self::RedisUnreachable(error),
            _ => match error.code() {
                // Out of memory: writes are refused as a whole until something is freed.
                Some("OOM") => Self::RedisBusy(error.to_string()),
                Some("MISCONF") => Self::RedisUnready(error.to_string()),
                _ => Self::of_redis_message(error.to_string()),
            },
        }
    }
}

/// The error of the first command that failed, which alone has a code.
fn first_of_pipeline(error: ::redis::RedisError) -> ::redis::RedisError {
    match error.clone().into_server_errors().as_deref() {
        Some([(_, first), ..]) => first.clone().into(),
        _ => error,
    }
}

impl StoreError {
    /// Errors that Redis distinguishes only by their text.
    fn of_redis_message(message: String) -> Self {
        if message.contains("max number of clients") {
            Self::RedisBusy(message)
        } else if message.contains("no such key") {
            Self::NoSuchKey
        } else if message.contains("equal or smaller") {
            Self::EntryTooOld
        } else {
            Self::Unexpected(message)
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        if let Some(reason) = tls::explain(&error, &tls::POSTGRESQL) {
            return Self::Tls { store: tls::POSTGRESQL.store, reason };
        }
        match &error {
            sqlx::Error::Configuration(reason) => Self::Misconfigured(reason.to_string()),
            sqlx::Error::Tls(reason) => {
                let reason = tls::with_advice(&reason.to_string(), &tls::POSTGRESQL);
                Self::Tls { store: tls::POSTGRESQL.store, reason }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => Self::SqlUnreachable(error.to_string()),
            sqlx::Error::Database(database) => match database.code().as_deref() {
                // Out of resources, among them connections; cancelled after the statement timeout.
                Some(code) if code.starts_with("53") || code == "57014" => Self::SqlBusy(error.to_string()),
                // A limit of the size of files, which has no code of its own. A full disk has: 53100.
                Some("XX000") if database.message().starts_with("could not extend file") => {
                    Self::SqlBusy(error.to_string())
                }
                // Connection exceptions, operator intervention (shutdown, crash, still starting), deadlock and
                // serialisation failures, a lock timeout, a standby, a transaction that was idle for too long: all are
                // temporary.
                Some(code)
                    if code.starts_with("08")
                        || code.starts_with("57")
                        || code.starts_with("40")
                        || code == "55P03"
                        || code == "25006"
                        || code == "25P03" =>
                {
                    Self::SqlInterrupted(error.to_string())
                }
                // Who may connect to which database.
                Some(code) if code.starts_with("28") || code == "3D000" => {
                    Self::Misconfigured(tls::with_advice(database.message(), &tls::POSTGRESQL))
                }
                _ => match SqlRefusal::of(database.as_ref()) {
                    Some(refusal) => Self::Refused(refusal),
                    None => Self::Unexpected(error.to_string()),
                },
            },
            _ => Self::Unexpected(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use redis::{ConnectionLike, RedisResult, Value, parse_redis_value};

    use super::*;

    /// A server that gives each pipeline these replies.
    struct Replies(&'static [&'static str]);

    impl ConnectionLike for Replies {
        fn req_packed_command(&mut self, _: &[u8]) -> RedisResult<Value> {
            unreachable!("only pipelines are sent")
        }

        fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> RedisResult<Vec<Value>> {
            self.0.iter().map(|reply| parse_redis_value(reply.as_bytes())).collect()
        }

        fn get_db(&self) -> i64 {
            0
        }

        fn check_connection(&mut self) -> bool {
            true
        }

        fn is_open(&self) -> bool {
            true
        }
    }

    #[test]
    fn the_first_command_of_a_pipeline_that_failed_says_why() {
        let error = |replies| {
            let mut pipeline = ::redis::pipe();
            pipeline.cmd("HINCRBY").cmd("INFO");
            let failed: RedisResult<(i64, String)> = pipeline.query(&mut Replies(replies));
            StoreError::from(failed.unwrap_err())
        };
        let out_of_memory =
            error(&["-OOM command not allowed when used memory > 'maxmemory'.\r\n", "+ok\r\n"]);
        assert!(matches!(out_of_memory, StoreError::RedisBusy(_)), "{out_of_memory:?}");
        let moved = error(&[":1\r\n", "-MOVED 7 127.0.0.1:6379\r\n"]);
        assert!(matches!(moved, StoreError::RedisMoved(_)), "{moved:?}");
    }
}
