//! Counts while Redis is away: those that were known last, with their versions; else totals of PostgreSQL with
//! version 0, which is older than any. They never enter the hub.

use std::time::Duration;

use super::{CountsAt, CountsMap, Hub, load::ids_by_kind};
use plaudit_catalogue::{Entity, primitives::Version};
use plaudit_store::{
    StoreError, StoreResult,
    coalescer::Coalescer,
    expiring::Expiring,
    sql::{Db, counting::counts},
};

/// How long totals are shown before they are read again.
const FRESH: Duration = Duration::from_secs(1);
const CAPACITY: u64 = 100_000;

/// Totals that were read in the last second.
pub(super) struct StaleCounts {
    recent: Expiring<Entity, CountsAt>,
    reads: Coalescer<Entity, CountsAt>,
}

impl StaleCounts {
    pub fn new(db: &Db) -> Self {
        Self { recent: Expiring::of_entries(CAPACITY, FRESH), reads: Coalescer::with(db.row_turns()) }
    }
}

async fn read_totals(db: Db, entities: Vec<Entity>) -> StoreResult<CountsMap> {
    let mut found = CountsMap::new();
    for (kind, ids) in ids_by_kind(entities) {
        for (id, counts) in counts::read_totals(&db, kind, &ids).await?.totals {
            found.insert(Entity::new(kind, id), CountsAt { version: Version::default(), counts });
        }
    }
    Ok(found)
}

impl Hub {
    /// As [`Self::counts`]; while Redis is away, counts that may be older. Not for subscriptions.
    pub async fn counts_or_stale(&self, entities: &[Entity]) -> (Vec<Option<CountsAt>>, StoreResult<()>) {
        let (mut counts, mut outcome) = self.counts(entities).await;
        if outcome.as_ref().is_err_and(StoreError::is_redis_away) {
            outcome = self.add_stale(entities, &mut counts).await;
        }
        (counts, outcome)
    }

    async fn add_stale(&self, entities: &[Entity], counts: &mut [Option<CountsAt>]) -> StoreResult<()> {
        self.hearing().note_stale_read();
        for (entity, counts) in entities.iter().zip(counts.iter_mut()).filter(|(_, counts)| counts.is_none())
        {
            *counts = self.view_of(*entity).lock().last_known(*entity);
        }
        let unknown = entities.iter().zip(counts.iter_mut()).filter(|(_, counts)| counts.is_none());
        let (unknown, counts): (Vec<&Entity>, Vec<_>) = unknown.unzip();
        let (stale, db) = (&self.inner.stale, self.inner.db.clone());
        let fetch = |entities| async move { read_totals(db, entities).await };
        let read = |entities: Vec<Entity>| async move { stale.reads.get(&entities, fetch).await };
        for (counts, total) in counts.into_iter().zip(stale.recent.get_or_read(&unknown, read).await?) {
            *counts = total;
        }
        Ok(())
    }
}
