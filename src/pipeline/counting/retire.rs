//! Retirement: flips leave the pending overlay of their actors after they are folded and persisted. It reads the log
//! by itself, so that a new owner continues exactly where the last one stopped.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::heat::PendingHeat;
use crate::{
    catalogue::Flip,
    event_log::Entry,
    pipeline::leadership::{
        Leadership,
        retry::{FailureStreak, repeat_with},
    },
    primitives::{
        Offset,
        fault::{self, Point},
    },
    store::{StoreError, StoreResult},
};

/// How long events gather after a batch has begun: nobody waits for a retirement, and a longer batch shares more
/// actors.
const GATHER: Duration = Duration::from_millis(500);
/// How long one wait for an event lasts.
const WAIT: Duration = Duration::from_secs(60);
/// Largest batch during a backlog. As in the persister, events of the same actors then share the work. A Lua script
/// cannot take 8,000 events of one actor.
const MAX_EVENTS: usize = 5_000;

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "retire");
    repeat_with(&leadership, &streak, || retire(&leadership, &streak)).await
}

/// Reads the position and retires events until an error.
async fn retire(leadership: &Leadership, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, lease) = (leadership.redis(), leadership.lease);
    let reader = redis.log_reader(lease.shard, 0);
    let meta = redis.shard_meta(lease.shard).await?.ok_or(StoreError::NotRecovered)?;
    let mut from = meta.members_retired.ok_or(StoreError::NotRecovered)?;
    let usual = leadership.context.settings.batch_events;
    let (mut size, mut turn) = (usual, Instant::now());
    let mut heat = PendingHeat::begin(leadership, &reader, from).await?;
    loop {
        leadership.progress.retired.send_replace(from);
        tokio::time::sleep_until(turn).await;
        heat.add_if_due(leadership, &reader).await?;
        let next = folded_and_persisted_beyond(leadership, from);
        let Ok(goal) = tokio::time::timeout(heat.due_in().unwrap_or(WAIT), next).await else { continue };
        let entries = reader.range(from, goal, size).await?;
        let (now, is_full) = (Instant::now(), entries.len() == size);
        turn = if is_full { now } else { now + GATHER };
        size = if is_full { (2 * size).min(MAX_EVENTS.max(usual)) } else { usual };
        let to = entries.last().map_or(goal, |last| last.offset);
        // From the table, not from the persister's memory: another process may have persisted these events.
        let dead = leadership.db().dead_between(lease.shard, from, to).await?;
        let with_fate = |entry: &Entry| entry.flip().map(|flip| (*flip, dead.contains(&entry.offset)));
        let flips: Vec<(Flip, bool)> = entries.iter().filter_map(with_fate).collect();
        fault::reached(Point::BeforeRetire)?;
        redis.retire_members(lease.shard, lease.fence, to, &flips).await?;
        fault::reached(Point::AfterRetire)?;
        redis.advance_members(lease.shard, lease.fence, to).await?;
        heat.take(&entries);
        from = to;
        streak.succeeded();
    }
}

/// Waits until an event after `from` is both folded and persisted. Returns the offset of the last such event.
async fn folded_and_persisted_beyond(leadership: &Leadership, from: Offset) -> Offset {
    let mut folded = leadership.progress.folded.subscribe();
    let mut persisted = leadership.progress.persisted.subscribe();
    loop {
        let goal = (*folded.borrow_and_update()).min(*persisted.borrow_and_update());
        if goal > from {
            return goal;
        }
        tokio::select! {
            _ = folded.changed() => {}
            _ = persisted.changed() => {}
        }
    }
}
