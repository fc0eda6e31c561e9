//! Visibility of users: nothing of a hidden user counts or is shown to others, until the user is restored.

use crate::{
    ActionOutcome, DomainError, DomainResult, IdempotencyKey, Plaudit,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::primitives::UserId;
use plaudit_store::sql::{
    counting::backfills::{self, Backfill, BackfillKind},
    ownership::shards,
    people::{hiding, users},
};

/// Whether a user is hidden, and the progress of the backfill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visibility {
    pub is_hidden: bool,
    /// Rows changed since the user was last hidden or restored, and the number of rows at that time.
    pub done: i64,
    pub total: i64,
    pub is_finished: bool,
}

/// Hides a user, or restores them. What the user does from now on stops counting (or counts again) at once, what is
/// older in a background backfill: see [`visibility`]. Returns whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown user.
pub async fn set_hidden(
    plaudit: &Plaudit,
    moderator: UserId,
    user: UserId,
    hidden: bool,
    key: Option<&IdempotencyKey>,
) -> DomainResult<ActionOutcome> {
    let action = if hidden { "hideUser" } else { "restoreUser" };
    let mut change =
        match transaction::begin(plaudit, moderator, key, &ActionCall::new(action, &user)).await? {
            ActionStart::Repeated(outcome) => return Ok(outcome),
            ActionStart::New(change) => change,
        };
    let tx = change.tx();
    if users::lock_user(tx, user).await?.ok_or(DomainError::NotFound("user"))? == hidden {
        return change.finish(false, None).await;
    }
    // Counted before the removal lock, which blocks batches. Only the progress depends on it.
    let rows = hiding::count_rows_of(tx, user).await?;
    shards::lock_removals(tx).await?;
    users::set_hidden(tx, user, hidden).await?;
    let (shards, work) =
        (plaudit.inner.redis.shards(), if hidden { BackfillKind::Hide } else { BackfillKind::Restore });
    backfills::add_backfill(tx, shards, user.into(), work, rows, moderator).await?;
    change.touch(user);
    change.finish(true, None).await
}

/// Whether a user is hidden, and the progress of the backfill.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown user.
pub async fn visibility(plaudit: &Plaudit, user: UserId) -> DomainResult<Visibility> {
    let is_hidden = users::is_hidden(&plaudit.inner.db, user).await?.ok_or(DomainError::NotFound("user"))?;
    let backfill = backfills::backfill_of(&plaudit.inner.db, user.into()).await?;
    let (done, total, is_finished) = match backfill {
        Some(Backfill { done, total, is_finished, .. }) => (done, total, is_finished),
        None => (0, 0, true),
    };
    Ok(Visibility { is_hidden, done, total, is_finished })
}
