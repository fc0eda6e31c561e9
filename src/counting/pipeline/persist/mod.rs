//! Persister: log → one PostgreSQL transaction per batch: edge rows, totals, inbox, activity and the log's
//! offset. Each event is persisted exactly once: after a failed transaction, or one of unknown outcome, the
//! persister continues at the offset that PostgreSQL has.
//!
//! - `size`: how many events are a batch; `group`: batches of several shards in one transaction; `isolate`: finds the
//!   events that PostgreSQL refuses
//! - `write`: the transaction, and the files of what it writes
//! - `plan`: what a batch is to write; `mismatch`: where rows moved otherwise than its events say

mod activity;
mod batch;
mod dead;
mod erased;
mod group;
mod imported;
mod isolate;
mod mismatch;
mod notify;
mod plan;
mod rows;
mod size;
mod stream;
mod totals;
mod write;

use std::{sync::Arc, time::Duration};

use metrics::{counter, histogram};
use plaudit_traces::Stage;
use tokio::time::Instant;

use super::traces::batch_done;
use crate::leadership::{
    Context, Leadership,
    retry::{FailureStreak, repeat_with},
    ticks,
};
pub use mismatch::{Moved, register as register_mismatches, shard_stops};
pub use notify::Notices;
pub use plan::{BatchPlan, mismatches};
use plaudit_catalogue::{event_log::Entry, primitives::Offset};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{LogReader, log::reading},
    sql::ownership::shards::{self, Lease},
};
use size::BatchSize;
pub use write::apply;

/// How often the log is read without new events.
const WAIT: Duration = Duration::from_secs(5);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "persist");
    let size = BatchSize::new(leadership.context.settings.batch_events);
    repeat_with(&leadership, &streak, || async {
        let ended = persist(&leadership, &streak, &size).await;
        if matches!(&ended, Err(error) if error.is_of_postgresql()) {
            size.failed();
            counter!("plaudit_persist_retries_total", "shard" => leadership.lease.shard.to_string())
                .increment(1);
        }
        ended
    })
    .await
}

/// Reads the persisted offset and persists from there until an error.
async fn persist(leadership: &Leadership, streak: &FailureStreak, size: &BatchSize) -> StoreResult<()> {
    let (context, lease) = (&leadership.context, leadership.lease);
    let mut reader = reading::log_reader(&context.redis, lease.shard, context.settings.redis_replicas);
    let (state, shard) = (shards::persisted_state(&context.db).await?, lease.shard.index());
    // From PostgreSQL and not from memory: after an error the last commit may or may not have happened.
    let mut at = state.offsets[shard];
    if let Some(digest) = state.digests[shard] {
        reader.go_on_after(at, digest);
    }
    let mut is_full = false;
    loop {
        leadership.progress.persisted.send_replace(at);
        if reader.changed(at, ticks::next(WAIT)).await && !is_full {
            context.commits.turn().await;
        }
        let full = size.get().min(context.settings.batch_events);
        let entries = next_batch(context, &mut reader, at, size.get(), full).await?;
        is_full = entries.len() >= full;
        if !entries.is_empty() {
            at = persist_batch(context, lease, at, entries, is_full, size).await?;
        }
        streak.succeeded();
    }
}

/// The next batch, of at most `max` events. One of `full` events waits for no more.
async fn next_batch(
    context: &Context,
    reader: &mut LogReader,
    from: Offset,
    max: usize,
    full: usize,
) -> StoreResult<Vec<Entry>> {
    let mut entries = reader.read(from, max).await?;
    if let Some(last) = entries.last().map(|last| last.offset)
        && entries.len() < full
    {
        tokio::time::sleep(context.settings.batch_wait).await;
        entries.extend(reader.read(last, max - entries.len()).await?);
    }
    Ok(entries)
}

/// Persists a batch: together with batches of other shards, unless it is full. Returns the new offset.
async fn persist_batch(
    context: &Context,
    lease: Lease,
    from: Offset,
    entries: Vec<Entry>,
    is_full: bool,
    size: &BatchSize,
) -> StoreResult<Offset> {
    context.persist_rate.wait_for(entries.len()).await;
    let (began, entries) = (Instant::now(), Arc::<[Entry]>::from(entries));
    // Full batches of several shards in one transaction would hold their locks for longer.
    let to = if is_full {
        isolate::write(context, lease, from, &entries).await?
    } else if group::write(context, lease, from, Arc::clone(&entries)).await {
        entries.last().map_or(from, |last| last.offset)
    } else {
        write_after_group(context, lease, from, &entries).await?
    };
    size.succeeded(entries.len(), began.elapsed());
    batch_done(Stage::Persist, lease.shard, from, &entries, began);
    let shard = lease.shard.to_string();
    histogram!("plaudit_persist_batch_seconds", "shard" => shard.clone()).record(began.elapsed());
    counter!("plaudit_persisted_events_total", "shard" => shard).increment(entries.len() as u64);
    Ok(to)
}

/// Writes entries whose group failed, unless it committed all the same.
async fn write_after_group(
    context: &Context,
    lease: Lease,
    from: Offset,
    entries: &[Entry],
) -> StoreResult<Offset> {
    let persisted = shards::persisted_state(&context.db).await?.offsets[lease.shard.index()];
    match entries.last() {
        Some(last) if last.offset == persisted => Ok(persisted),
        _ => isolate::write(context, lease, from, entries).await,
    }
}

/// Persists all entries after `from` that the log still has, even with gaps between them. Returns their number.
pub async fn persist_survivors(context: &Context, lease: Lease, mut from: Offset) -> StoreResult<usize> {
    let end = Offset::new(u64::MAX, u64::MAX);
    let reader = reading::log_reader(&context.redis, lease.shard, 0);
    let mut survivors = 0;
    loop {
        let entries = reader.survivors(from, end, context.settings.batch_events).await?;
        if entries.is_empty() {
            return Ok(survivors);
        }
        survivors += entries.len();
        from = isolate::write(context, lease, from, &entries).await?;
    }
}
