//! Dead events: events that PostgreSQL refuses or this release cannot read are set aside, so that their shard goes on.

use std::slice;

use metrics::counter;

use super::{
    batch::{self, ShardBatch},
    plan::mismatches,
};
use crate::leadership::Context;
use plaudit_catalogue::{
    Deltas, Flip,
    event_log::{Entry, Event, sum},
    primitives::{
        Offset, ShardId,
        fault::{self, Point},
    },
};
use plaudit_store::{
    SqlRefusal, StoreResult,
    sql::{
        Tx,
        counting::{
            dead::{self, GivenUp},
            invalidations,
        },
        ownership::shards::{self, Lease},
    },
};

/// Marks the dead events of the edges that these batches switch as superseded. `with_dead`: the shards that have some.
pub async fn supersede(tx: &mut Tx, batches: &[ShardBatch<'_>], with_dead: &[ShardId]) -> StoreResult<()> {
    for batch in batches.iter().filter(|batch| with_dead.contains(&batch.lease.shard)) {
        let flips: Vec<&Flip> = batch.entries.iter().filter_map(Entry::flip).collect();
        let Some(last) = batch.entries.last() else { continue };
        dead::supersede_dead_events(tx, batch.lease.shard, &flips, last.offset).await?;
    }
    Ok(())
}

/// Sets the events aside that this release cannot read: another one may.
pub async fn add_unreadable(tx: &mut Tx, batches: &[ShardBatch<'_>], history: bool) -> StoreResult<()> {
    for batch in batches {
        for entry in unreadable(batch) {
            let given_up = GivenUp { error: None, tries: 1, history };
            dead::add_dead_event(tx, batch.lease.shard, entry, given_up).await?;
        }
    }
    Ok(())
}

/// Logs the dead events that were committed.
pub fn report_unreadable(batches: &[ShardBatch<'_>]) {
    for batch in batches {
        if let Some(first) = unreadable(batch).next() {
            let (shard, events, first) = (batch.lease.shard.0, unreadable(batch).count(), first.offset);
            tracing::error!(shard, events, %first, "events cannot be read; see: plaudit dead list");
            count(batch.lease, events);
        }
    }
}

fn unreadable<'a>(batch: &ShardBatch<'a>) -> impl Iterator<Item = &'a Entry> + use<'a> {
    batch.entries.iter().filter(|entry| matches!(entry.event, Event::Unreadable(_)))
}

/// Makes an event that PostgreSQL refuses a dead event, and advances the log's offset past it. Redis has counted
/// the event, so its entities are invalidated. Returns the new offset.
///
/// # Errors
/// As `write::write_batch`.
pub async fn make_dead(
    context: &Context,
    lease: Lease,
    from: Offset,
    entry: &Entry,
    refusal: &SqlRefusal,
    tries: u32,
) -> StoreResult<Offset> {
    let db = &context.db;
    let error = refusal.to_string();
    let given_up = GivenUp { error: Some(&error), tries, history: context.settings.keeps_activity() };
    // In one transaction with the offset: the event is dead or still to be written, and never both.
    let batch = ShardBatch { lease, from, entries: slice::from_ref(entry) };
    let mut tx = db.begin().await?;
    shards::advance_offsets(&mut tx, &batch::steps(&[batch])?).await?;
    dead::add_dead_event(&mut tx, lease.shard, entry, given_up).await?;
    let invalid = mismatches(&sum([entry]), &Deltas::new());
    invalidations::add_count_invalidations(&mut tx, context.redis.shards(), &invalid, "dead event").await?;
    fault::reached(Point::BeforeCommit)?;
    tx.commit().await?;
    fault::reached(Point::AfterCommit)?;
    count(lease, 1);
    Ok(entry.offset)
}

fn count(lease: Lease, events: usize) {
    counter!("plaudit_dead_events_total", "shard" => lease.shard.to_string()).increment(events as u64);
}
