//! Counts while Redis is away: those that were known last, with their versions; else totals of PostgreSQL with
//! version 0, which is older than any. They never enter the hub.

use std::time::Duration;

use foldhash::fast::RandomState;
use moka::sync::Cache;

use super::{CountsAt, CountsMap, Hub, load::ids_by_kind};
use plaudit_catalogue::{Entity, primitives::Version};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{Db, RowReads, counting::counts},
};

/// How long totals are shown before they are read again.
const FRESH: Duration = Duration::from_secs(1);
const CAPACITY: u64 = 100_000;

/// Totals that were read in the last second.
pub(super) struct StaleCounts {
    recent: Cache<Entity, CountsAt, RandomState>,
    row_reads: RowReads<Entity, CountsAt>,
}

impl StaleCounts {
    pub fn new(db: Db) -> Self {
        let recent = Cache::builder().max_capacity(CAPACITY).time_to_live(FRESH);
        Self { recent: recent.build_with_hasher(RandomState::default()), row_reads: RowReads::new(db) }
    }

    async fn read(&self, entities: &[Entity]) -> StoreResult<CountsMap> {
        let found = self.row_reads.get(entities, read_totals).await?;
        for (entity, counts) in &found {
            self.recent.insert(*entity, *counts);
        }
        Ok(found)
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
        let recent = &self.inner.stale.recent;
        let mut to_read = Vec::new();
        for (entity, counts) in entities.iter().zip(counts.iter_mut()).filter(|(_, counts)| counts.is_none())
        {
            let last = self.view_of(*entity).lock().last_known(*entity);
            *counts = last.or_else(|| recent.get(entity));
            if counts.is_none() && !to_read.contains(entity) {
                to_read.push(*entity);
            }
        }
        if to_read.is_empty() {
            return Ok(());
        }
        let found = self.inner.stale.read(&to_read).await?;
        for (entity, counts) in entities.iter().zip(counts) {
            *counts = counts.or_else(|| found.get(entity).copied());
        }
        Ok(())
    }
}
