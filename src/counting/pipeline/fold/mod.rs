//! Fold, the projector to Redis: log → one difference per entity → counters in Redis → hubs. Each event is
//! applied to each target exactly once.
//!
//! When idle, an event is folded at once. Under load events gather, and the batches of all shards of the process are
//! folded together: one script call per target.
//!
//! - [`targets`]: the position of each target, and the batch that it gets next;
//! - [`apply`]: folds the batches of each node by themselves;
//! - [`returning`]: brings targets back that did not answer or were not recovered.

mod apply;
mod returning;
mod targets;

use std::{sync::Arc, time::Duration};

use plaudit_traces::Stage;
use tokio::time::Instant;

use apply::apply;
use returning::Returning;
use targets::TargetShards;

use super::traces::batch_done;
use crate::leadership::{
    Leadership,
    retry::{FailureStreak, repeat_with},
    ticks,
};
use plaudit_catalogue::{event_log::Entry, primitives::ShardId};
use plaudit_store::{StoreError, StoreResult, redis::log::reading};

/// How often the targets are read again without new events: a target that was reset to an earlier offset must not wait
/// for the next event.
const WAIT: Duration = Duration::from_secs(1);
/// How often the targets that batches do not touch follow, all batches of that time at once, and those that are
/// left out are looked for. Events are retired only when all targets have followed.
const FOLLOW: Duration = Duration::from_millis(500);
/// How long the targets of one node wait for another node that does not answer, before they go on without it.
const PATIENCE: Duration = Duration::from_millis(20);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "fold");
    repeat_with(&leadership, &streak, || fold(&leadership, &streak)).await
}

/// Reads the position of each target and folds until an error.
async fn fold(leadership: &Arc<Leadership>, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, lease, context) = (leadership.redis(), leadership.lease, &leadership.context);
    let mut reader = reading::log_reader(redis, lease.shard, context.settings.redis_replicas);
    let all: Vec<ShardId> = redis.shards().all().collect();
    let mut targets = TargetShards::read(leadership, &all, PATIENCE).await?;
    let mut returning = Returning::new(leadership);
    let (most, mut is_full, mut follow_at) = (context.settings.batch_events, false, None);
    loop {
        if let Some(folded) = targets.lowest() {
            leadership.progress.folded.send_replace(folded);
        }
        returning.look_for_missing(&mut targets);
        let until = follow_at.unwrap_or_else(|| ticks::next(WAIT));
        let is_changed = tokio::select! {
            is_changed = reader.changed(targets.done(), until) => is_changed,
            found = returning.next() => {
                targets.include(found?);
                continue;
            }
        };
        if is_changed && !is_full {
            context.folds.turn().await;
        }
        let entries = reader.read(targets.done(), most).await?;
        is_full = entries.len() == most;
        if !entries.is_empty() {
            targets.are_confirmed_in(reader.confirmed_in());
            fold_entries(leadership, &mut targets, &entries, is_full).await?;
        } else if !targets.is_any_behind() {
            targets.read_again(leadership).await?;
        }
        if follow_at.is_some_and(|at| at <= Instant::now()) {
            follow(leadership, &mut targets).await?;
            follow_at = None;
        }
        follow_at = targets.is_any_behind().then(|| follow_at.unwrap_or_else(|| ticks::next(FOLLOW)));
        streak.succeeded();
    }
}

/// Folds entries into the targets that they touch. A full batch is folded alone: a script must not run for long.
async fn fold_entries(
    leadership: &Leadership,
    targets: &mut TargetShards,
    entries: &[Entry],
    is_full: bool,
) -> StoreResult<()> {
    let Some(last) = entries.last() else { return Ok(()) };
    let (began, after) = (Instant::now(), targets.done());
    leadership.context.status.record_log_end(leadership.lease.shard, last.offset);
    let batches = targets.touched(entries);
    if apply(leadership, targets, batches, last.offset, is_full).await? {
        targets.touched_targets_are_at(last.offset);
        batch_done(Stage::Fold, leadership.lease.shard, after, entries, began);
    }
    Ok(())
}

/// Moves the targets that no batch touched.
async fn follow(leadership: &Leadership, targets: &mut TargetShards) -> StoreResult<()> {
    let (batches, to) = (targets.following(), targets.done());
    apply(leadership, targets, batches, to, false).await.map(drop)
}
