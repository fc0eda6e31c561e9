//! Errors of requests. Their causes are logged where the response is made, and never sent to clients.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

use super::RateClass;
pub use plaudit_store::ErrorClass;
use plaudit_store::{StoreError, sql::stream::events::CursorError};

pub type DomainResult<T> = Result<T, DomainError>;

#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// It does not exist, or was removed.
    #[error("there is no {0} with this id")]
    NotFound(&'static str),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// A moderator has suspended the caller's account until this time. Nothing was done.
    #[error(
        "your account is suspended until {}; until then you can read, mark notifications as read, export your data and \
         erase yourself",
        until.to_rfc3339_opts(SecondsFormat::Secs, true)
    )]
    Suspended { until: DateTime<Utc> },
    /// Invalid input; the same request never succeeds.
    #[error("{message}")]
    BadInput {
        /// The argument to correct.
        argument: &'static str,
        message: String,
        /// Set where clients may want to distinguish cases.
        reason: Option<Reason>,
    },
    /// Events after a cursor cannot be read without missing some.
    #[error("after: {0}")]
    Cursor(#[from] CursorError),
    /// A store is unavailable or busy. Nothing was partly done; the same request may succeed later.
    #[error("the service cannot do this right now; try again")]
    RetryLater(#[source] StoreError),
    /// The log is full, because PostgreSQL is too far behind. Nothing was done; the same request may succeed
    /// once it has caught up.
    #[error("the service is catching up with earlier actions; try again in a minute")]
    CatchingUp,
    /// The buffer for this is full. Nothing was done; the same request may succeed later.
    #[error("too many {0} at once; try again")]
    Overloaded(&'static str),
    /// A rate limit is exceeded. Nothing was done; the same request may succeed after `retry_after`.
    #[error(
        "too many {} in a short time; try again in {} s", class.name(), retry_after.as_secs_f64().ceil()
    )]
    RateLimited { class: RateClass, retry_after: Duration },
    /// A bug, or corrupt data.
    #[error("internal error")]
    Internal(#[source] StoreError),
}

/// Machine-readable reason of [`DomainError::BadInput`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Events after the cursor were deleted.
    CursorTooOld,
    /// The event of the cursor was lost by a failover.
    EventsLost,
    /// The user follows the maximum number of users.
    FollowLimit,
    /// The idempotency key was used for a different action.
    KeyReused,
    /// Something else has the app's key.
    KeyTaken,
    /// The note is in no group.
    NotInGroup,
    /// The cursor is of another installation.
    OtherInstallation,
    /// The user has fewer coins than the action takes.
    TooFewCoins,
}

impl Reason {
    pub const fn code(self) -> &'static str {
        match self {
            Self::CursorTooOld => "CURSOR_TOO_OLD",
            Self::EventsLost => "EVENTS_LOST",
            Self::OtherInstallation => "OTHER_INSTALLATION",
            Self::FollowLimit => "FOLLOW_LIMIT",
            Self::KeyReused => "KEY_REUSED",
            Self::KeyTaken => "KEY_TAKEN",
            Self::NotInGroup => "NOT_IN_GROUP",
            Self::TooFewCoins => "TOO_FEW_COINS",
        }
    }
}

impl DomainError {
    pub fn bad_input(argument: &'static str, message: impl Into<String>) -> Self {
        Self::BadInput { argument, message: message.into(), reason: None }
    }

    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::NotFound(_)
            | Self::Forbidden(_)
            | Self::Suspended { .. }
            | Self::BadInput { .. }
            | Self::Cursor(_)
            | Self::RateLimited { .. } => ErrorClass::Caller,
            Self::RetryLater(cause) => cause.class(),
            Self::Internal(_) => ErrorClass::Fault,
            Self::CatchingUp | Self::Overloaded(_) => ErrorClass::Overload,
        }
    }
}

impl From<StoreError> for DomainError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::LogFull => Self::CatchingUp,
            error if error.is_transient() => Self::RetryLater(error),
            error => Self::Internal(error),
        }
    }
}
