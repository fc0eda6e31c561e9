//! Clean: what is in PostgreSQL is no longer pending in Redis. It reads the log by itself, so that a
//! takeover goes on exactly where the last owner stopped.

use std::{sync::Arc, time::Duration};

use super::targets::Targets;
use crate::{
    catalogue::Flip,
    event_log::Entry,
    pipeline::leadership::{
        Leadership,
        retry::{FailureStreak, keep_on_with},
    },
    primitives::{
        Offset,
        fault::{self, Point},
    },
    store::{StoreError, StoreResult},
};

/// How long one wait lasts. Then the targets are looked at again: one may have been begun anew meanwhile.
const WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);
/// While there is a backlog a step takes up to so many events, as the persister does: events of the same entities
/// then share the work. Lua cannot take 8,000 of one actor.
const MOST_EVENTS: usize = 5_000;
/// Steps become larger only as long as no target shard gets more entities at once than this: its script holds up
/// others in Redis, for some 10 ms then.
const MOST_ENTITIES: usize = 2_000;

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "clean");
    keep_on_with(&leadership, &streak, || clean(&leadership, &streak)).await
}

/// Reads where the targets stand and cleans until an error.
async fn clean(leadership: &Leadership, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, lease) = (leadership.redis(), leadership.lease);
    let mut reader = redis.log_reader(lease.shard, 0).await?;
    let read_targets = || Targets::read(redis, lease.shard, |meta| &meta.retired);
    let mut targets = read_targets().await?;
    let meta = redis.shard_meta(lease.shard).await?.ok_or(StoreError::NotRecovered)?;
    let mut members = meta.members_retired.ok_or(StoreError::NotRecovered)?;
    let usual = leadership.context.settings.batch_events;
    let mut most = usual;
    loop {
        let from = targets.lowest().min(members);
        leadership.progress.cleaned.send_replace(from);
        let Ok(goal) = tokio::time::timeout(WAIT, beyond(leadership, from)).await else {
            targets = read_targets().await?;
            streak.worked();
            continue;
        };
        let entries = reader.range(from, goal, most).await?;
        let to = entries.last().map_or(goal, |last| last.offset);
        // Counters first: the cleaned-to offset that they move is what a load of the set is compared with.
        let batches = targets.batches(&entries, to);
        let entities = batches.iter().map(|batch| batch.moves.len()).max().unwrap_or_default();
        most = if entries.len() < most { usual } else { next_size(most, usual, entities) };
        fault::reached(Point::BeforeRetire)?;
        let applied = redis.retire_counters(lease.shard, lease.fence, &batches).await?;
        if !targets.advance(&batches, &applied) {
            // A target was begun anew and is folded up to here in a moment.
            tokio::time::sleep(PAUSE).await;
            targets = read_targets().await?;
            continue;
        }
        // From the table, not from what the persister remembers: it may have been another one.
        let dead = leadership.db().dead_between(lease.shard, members, to).await?;
        let with_fate = |entry: &Entry| entry.flip().map(|flip| (*flip, dead.contains(&entry.offset)));
        let flips: Vec<(Flip, bool)> =
            entries.iter().filter(|entry| entry.offset > members).filter_map(with_fate).collect();
        fault::reached(Point::BeforeMembers)?;
        redis.retire_members(lease.shard, lease.fence, to, &flips).await?;
        fault::reached(Point::AfterMembers)?;
        redis.advance_members(lease.shard, lease.fence, to).await?;
        members = members.max(to);
        streak.worked();
    }
}

/// How many events the next step takes after a full one of `most` events, whose largest script had so many entities.
fn next_size(most: usize, usual: usize, entities: usize) -> usize {
    if 2 * entities <= MOST_ENTITIES {
        (2 * most).min(MOST_EVENTS.max(usual))
    } else if entities > MOST_ENTITIES {
        (most / 2).max(usual)
    } else {
        most
    }
}

/// Waits until something after `from` is both folded and persisted; returns up to where.
async fn beyond(leadership: &Leadership, from: Offset) -> Offset {
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
    fn steps_grow_while_their_scripts_are_short_and_never_below_the_usual_size() {
        assert_eq!(
            [1_000, 2_000, 4_000, 5_000].map(|most| next_size(most, 1_000, 500)),
            [2_000, 4_000, 5_000, 5_000]
        );
        assert_eq!([1_000, 4_000].map(|most| next_size(most, 1_000, 1_500)), [1_000, 4_000]);
        assert_eq!([1_000, 1_500, 4_000].map(|most| next_size(most, 1_000, 2_001)), [1_000, 1_000, 2_000]);
        assert_eq!(next_size(6_000, 6_000, 1), 6_000);
    }
}
