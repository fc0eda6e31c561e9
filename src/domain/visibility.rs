//! Hiding users: their edges stop counting everywhere, and count again when they are restored.

use super::{DomainError, DomainResult, IdempotencyKey, Outcome, Plaudit, changes::Begun, keys::Operation};
use crate::{
    primitives::UserId,
    store::sql::{self, Backfill, BackfillKind},
};

/// How far a hiding or a restoring has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visibility {
    pub user: UserId,
    pub is_hidden: bool,
    /// Edges gone through since the user was last hidden or restored, of how many as counted then.
    pub settled: i64,
    pub total: i64,
    pub is_settled: bool,
}

impl Plaudit {
    /// Hides a user, or restores them. From now on what they do counts no longer (or again); what they did
    /// before is settled in the background: see [`Self::visibility`]. Returns whether anything changed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown user.
    pub async fn set_hidden(
        &self,
        moderator: UserId,
        user: UserId,
        hidden: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<Outcome> {
        let action = if hidden { "hideUser" } else { "restoreUser" };
        let mut change = match self.begin(moderator, key, &Operation::new(action, &user)).await? {
            Begun::Before(outcome) => return Ok(outcome),
            Begun::New(change) => change,
        };
        let (db, tx) = change.sql();
        if sql::lock_user(db, tx, user).await?.ok_or(DomainError::NotFound("user"))? == hidden {
            return change.finish(false, None).await;
        }
        // Counted before the removal lock, for which batches wait. It only tells how far the work has come.
        let edges = sql::count_edges_of(db, tx, user).await?;
        sql::lock_removals(db, tx).await?;
        sql::set_hidden(db, tx, user, hidden).await?;
        let (shards, work) =
            (self.inner.redis.shards(), if hidden { BackfillKind::Hide } else { BackfillKind::Restore });
        sql::add_backfill(db, tx, shards, user.into(), work, edges, moderator).await?;
        change.touch(user);
        change.finish(true, None).await
    }

    /// Whether a user is hidden, and how far that is settled.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown user.
    pub async fn visibility(&self, user: UserId) -> DomainResult<Visibility> {
        let is_hidden = self.inner.db.is_hidden(user).await?.ok_or(DomainError::NotFound("user"))?;
        let settlement = self.inner.db.backfill_of(user.into()).await?;
        let (settled, total, is_settled) = match settlement {
            Some(Backfill { done, total, is_finished, .. }) => (done, total, is_finished),
            None => (0, 0, true),
        };
        Ok(Visibility { user, is_hidden, settled, total, is_settled })
    }
}
