//! Clean: what is in PostgreSQL is no longer pending in Redis. It reads the log by itself, so that a
//! takeover goes on exactly where the last owner stopped.

use std::{sync::Arc, time::Duration};

use super::{
    retry::{Streak, keep_on_with},
    targets::Targets,
    tenure::Tenure,
};
use crate::{
    catalogue::Flip,
    event_log::Entry,
    primitives::{
        Offset,
        fault::{self, Point},
    },
    store::{StoreError, StoreResult},
};

/// How long one wait lasts. Then the targets are looked at again: one may have been begun anew meanwhile.
const WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    let streak = Streak::new(tenure.lease.shard, "clean");
    keep_on_with(&tenure, &streak, || clean(&tenure, &streak)).await
}

/// Reads where the targets stand and cleans until an error.
async fn clean(tenure: &Tenure, streak: &Streak) -> StoreResult<()> {
    let (redis, lease) = (tenure.redis(), tenure.lease);
    let mut reader = redis.log_reader(lease.shard, 0).await?;
    let read_targets = || Targets::read(redis, lease.shard, |meta| &meta.cleaned);
    let mut targets = read_targets().await?;
    let meta = redis.shard_meta(lease.shard).await?.ok_or(StoreError::Unverified)?;
    let mut members = meta.members_cleaned.ok_or(StoreError::Unverified)?;
    loop {
        let from = targets.lowest().min(members);
        tenure.progress.cleaned.send_replace(from);
        let Ok(goal) = tokio::time::timeout(WAIT, beyond(tenure, from)).await else {
            targets = read_targets().await?;
            streak.worked();
            continue;
        };
        let most = tenure.context.settings.batch_events;
        let entries = reader.range(from, goal, most).await?;
        let to = entries.last().map_or(goal, |last| last.offset);
        // Counters first: the cleaned-to offset that they move is what a load of the set is compared with.
        let batches = targets.batches(&entries, to);
        fault::reached(Point::BeforeClean)?;
        let applied = redis.clean_counters(lease.shard, lease.fence, &batches).await?;
        if !targets.advance(&batches, &applied) {
            // A target was begun anew and is folded up to here in a moment.
            tokio::time::sleep(PAUSE).await;
            targets = read_targets().await?;
            continue;
        }
        // From the table, not from what the persister remembers: it may have been another one.
        let dead = tenure.db().dead_between(lease.shard, members, to).await?;
        let with_fate = |entry: &Entry| entry.flip().map(|flip| (*flip, dead.contains(&entry.offset)));
        let flips: Vec<(Flip, bool)> =
            entries.iter().filter(|entry| entry.offset > members).filter_map(with_fate).collect();
        fault::reached(Point::BeforeMembers)?;
        redis.clean_members(lease.shard, lease.fence, to, &flips).await?;
        fault::reached(Point::AfterMembers)?;
        redis.advance_members(lease.shard, lease.fence, to).await?;
        members = members.max(to);
        streak.worked();
    }
}

/// Waits until something after `from` is both folded and persisted; returns up to where.
async fn beyond(tenure: &Tenure, from: Offset) -> Offset {
    let mut folded = tenure.progress.folded.subscribe();
    let mut persisted = tenure.progress.persisted.subscribe();
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
