//! Retirement: events leave the pending overlay in Redis after they are both folded and persisted. It reads the
//! log by itself, so that a new owner continues exactly where the last one stopped.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{gather::Gather, targets::TargetShards};
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
    store::{StoreError, StoreResult, redis::Position},
};

/// How long one wait lasts. Then the targets are read again: one may have been reset.
const WAIT: Duration = Duration::from_secs(1);
/// How long events gather after a batch has begun: nobody waits for a retirement, and a longer batch shares more
/// entities and actors.
const GATHER: Duration = Duration::from_millis(200);
/// Pause when a target is not folded far enough.
const PAUSE: Duration = Duration::from_millis(50);
/// Largest batch during a backlog. As in the persister, events of the same entities then share the work. A Lua
/// script cannot take 8,000 events of one actor.
const MAX_EVENTS: usize = 5_000;
/// Batches grow only while no target shard gets more entities at once than this: its script then blocks Redis for
/// some 10 ms.
const MAX_ENTITIES: usize = 2_000;

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "retire");
    repeat_with(&leadership, &streak, || retire(&leadership, &streak)).await
}

/// Reads the position of each target and retires events until an error.
async fn retire(leadership: &Leadership, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, lease) = (leadership.redis(), leadership.lease);
    let mut reader = redis.log_reader(lease.shard, 0).await?;
    let read_targets = || TargetShards::read(redis, lease.shard, Position::Retired);
    let mut targets = read_targets().await?;
    let meta = redis.shard_meta(lease.shard).await?.ok_or(StoreError::NotRecovered)?;
    let mut members = meta.members_retired.ok_or(StoreError::NotRecovered)?;
    let usual = leadership.context.settings.batch_events;
    let mut size = usual;
    let mut gather = Gather::every(GATHER);
    loop {
        let from = targets.lowest().min(members);
        leadership.progress.retired.send_replace(from);
        gather.wait().await;
        let Ok(goal) = tokio::time::timeout(WAIT, folded_and_persisted_beyond(leadership, from)).await else {
            targets = read_targets().await?;
            streak.succeeded();
            continue;
        };
        let entries = reader.range(from, goal, size).await?;
        gather.begin(Instant::now(), entries.len() == size);
        let to = entries.last().map_or(goal, |last| last.offset);
        // Counters first: a load of a set is compared with the retired offset that they move.
        let batches = targets.batches(&entries, to);
        let entities = batches.iter().map(|batch| batch.moves.len()).max().unwrap_or_default();
        size = if entries.len() < size { usual } else { next_size(size, usual, entities) };
        fault::reached(Point::BeforeRetire)?;
        let applied = redis.retire_counters(lease.shard, lease.fence, &batches).await?;
        if !targets.advance(&batches, &applied) {
            // A target was reset and is not folded up to here yet.
            tokio::time::sleep(PAUSE).await;
            targets = read_targets().await?;
            continue;
        }
        // From the table, not from the persister's memory: another process may have persisted these events.
        let dead = leadership.db().dead_between(lease.shard, members, to).await?;
        let with_fate = |entry: &Entry| entry.flip().map(|flip| (*flip, dead.contains(&entry.offset)));
        let flips: Vec<(Flip, bool)> =
            entries.iter().filter(|entry| entry.offset > members).filter_map(with_fate).collect();
        fault::reached(Point::BeforeRetireMembers)?;
        redis.retire_members(lease.shard, lease.fence, to, &flips).await?;
        fault::reached(Point::AfterRetireMembers)?;
        redis.advance_members(lease.shard, lease.fence, to).await?;
        members = members.max(to);
        streak.succeeded();
    }
}

/// Size of the next batch after a full one of `size` events whose largest script had this many entities.
fn next_size(size: usize, usual: usize, entities: usize) -> usize {
    if 2 * entities <= MAX_ENTITIES {
        (2 * size).min(MAX_EVENTS.max(usual))
    } else if entities > MAX_ENTITIES {
        (size / 2).max(usual)
    } else {
        size
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_while_their_scripts_are_short_and_never_shrink_below_the_usual_size() {
        assert_eq!(
            [1_000, 2_000, 4_000, 5_000].map(|size| next_size(size, 1_000, 500)),
            [2_000, 4_000, 5_000, 5_000]
        );
        assert_eq!([1_000, 4_000].map(|size| next_size(size, 1_000, 1_500)), [1_000, 4_000]);
        assert_eq!([1_000, 1_500, 4_000].map(|size| next_size(size, 1_000, 2_001)), [1_000, 1_000, 2_000]);
        assert_eq!(next_size(6_000, 6_000, 1), 6_000);
    }
}
