//! Fold, the projector to Redis: log → one difference per entity → counters in Redis → hubs. Each event is
//! applied to each target exactly once.
//!
//! When idle, an event is folded at once. Under load events gather for [`GATHER`] and while a batch is in flight.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{gather::Gather, targets::TargetShards};
use crate::{
    event_log::Entry,
    pipeline::leadership::{
        Leadership,
        retry::{FailureStreak, repeat_with},
    },
    primitives::fault::{self, Point},
    store::{StoreError, StoreResult, redis::Batch},
};

/// How long one wait for new events lasts. Then the targets are read again: a target that was reset to an
/// earlier offset must not wait for the next event.
const WAIT: Duration = Duration::from_secs(1);
/// How long after a batch the targets that it does not touch follow, all batches of that time at once. Events are
/// retired only when all targets have followed.
const FOLLOW: Duration = Duration::from_millis(500);
/// How long events gather after a batch has begun: the longest delay that gathering adds to a count.
const GATHER: Duration = Duration::from_millis(4);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "fold");
    repeat_with(&leadership, &streak, || fold(&leadership, &streak)).await
}

/// Reads the position of each target and folds until an error.
async fn fold(leadership: &Leadership, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, source) = (leadership.redis(), leadership.lease.shard);
    let mut reader = redis.log_reader(source, leadership.context.settings.redis_replicas).await?;
    let read_targets = || TargetShards::read(redis, source);
    let mut targets = read_targets().await?;
    let (most, mut gather) = (leadership.context.settings.batch_events, Gather::every(GATHER));
    let mut follow_at = None;
    loop {
        leadership.progress.folded.send_replace(targets.lowest());
        gather.wait().await;
        let wait = follow_at.map_or(WAIT, |at: Instant| at.saturating_duration_since(Instant::now()));
        let entries = reader.read(targets.done(), most, wait).await?;
        gather.begin(Instant::now(), entries.len() == most);
        if !entries.is_empty() {
            fold_entries(leadership, &mut targets, &entries).await?;
        } else if !targets.is_any_behind() {
            targets = read_targets().await?;
        }
        if follow_at.is_some_and(|at| at <= Instant::now()) {
            let batches = targets.following();
            apply(leadership, &mut targets, &batches).await?;
        }
        follow_at = targets.is_any_behind().then(|| follow_at.unwrap_or_else(|| Instant::now() + FOLLOW));
        streak.succeeded();
    }
}

/// Folds entries into the targets that they touch.
async fn fold_entries(
    leadership: &Leadership,
    targets: &mut TargetShards,
    entries: &[Entry],
) -> StoreResult<()> {
    let Some(last) = entries.last() else { return Ok(()) };
    leadership.context.status.record_log_end(leadership.lease.shard, last.offset);
    let mut batches = targets.batches(entries, last.offset);
    batches.retain(|batch| !batch.moves.is_empty());
    if apply(leadership, targets, &batches).await? {
        targets.touched_targets_are_at(last.offset);
    }
    Ok(())
}

/// Applies batches to their targets. If one is refused, reads the positions of all targets and returns false.
async fn apply(leadership: &Leadership, targets: &mut TargetShards, batches: &[Batch]) -> StoreResult<bool> {
    let (redis, source) = (leadership.redis(), leadership.lease.shard);
    fault::reached(Point::BeforeFold)?;
    let applied = redis.fold(source, leadership.lease.fence, batches).await?;
    fault::reached(Point::AfterFold)?;
    let is_done = targets.advance(batches, &applied);
    if !is_done {
        *targets = TargetShards::read(redis, source).await?;
    }
    Ok(is_done)
}
