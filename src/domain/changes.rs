//! Changes that PostgreSQL takes by itself: one transaction with rows, totals, idempotency key and a
//! correction for every entity whose totals or text moved. See `edges` for the other way.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{
    DomainResult, IdempotencyKey, Plaudit, actions,
    keys::{Operation, key_reused},
};
use crate::{
    catalogue::{Counter, Deltas, Entity},
    primitives::{
        Id, ShardId, UserId, Version,
        fault::{self, Point},
    },
    store::{
        KEY_LIFE, StoreResult,
        sql::{self, CommentPlace, Db, Decided, Tx},
    },
};

/// What came of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// False: it already was so.
    pub changed: bool,
    /// What was created.
    pub created: Option<Id>,
}

/// An action that has begun, unless its key has been used for it before.
pub(super) enum Begun<'a> {
    New(Change<'a>),
    Before(Outcome),
}

/// An action under way. Dropping it undoes everything.
pub(super) struct Change<'a> {
    plaudit: &'a Plaudit,
    action: &'static str,
    tx: Tx,
    key: Option<(UserId, &'a IdempotencyKey)>,
    moved: Deltas,
    touched: BTreeSet<Entity>,
}

impl Plaudit {
    /// Begins an action of `actor`.
    ///
    /// # Errors
    /// [`super::DomainError::BadInput`] when the key stands for another operation.
    pub(super) async fn begin<'a>(
        &'a self,
        actor: UserId,
        key: Option<&'a IdempotencyKey>,
        operation: &Operation,
    ) -> DomainResult<Begun<'a>> {
        if let Some(key) = key {
            self.claim_key(actor, key, operation).await?;
        }
        let db = &self.inner.db;
        let mut tx = db.begin().await?;
        if let Some(key) = key {
            let used = sql::take_key(db, &mut tx, actor, key.as_str(), operation.as_str(), KEY_LIFE).await?;
            if let Some(used) = used {
                if used.operation != operation.as_str() {
                    return Err(key_reused());
                }
                return Ok(Begun::Before(Outcome { changed: used.changed, created: used.result }));
            }
        }
        let key = key.map(|key| (actor, key));
        let (moved, touched) = (Deltas::new(), BTreeSet::new());
        let action = operation.action();
        Ok(Begun::New(Change { plaudit: self, action, tx, key, moved, touched }))
    }

    /// Makes corrections that a committed change has written, and waits (bounded) until this instance has
    /// heard of them: then its next read has the new counts. What fails here is done by the shards' owners.
    async fn correct(&self, entities: &[Entity], lines: &[Uuid]) {
        for entity in entities {
            self.inner.texts.forget(Some(*entity));
        }
        match self.inner.redis.invalidate_counts(entities).await {
            Ok(told) => {
                tokio::join!(self.hear(&told), self.done_with(lines));
            }
            Err(error) => tracing::debug!(%error, "a correction is left to the shard's owner"),
        }
    }

    async fn hear(&self, told: &BTreeMap<ShardId, Version>) {
        self.hub().heard_changes(told, self.inner.settings.reply_wait).await;
    }

    async fn done_with(&self, lines: &[Uuid]) {
        if let Err(error) = self.inner.db.delete_invalidations(lines).await {
            tracing::debug!(%error, "a correction will be made once more");
        }
    }
}

impl Change<'_> {
    /// For statements: the transaction, and the database that bounds them. Nothing else is to be read while
    /// the change is under way: it would need a second connection, and those may all be held by changes.
    pub fn sql(&mut self) -> (&Db, &mut Tx) {
        (&self.plaudit.inner.db, &mut self.tx)
    }

    /// Moves a counter when the change is finished.
    pub fn count(&mut self, of: impl Into<Entity>, counter: Counter, by: i64) {
        self.moved.entry(of.into()).or_default().add(counter, by);
    }

    /// Moves what a comment counts that is shown (`by` 1), or no longer (-1).
    pub fn count_comment(&mut self, place: &CommentPlace, by: i64) {
        sql::count_comment(place, by, &mut self.moved);
    }

    /// Takes in what a decision moved.
    pub fn take_in(&mut self, decided: Decided) {
        for (entity, by) in decided.moved {
            for counter in entity.kind.counters() {
                self.count(entity, *counter, by.get(*counter));
            }
        }
        self.touched.extend(decided.touched);
    }

    /// The entity's text is not what it was, or the entity is new.
    pub fn touch(&mut self, entity: impl Into<Entity>) {
        self.touched.insert(entity.into());
    }

    /// Moves the totals, keeps the result for the key, commits, and corrects what Redis and this instance
    /// hold. After a commit this never fails.
    pub async fn finish(mut self, changed: bool, created: Option<Id>) -> DomainResult<Outcome> {
        let (plaudit, db) = (self.plaudit, &self.plaudit.inner.db);
        sql::move_totals(db, &mut self.tx, &self.moved).await?;
        let stale: BTreeSet<Entity> = self.moved.keys().copied().chain(self.touched).collect();
        let stale: Vec<Entity> = stale.into_iter().collect();
        let shards = plaudit.inner.redis.shards();
        let lines = sql::add_own_invalidations(db, &mut self.tx, shards, &stale, "changed directly").await?;
        if let Some((actor, key)) = self.key {
            sql::keep_result(db, &mut self.tx, actor, key.as_str(), changed, created).await?;
        }
        commit(db, self.tx).await?;
        if changed {
            actions::changed(self.action);
        }
        if !lines.is_empty() {
            plaudit.correct(&stale, &lines).await;
        }
        Ok(Outcome { changed, created })
    }
}

async fn commit(db: &Db, tx: Tx) -> StoreResult<()> {
    fault::reached(Point::BeforeChange)?;
    sql::commit(db, tx).await?;
    Ok(fault::reached(Point::AfterChange)?)
}
