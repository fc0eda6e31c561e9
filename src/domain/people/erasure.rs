//! Personal data: exporting what is held of a user, and erasing the user.

use crate::{
    ActionOutcome, DomainError, DomainResult, IdempotencyKey, Plaudit,
    keys::ActionCall,
    transaction::{self, ActionStart, ActionTransaction},
};
use plaudit_catalogue::primitives::{Id, PageRequest, Slice, UserId};
use plaudit_store::sql::{
    Db,
    connection::replica,
    ownership::shards,
    people::{erasure, export},
};

pub use plaudit_store::sql::people::export::{ExportPosition, ExportedRecord};

/// Erases a user. Name, avatar and subject are gone at once, and the user is hidden; the pipeline deletes the rest
/// in the background. The subject may come back as a new user. Returns whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for a user who never existed.
pub async fn erase_user(
    plaudit: &Plaudit,
    actor: UserId,
    user: UserId,
    key: Option<&IdempotencyKey>,
) -> DomainResult<ActionOutcome> {
    let mut change =
        match transaction::begin(plaudit, actor, key, &ActionCall::new("eraseUser", &user)).await? {
            ActionStart::Repeated(outcome) => return Ok(outcome),
            ActionStart::New(change) => change,
        };
    let shards = plaudit.inner.redis.shards();
    let changed =
        erasure::erase_user(change.tx(), shards, user, actor).await?.ok_or(DomainError::NotFound("user"))?;
    if changed {
        change.touch(user);
    }
    change.finish(changed, None).await
}

/// A page of all that is held of a user.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown or erased user.
pub async fn export_user(
    plaudit: &Plaudit,
    user: UserId,
    page: &PageRequest<ExportPosition>,
) -> DomainResult<Slice<ExportedRecord>> {
    plaudit.users().get(user).await?;
    let read = |db: Db| async move { export::exported_records(&db, user, page).await };
    Ok(replica::from_replica(&plaudit.inner.db, read, |_| true).await?)
}

/// Whether there was such a user, who was erased.
pub async fn is_erased(plaudit: &Plaudit, user: UserId) -> DomainResult<bool> {
    let mut tx = plaudit.inner.db.begin().await?;
    Ok(!erasure::erased_among(&mut tx, &[user.0]).await?.is_empty())
}

impl ActionTransaction<'_> {
    /// Checks that none of these users was erased, and that none is until the transaction ends: what it writes
    /// of them the erasure finds. Call it before other locks.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] if one was.
    pub(crate) async fn must_not_be_erased(&mut self, users: &[UserId]) -> DomainResult<()> {
        let tx = self.tx();
        shards::lock_removals_shared(tx).await?;
        let ids: Vec<Id> = users.iter().map(|user| user.0).collect();
        if erasure::erased_among(tx, &ids).await?.is_empty() {
            Ok(())
        } else {
            Err(DomainError::NotFound("user"))
        }
    }
}
