//! Suspension of users: until a time, every action of theirs is refused.

use std::sync::Arc;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

use crate::{
    DomainError, DomainResult, IdempotencyKey, Plaudit, Text, User,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::primitives::UserId;
use plaudit_store::sql::people::users;

/// The longest suspension from now. Another one may follow.
const LONGEST: TimeDelta = TimeDelta::days(366);

/// When a suspension ends: in the future, to the millisecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SuspensionEnd(DateTime<Utc>);

impl SuspensionEnd {
    /// # Errors
    /// [`DomainError::BadInput`] naming `until`, for a time in the past or more than 366 days away.
    pub fn parse(until: DateTime<Utc>, now: DateTime<Utc>) -> DomainResult<Self> {
        let until = until.trunc_subsecs(3);
        let refused = |why: &str| Err(DomainError::bad_input("until", format!("until: {why}")));
        if until <= now {
            return refused("must be in the future; to lift a suspension, use unsuspendUser");
        }
        if until > now + LONGEST {
            return refused("must be within 366 days; suspend again before it ends, or hide the user");
        }
        Ok(Self(until))
    }
}

/// A suspension that has not ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suspension {
    pub until: DateTime<Utc>,
    /// For the user.
    pub reason: Option<String>,
}

impl Suspension {
    /// `None` if the user is not suspended now.
    pub fn of_user(user: &User) -> Option<Self> {
        Self::of(user.suspended_until, user.suspension_reason.clone())
    }

    fn of(until: Option<DateTime<Utc>>, reason: Option<String>) -> Option<Self> {
        let until = until.filter(|until| *until > Utc::now())?;
        Some(Self { until, reason })
    }
}

/// Suspends a user, or changes the end or the reason of the suspension. Once this has returned, this
/// instance accepts no new action of the user, and others do not as soon as they hear of it. Returns the
/// user and whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown user; [`DomainError::BadInput`] for the moderator.
pub async fn suspend_user(
    plaudit: &Plaudit,
    moderator: UserId,
    user: UserId,
    SuspensionEnd(until): SuspensionEnd,
    reason: Option<Text>,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<User>, bool)> {
    if moderator == user {
        let message = "userId: you cannot suspend yourself; pass another user's id";
        return Err(DomainError::bad_input("userId", message));
    }
    let reason = reason.map(|reason| reason.as_str().to_owned());
    let call = ActionCall::new("suspendUser", &(user, until.timestamp_millis(), &reason));
    set_suspension(plaudit, moderator, user, Some(Suspension { until, reason }), key, &call).await
}

/// Lifts a suspension. Returns the user and whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown user.
pub async fn unsuspend_user(
    plaudit: &Plaudit,
    moderator: UserId,
    user: UserId,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<User>, bool)> {
    set_suspension(plaudit, moderator, user, None, key, &ActionCall::new("unsuspendUser", &user)).await
}

async fn set_suspension(
    plaudit: &Plaudit,
    moderator: UserId,
    user: UserId,
    wanted: Option<Suspension>,
    key: Option<&IdempotencyKey>,
    call: &ActionCall,
) -> DomainResult<(Arc<User>, bool)> {
    let outcome = match transaction::begin(plaudit, moderator, key, call).await? {
        ActionStart::Repeated(outcome) => outcome,
        ActionStart::New(mut change) => {
            let (until, reason) =
                users::lock_suspension(change.tx(), user).await?.ok_or(DomainError::NotFound("user"))?;
            let is_other = Suspension::of(until, reason) != wanted;
            if is_other {
                let (until, reason) =
                    wanted.map_or((None, None), |wanted| (Some(wanted.until), wanted.reason));
                users::set_suspension(change.tx(), user, until, reason.as_deref()).await?;
                change.touch(user);
            }
            change.finish(is_other, None).await?
        }
    };
    Ok((plaudit.users().get(user).await?, outcome.changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_ends_in_the_future_and_within_366_days() {
        let now: DateTime<Utc> = "2026-11-24T12:00:00Z".parse().unwrap();
        let parsed = |after: TimeDelta| SuspensionEnd::parse(now + after, now);
        assert!(parsed(TimeDelta::zero()).is_err() && parsed(TimeDelta::microseconds(999)).is_err());
        assert!(parsed(TimeDelta::days(366)).is_ok() && parsed(TimeDelta::milliseconds(1)).is_ok());
        assert!(parsed(TimeDelta::days(366) + TimeDelta::milliseconds(1)).is_err());
    }
}
