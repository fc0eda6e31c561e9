//! Retirement: flips leave the pending overlay of their actors after they are folded and persisted. It reads the log
//! by itself, so that a new owner continues exactly where the last one stopped.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::heat::PendingHeat;
use crate::leadership::{
    Leadership,
    retry::{FailureStreak, repeat_with},
};
use plaudit_catalogue::{
    Flip,
    event_log::Entry,
    primitives::{
        Offset,
        fault::{self, Point},
    },
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{
        log::{reading, recovery},
        members::sets,
    },
    sql::counting::dead::{self, LogSpan},
};

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
    let reader = reading::log_reader(redis, lease.shard, 0);
    let meta = recovery::shard_meta(redis, lease.shard).await?.ok_or(StoreError::NotRecovered)?;
    let mut from = meta.members_retired.ok_or(StoreError::NotRecovered)?;
    let usual = leadership.context.settings.batch_events;
    let (mut size, mut is_full) = (usual, false);
    let mut heat = PendingHeat::begin(leadership, &reader, from).await?;
    loop {
        leadership.progress.retired.send_replace(from);
        heat.add_if_due(leadership, &reader).await?;
        let next = folded_and_persisted_beyond(leadership, from);
        let Ok(()) = tokio::time::timeout(heat.due_in().unwrap_or(WAIT), next).await else { continue };
        if !is_full {
            leadership.context.retirements.turn().await;
        }
        let goal = folded_and_persisted(leadership);
        let entries = reader.range(from, goal, size).await?;
        is_full = entries.len() == size;
        size = if is_full { (2 * size).min(MAX_EVENTS.max(usual)) } else { usual };
        let to = entries.last().map_or(goal, |last| last.offset);
        let dead = dead_in(leadership, LogSpan { shard: lease.shard, from, to }).await?;
        let with_fate = |entry: &Entry| entry.flip().map(|flip| (*flip, dead.contains(&entry.offset)));
        let flips: Vec<(Flip, bool)> = entries.iter().filter_map(with_fate).collect();
        fault::reached(Point::BeforeRetire)?;
        sets::retire_members(redis, lease.shard, lease.fence, to, &flips).await?;
        heat.take(&entries);
        from = to;
        streak.succeeded();
    }
}

/// The dead events of a part of the log, read in one statement for all shards of the process that ask. From the table,
/// not from the persister's memory: another process may have persisted these events.
async fn dead_in(leadership: &Leadership, span: LogSpan) -> StoreResult<BTreeSet<Offset>> {
    let (context, db) = (&leadership.context, leadership.context.db.clone());
    let work = |spans: Vec<LogSpan>| async move { dead::dead_in(&db, &spans).await.unwrap_or_default() };
    match context.retirements.together(&context.background, (), span, work).await {
        Some(dead) => Ok(dead),
        None => Ok(dead::dead_in(&context.db, &[span]).await?.pop().unwrap_or_default()),
    }
}

/// The last event that is both folded and persisted.
fn folded_and_persisted(leadership: &Leadership) -> Offset {
    (*leadership.progress.folded.borrow()).min(*leadership.progress.persisted.borrow())
}

/// Waits until an event after `from` is both folded and persisted.
async fn folded_and_persisted_beyond(leadership: &Leadership, from: Offset) {
    let mut folded = leadership.progress.folded.subscribe();
    let mut persisted = leadership.progress.persisted.subscribe();
    loop {
        folded.mark_unchanged();
        persisted.mark_unchanged();
        if folded_and_persisted(leadership) > from {
            return;
        }
        tokio::select! {
            _ = folded.changed() => {}
            _ = persisted.changed() => {}
        }
    }
}
