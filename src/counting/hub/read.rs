//! Counts for requests: from this process, else from Redis in one round trip, else from PostgreSQL.

use super::{CountsAt, CountsMap, Hub, view::ReadTicket};
use plaudit_catalogue::Entity;
use plaudit_store::{
    StoreResult,
    redis::{CountsRead, counts::counters},
};

/// Adds the counts that this process has not cached.
pub(super) async fn add_missing(
    hub: &Hub,
    entities: &[Entity],
    counts: &mut [Option<CountsAt>],
) -> StoreResult<()> {
    let of_missing = entities.iter().zip(counts.iter()).filter(|(_, counts)| counts.is_none());
    let mut missing: Vec<Entity> = of_missing.map(|(entity, _)| *entity).collect();
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort_unstable();
    missing.dedup();
    hub.given_ids().leave_given(&mut missing).await;
    if missing.is_empty() {
        return Ok(());
    }
    let mut found = CountsMap::with_capacity(missing.len());
    let outcome = read_or_load(hub, &missing, &mut found).await;
    for (entity, counts) in entities.iter().zip(counts) {
        *counts = counts.or_else(|| found.get(entity).copied());
    }
    outcome
}

async fn read_or_load(hub: &Hub, entities: &[Entity], found: &mut CountsMap) -> StoreResult<()> {
    let to_load = read(hub, entities, found).await?;
    if !to_load.is_empty() {
        found.extend(hub.load(&to_load).await?);
    }
    Ok(())
}

/// Adds the counts that Redis has. Returns the other entities.
pub(super) async fn read(hub: &Hub, entities: &[Entity], found: &mut CountsMap) -> StoreResult<Vec<Entity>> {
    let tickets = begin_reads(hub, entities);
    let read = counters::read_counts(&hub.inner.redis, entities).await?;
    let mut to_load = Vec::new();
    for (entity, read) in read {
        let ticket = tickets[hub.inner.redis.shard_of(entity.id).index()];
        match finish_read(hub, ticket, entity, read) {
            Some(counted) => {
                found.insert(entity, counted);
            }
            None => to_load.push(entity),
        }
    }
    Ok(to_load)
}

/// Registers reads before they are sent. Returns one ticket per shard.
pub(super) fn begin_reads(hub: &Hub, entities: &[Entity]) -> Vec<ReadTicket> {
    for entity in entities {
        hub.view_of(*entity).lock().begin_read(*entity);
    }
    hub.inner.views.iter().map(|view| view.lock().ticket()).collect()
}

pub(super) fn finish_read(
    hub: &Hub,
    ticket: ReadTicket,
    entity: Entity,
    read: CountsRead,
) -> Option<CountsAt> {
    hub.view_of(entity).lock().finish_read(ticket, entity, read)
}
