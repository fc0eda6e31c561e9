//! Cache invalidation: the one path by which a change in PostgreSQL reaches Redis. It deletes the counters and
//! sets that invalidations name, then deletes exactly those invalidations. A kill in between only repeats a drop.
//!
//! One leadership of a process works for all shards that the process leads.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;

use crate::leadership::{Leadership, retry::repeat};
use plaudit_catalogue::primitives::fault::{self, Point};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{Copies, Redis, counts::counters, members::sets},
    sql::counting::invalidations::{self, DueInvalidations},
};

/// Invalidations of a shard at a time; each may name hundreds of entities. An entity that several of them name is
/// dropped once.
const MAX_INVALIDATIONS: usize = 20;
/// Entities that are sent to Redis at a time. Requests wait while Redis drops them, and an import names
/// thousands at once.
const ENTITIES_AT_ONCE: usize = 100;
/// The same for sets, which a plain command deletes: four times as fast.
const SETS_AT_ONCE: usize = 500;
/// Reads the table this often without an announcement: one may be missed.
const EVERY: Duration = Duration::from_secs(1);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "invalidate", || invalidate(&leadership)).await
}

/// Applies the due invalidations; waits if there are none.
async fn invalidate(leadership: &Leadership) -> StoreResult<()> {
    let announced = leadership.context.invalidations_announced.notified();
    let mut is_more = false;
    if leadership.is_first_of_process() {
        let shards = leadership.context.led.all();
        let due = invalidations::due_invalidations(leadership.db(), &shards, MAX_INVALIDATIONS).await?;
        is_more = due.iter().any(|of_shard| of_shard.ids.len() == MAX_INVALIDATIONS);
        apply(leadership, &due).await?;
    }
    if !is_more {
        let _ = tokio::time::timeout(EVERY, announced).await;
    }
    Ok(())
}

/// Applies the invalidations of each shard. A shard that fails holds up no other.
async fn apply(leadership: &Leadership, due: &[DueInvalidations]) -> StoreResult<()> {
    if due.is_empty() {
        return Ok(());
    }
    let outcomes = join_all(due.iter().map(|of_shard| drop_copies(leadership.redis(), of_shard))).await;
    fault::reached(Point::AfterInvalidation)?;
    let applied = due.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
    let ids: Vec<_> = applied.flat_map(|(of_shard, _)| of_shard.ids.iter().copied()).collect();
    invalidations::delete_invalidations(leadership.db(), &ids).await?;
    outcomes.into_iter().collect()
}

async fn drop_copies(redis: &Redis, due: &DueInvalidations) -> StoreResult<()> {
    for (entities, copies) in [(&due.entities, Copies::All), (&due.counts, Copies::Counts)] {
        let entities: Vec<_> = entities.iter().copied().collect();
        for page in entities.chunks(ENTITIES_AT_ONCE) {
            counters::invalidate(redis, page, copies).await?;
        }
    }
    let sets: Vec<_> = due.sets.iter().copied().collect();
    for page in sets.chunks(SETS_AT_ONCE) {
        sets::invalidate_members(redis, page).await?;
    }
    Ok(())
}
