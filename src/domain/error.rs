//! What a request can be told. Causes inside are logged where the answer is made, never sent.

use std::time::Duration;

use super::rates::RateClass;
pub use crate::store::ErrorClass;
use crate::store::StoreError;

pub type DomainResult<T> = Result<T, DomainError>;

#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// There is no such thing, or it was removed.
    #[error("there is no {0} with this id")]
    NotFound(&'static str),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The caller's fault; the same request never succeeds.
    #[error("{message}")]
    BadInput {
        /// The argument to mend.
        argument: &'static str,
        message: String,
        /// Set where a client may want to tell cases apart.
        reason: Option<Reason>,
    },
    /// A store is away or busy. Nothing was half-done; the same request may succeed later.
    #[error("the service cannot do this right now; try again")]
    RetryLater(#[source] StoreError),
    /// PostgreSQL has fallen so far behind that no more may wait for it. Nothing was done; the same request may
    /// succeed when it has caught up.
    #[error("the service is catching up with what was done before; try again in a minute")]
    CatchingUp,
    /// More of this waits than may wait. Nothing was done; the same request may succeed later.
    #[error("too many {0} at once; try again")]
    Overloaded(&'static str),
    /// Somebody asks too often. Nothing was done; the same request may succeed after `retry_after`.
    #[error(
        "too many {} in a short time; try again in {} s", class.name(), retry_after.as_secs_f64().ceil()
    )]
    RateLimited { class: RateClass, retry_after: Duration },
    /// A bug, or data that should not be.
    #[error("internal error")]
    Internal(#[source] StoreError),
}

/// Why input was refused, for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The user follows as many others as one may.
    FollowLimit,
    /// The idempotency key was used for something else.
    KeyReused,
    /// The note stands in no group.
    NotInGroup,
    /// The user has fewer coins than are to be taken.
    TooFewCoins,
}

impl Reason {
    pub const fn code(self) -> &'static str {
        match self {
            Self::FollowLimit => "FOLLOW_LIMIT",
            Self::KeyReused => "KEY_REUSED",
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
            Self::NotFound(_) | Self::Forbidden(_) | Self::BadInput { .. } | Self::RateLimited { .. } => {
                ErrorClass::Caller
            }
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
