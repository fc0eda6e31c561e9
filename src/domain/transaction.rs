//! Actions that bypass the event log: one PostgreSQL transaction with rows, totals, idempotency key and an
//! invalidation of every entity whose totals or text changed. Edges take the other way: see `edges`.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{
    DomainResult, IdempotencyKey, Plaudit, actions,
    keys::{ActionCall, key_reused},
};
use crate::keys;
use plaudit_catalogue::{
    Counter, Deltas, Entity, EntityKind, EventKind, Rows,
    primitives::{
        Id, ShardId, UserId, Version,
        fault::{self, Point},
    },
};
use plaudit_store::{
    KEY_LIFE, StoreResult, UNCHANGED_KEY_LIFE,
    redis::{Copies, counts::counters, members::claim},
    sql::{
        Tx,
        counting::{
            counts, idempotency, invalidations,
            rows::{self, RowKeys},
        },
        moderation::decisions::DecisionEffects,
        people::{hiding, users},
        stream::events::{self, NewEvent},
    },
};

/// Result of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActionOutcome {
    /// False if the state was already as requested.
    pub changed: bool,
    /// Id of the entity that the action created.
    pub created: Option<Id>,
}

/// Start of an action: a new transaction, or the stored result if its idempotency key was used before.
pub(super) enum ActionStart<'a> {
    New(ActionTransaction<'a>),
    Repeated(ActionOutcome),
}

/// Open transaction of an action. Dropping it rolls everything back.
pub(super) struct ActionTransaction<'a> {
    plaudit: &'a Plaudit,
    action: &'static str,
    tx: Tx,
    key: Option<(UserId, &'a IdempotencyKey)>,
    pub(super) moved: Deltas,
    touched: BTreeSet<Entity>,
}

/// Begins an action of `actor`.
///
/// # Errors
/// [`super::DomainError::BadInput`] if the key was used for a different action.
pub(super) async fn begin<'a>(
    plaudit: &'a Plaudit,
    actor: UserId,
    key: Option<&'a IdempotencyKey>,
    call: &ActionCall,
) -> DomainResult<ActionStart<'a>> {
    if let Some(key) = key {
        keys::claim_key(plaudit, actor, key, call).await?;
    }
    let mut change = begin_without_key(plaudit, call.action()).await?;
    if let Some(key) = key {
        let used =
            idempotency::take_key(&mut change.tx, actor, key.as_str(), call.as_str(), KEY_LIFE).await?;
        if let Some(used) = used {
            if used.operation != call.as_str() {
                return Err(key_reused());
            }
            return Ok(ActionStart::Repeated(ActionOutcome { changed: used.changed, created: used.result }));
        }
    }
    change.key = key.map(|key| (actor, key));
    Ok(ActionStart::New(change))
}

/// Begins an action that does the same if it is repeated.
pub(super) async fn begin_without_key<'a>(
    plaudit: &'a Plaudit,
    action: &'static str,
) -> DomainResult<ActionTransaction<'a>> {
    let (moved, touched) = (Deltas::new(), BTreeSet::new());
    let tx = plaudit.inner.db.begin().await?;
    Ok(ActionTransaction { plaudit, action, tx, key: None, moved, touched })
}

/// Applies the invalidations of a committed transaction, and waits (bounded) until this instance has
/// received them, so that its next read has the new counts. The shards' owners do what fails here.
async fn invalidate(plaudit: &Plaudit, entities: &[Entity], lines: &[Uuid]) {
    for entity in entities {
        plaudit.forget(Some(*entity));
    }
    match counters::invalidate(&plaudit.inner.redis, entities, Copies::All).await {
        Ok(changes) => {
            tokio::join!(wait_for_changes(plaudit, &changes), delete_invalidations(plaudit, lines));
        }
        Err(error) => tracing::debug!(%error, "cannot invalidate in Redis; the owner of the shard will"),
    }
}

async fn wait_for_changes(plaudit: &Plaudit, changes: &BTreeMap<ShardId, Version>) {
    plaudit.hub().wait_for_changes(changes, plaudit.inner.settings.reply_wait).await;
}

async fn delete_invalidations(plaudit: &Plaudit, lines: &[Uuid]) {
    if let Err(error) = invalidations::delete_invalidations(&plaudit.inner.db, lines).await {
        tracing::debug!(%error, "cannot delete the invalidation; it will be applied once more");
    }
}

impl ActionTransaction<'_> {
    /// The transaction, for statements. Read nothing outside of it meanwhile: that needs a second connection, and
    /// open transactions may hold all of them.
    pub fn tx(&mut self) -> &mut Tx {
        &mut self.tx
    }

    /// Adds to a counter when the transaction finishes.
    pub fn count(&mut self, of: impl Into<Entity>, counter: Counter, by: i64) {
        self.moved.entry(of.into()).or_default().add(counter, by);
    }

    /// Adds to counters when the transaction finishes.
    pub fn count_all(&mut self, moved: &Deltas) {
        for (entity, by) in moved {
            self.moved.entry(*entity).or_default().add_all(by);
        }
    }

    /// Sets columns of things, and adds to the counters that their rows move.
    pub async fn change_rows(&mut self, rows: Rows, things: Vec<Id>, set: &str) -> StoreResult<()> {
        let changed = RowKeys::of_things(rows, things);
        let moved = rows::change(&mut self.tx, &changed, set).await?;
        self.count_all(&moved);
        self.touched.extend(changed.things());
        Ok(())
    }

    /// Adds what new things count.
    pub async fn rows_added(&mut self, rows: Rows, things: Vec<Id>) -> StoreResult<()> {
        let added = RowKeys::of_things(rows, things);
        let moved = rows::counted(&mut self.tx, &added).await?;
        self.count_all(&moved);
        self.touched.extend(added.things());
        Ok(())
    }

    /// Adds the effects of moderation decisions.
    pub fn take_in(&mut self, decided: DecisionEffects) {
        self.count_all(&decided.moved);
        self.touched.extend(decided.touched);
    }

    /// Adds the removal of things to the stream of events. An erased user is left out of it: a process that has not
    /// heard of the erasure may still act for the user. The transaction holds the removal lock.
    pub async fn record_removals(
        &mut self,
        of: EntityKind,
        by: Option<UserId>,
        things: &[Id],
    ) -> StoreResult<()> {
        let tx = &mut self.tx;
        if !events::records_events(tx) {
            return Ok(());
        }
        let by = match by {
            Some(user) => users::present_users(tx, &[user]).await?.pop_first(),
            None => None,
        };
        for thing in things {
            events::record(tx, NewEvent::now(EventKind::Removal(of), by, *thing));
        }
        Ok(())
    }

    /// Marks an entity whose text changed, or that is new, for invalidation.
    pub fn touch(&mut self, entity: impl Into<Entity>) {
        self.touched.insert(entity.into());
    }

    /// Adds to the totals, stores the result under the idempotency key, commits, and invalidates what Redis and
    /// this instance cache. Once committed, this never fails.
    pub async fn finish(mut self, changed: bool, created: Option<Id>) -> DomainResult<ActionOutcome> {
        let plaudit = self.plaudit;
        counts::move_totals(&mut self.tx, &self.moved).await?;
        let stale: BTreeSet<Entity> = self.moved.keys().copied().chain(self.touched).collect();
        let stale: Vec<Entity> = stale.into_iter().collect();
        hiding::settle_placeholders(&mut self.tx, &stale).await?;
        let shards = plaudit.inner.redis.shards();
        let lines =
            invalidations::add_own_invalidations(&mut self.tx, shards, &stale, "changed directly").await?;
        if let Some((actor, key)) = self.key {
            let sooner = KEY_LIFE.saturating_sub(UNCHANGED_KEY_LIFE);
            idempotency::keep_result(&mut self.tx, actor, key.as_str(), changed, created, sooner).await?;
        }
        commit(self.tx).await?;
        if changed {
            actions::changed(self.action);
        } else if let Some((actor, key)) = self.key
            && let Err(error) = claim::shorten_key(&plaudit.inner.redis, actor, key.as_str()).await
        {
            tracing::debug!(%error, "cannot shorten the life of a key; it is kept for a day");
        }
        if !lines.is_empty() {
            invalidate(plaudit, &stale, &lines).await;
        }
        Ok(ActionOutcome { changed, created })
    }
}

async fn commit(tx: Tx) -> StoreResult<()> {
    fault::reached(Point::BeforeChange)?;
    tx.commit().await?;
    Ok(fault::reached(Point::AfterChange)?)
}
