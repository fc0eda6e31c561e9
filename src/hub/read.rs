//! Counts for requests: from this process, else from Redis in one round trip, else from PostgreSQL.

use super::{CountsAt, CountsMap, Hub, view::ReadTicket};
use crate::{
    catalogue::Entity,
    store::{
        StoreResult,
        redis::{CountsRead, counts::counters},
    },
};

impl Hub {
    /// Counts of many entities in their order, and the error if some could not be read. Takes at most one round trip if
    /// Redis has all of them. Entities that do not exist have none.
    pub async fn counts(&self, entities: &[Entity]) -> (Vec<Option<CountsAt>>, StoreResult<()>) {
        let mut counts: Vec<_> = entities.iter().map(|entity| self.cached(*entity)).collect();
        let outcome = self.add_missing(entities, &mut counts).await;
        (counts, outcome)
    }

    /// The counts that this process has cached.
    pub fn cached(&self, entity: Entity) -> Option<CountsAt> {
        self.view_of(entity).lock().cached(entity)
    }

    /// Adds the counts that this process has not cached.
    async fn add_missing(&self, entities: &[Entity], counts: &mut [Option<CountsAt>]) -> StoreResult<()> {
        let of_missing = entities.iter().zip(counts.iter()).filter(|(_, counts)| counts.is_none());
        let mut missing: Vec<Entity> = of_missing.map(|(entity, _)| *entity).collect();
        if missing.is_empty() {
            return Ok(());
        }
        missing.sort_unstable();
        missing.dedup();
        self.given_ids().leave_given(&mut missing).await;
        if missing.is_empty() {
            return Ok(());
        }
        let mut found = CountsMap::with_capacity(missing.len());
        let outcome = self.read_or_load(&missing, &mut found).await;
        for (entity, counts) in entities.iter().zip(counts) {
            *counts = counts.or_else(|| found.get(entity).copied());
        }
        outcome
    }

    async fn read_or_load(&self, entities: &[Entity], found: &mut CountsMap) -> StoreResult<()> {
        let to_load = self.read(entities, found).await?;
        if !to_load.is_empty() {
            found.extend(self.load(&to_load).await?);
        }
        Ok(())
    }

    /// Adds the counts that Redis has. Returns the other entities.
    pub(super) async fn read(&self, entities: &[Entity], found: &mut CountsMap) -> StoreResult<Vec<Entity>> {
        let tickets = self.begin_reads(entities);
        let read = counters::read_counts(&self.inner.redis, entities).await?;
        let mut to_load = Vec::new();
        for (entity, read) in read {
            let ticket = tickets[self.inner.redis.shard_of(entity.id).index()];
            match self.finish_read(ticket, entity, read) {
                Some(counted) => {
                    found.insert(entity, counted);
                }
                None => to_load.push(entity),
            }
        }
        Ok(to_load)
    }

    /// Registers reads before they are sent. Returns one ticket per shard.
    pub(super) fn begin_reads(&self, entities: &[Entity]) -> Vec<ReadTicket> {
        for entity in entities {
            self.view_of(*entity).lock().begin_read(*entity);
        }
        self.inner.views.iter().map(|view| view.lock().ticket()).collect()
    }

    pub(super) fn finish_read(
        &self,
        ticket: ReadTicket,
        entity: Entity,
        read: CountsRead,
    ) -> Option<CountsAt> {
        self.view_of(entity).lock().finish_read(ticket, entity, read)
    }
}
