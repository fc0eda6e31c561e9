//! What a batch writes, and in which order: this file reads as the transaction. Each concern has a file of its own.
//!
//! 1. `batch`: the offsets of the logs. A former owner is refused before it has written anything.
//! 2. The removal lock, shared: nobody is hidden or removed until the commit.
//! 3. `dead`: dead events of edges that are switched now are superseded.
//! 4. `rows`: the rows of edges, which say how totals move; `imported` and `erased` explain where they did not change
//!    as their flips say.
//! 5. `totals`: the totals, in the order of the catalogue; `notify`: the entries of inboxes.
//! 6. `activity`: the flips, with the totals after them.
//! 7. `stream`: the events, which the commit writes.
//! 8. Invalidations of what moved otherwise than Redis has counted.
//!
//! Locks are taken in this order by everybody, and within each step in the order of ids: so batches wait for each
//! other, and for removals, without a deadlock.

use super::{
    activity,
    batch::{self, ShardBatch},
    dead,
    mismatch::Moved,
    plan::{BatchPlan, mismatches},
    rows::{self, SwitchedRows},
    stream, totals,
};
use crate::leadership::Context;
use plaudit_catalogue::{
    event_log::{Entry, sum},
    primitives::{
        Offset,
        fault::{self, Point},
    },
};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        counting::{activity::ensure_activity_days, invalidations},
        ownership::shards::{self, Lease},
    },
};

/// Persists the entries after `from` and advances the log's offset. Returns the new offset.
///
/// # Errors
/// As [`write_batches`].
pub async fn write_batch(
    context: &Context,
    lease: Lease,
    from: Offset,
    entries: &[Entry],
) -> StoreResult<Offset> {
    let Some(last) = entries.last() else { return Ok(from) };
    write_batches(context, &[ShardBatch { lease, from, entries }]).await?;
    Ok(last.offset)
}

/// Persists batches of several shards, in the order of the shards, in one transaction.
///
/// # Errors
/// [`plaudit_store::StoreError::Fenced`] when a shard has a newer owner or its offset is not `from`;
/// [`plaudit_store::StoreError::Refused`] when one of the entries breaks a rule of the tables. After any
/// other error the commit may or may not have happened: the offset in PostgreSQL decides.
pub async fn write_batches(context: &Context, batches: &[ShardBatch<'_>]) -> StoreResult<()> {
    let entries = || batches.iter().flat_map(|batch| batch.entries);
    let (db, steps, plan) = (&context.db, batch::steps(batches)?, BatchPlan::of(entries()));
    let keeps_activity = context.settings.keeps_activity();
    if keeps_activity {
        // Not in the transaction: a new partition locks the whole table for a moment.
        ensure_activity_days(db, &plan.days()).await?;
    }
    let mut tx = db.begin().await?;
    // First, because it locks the shards: two owners that have read the same entries do not both write them.
    let with_dead = shards::advance_offsets(&mut tx, &steps).await?;
    // Before the first row: rows are included by who is hidden and what is removed, and that holds until the commit.
    shards::lock_removals_shared(&mut tx).await?;
    // Before the rows: an operator who applies a dead event locks it, too, and then its row.
    dead::supersede(&mut tx, batches, &with_dead).await?;
    let moved = apply(&mut tx, &plan, keeps_activity).await?;
    dead::add_unreadable(&mut tx, batches, keeps_activity).await?;
    let by_events = sum(entries());
    let invalid = mismatches(&by_events, &moved.totals);
    let (shards, reason) = (context.redis.shards(), "rows moved differently than events");
    // In the transaction: Redis has counted by the events, and a process that dies now would leave it wrong.
    invalidations::add_count_invalidations(&mut tx, shards, &invalid, reason).await?;
    fault::reached(Point::BeforeCommit)?;
    tx.commit().await?;
    // After the commit: a batch that is rolled back is written again, and would be reported twice.
    moved.causes(&by_events, &invalid).report();
    dead::report_unreadable(batches);
    fault::reached(Point::AfterCommit)?;
    Ok(())
}

/// Writes rows, totals, inboxes, activity if it is enabled, and events; not the offset. Returns how totals moved.
pub async fn apply(tx: &mut Tx, plan: &BatchPlan<'_>, keeps_activity: bool) -> StoreResult<Moved> {
    // Rows first: whether a row changed, and is included, decides what totals, inboxes and events get.
    let SwitchedRows { mut moved, notices, erased, changed } = rows::switch(tx, plan).await?;
    totals::count_views(tx, plan, &mut moved).await?;
    let after = totals::add(tx, plan, &mut moved, &notices, keeps_activity).await?;
    if keeps_activity {
        // After the totals, whose locks keep the flips of a target in the order of their totals.
        activity::add(tx, plan, &after, &erased).await?;
    }
    stream::record(tx, plan, &changed, &erased, &notices);
    Ok(moved)
}
