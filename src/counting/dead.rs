//! Dead events (dead letters): an operator applies one after its cause is removed, or drops it.
//!
//! A dead event is applied at most once: the transaction that writes its effects checks under a lock that it waits.
//! This needs no Redis: invalidations in PostgreSQL reach it later.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};

use crate::pipeline::persist::{BatchPlan, apply, mismatches};
use plaudit_catalogue::{
    Deltas, Flip,
    event_log::{Entry, Event},
};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{
        Db, Tx,
        counting::{
            activity,
            dead::{self, DeadEvent},
            invalidations,
        },
        ownership::{installation, shards},
    },
};

const REASON: &str = "a dead event was applied";
/// Attempts when PostgreSQL is busy, or breaks a deadlock.
const ATTEMPTS: usize = 5;

/// Result of an operator's decision on a dead event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeadEventDecision {
    Applied,
    Dropped,
    /// A later event of its edge was persisted, so it is not applied.
    Superseded,
    /// The event was decided before; nothing was done.
    MadeBefore,
    /// PostgreSQL still refuses it.
    Refused(String),
    /// This release cannot read it either.
    Unreadable,
    /// No event has this id.
    Unknown,
}

/// Applies an event as if it were persisted now, unless a later event of its edge has been persisted.
pub async fn retry(db: &Db, serial: i64) -> StoreResult<DeadEventDecision> {
    match with_retries(|| try_to_apply(db, serial)).await {
        Err(StoreError::Refused(refusal)) => Ok(DeadEventDecision::Refused(refusal.to_string())),
        outcome => outcome,
    }
}

/// Drops an event for good.
pub async fn discard(db: &Db, serial: i64) -> StoreResult<DeadEventDecision> {
    with_retries(|| async {
        let mut tx = db.begin().await?;
        match dead::lock_dead_event(&mut tx, serial).await? {
            None => Ok(DeadEventDecision::Unknown),
            Some(event) if event.is_decided => Ok(DeadEventDecision::MadeBefore),
            Some(_) => decide(tx, serial, DeadEventDecision::Dropped).await,
        }
    })
    .await
}

async fn try_to_apply(db: &Db, serial: i64) -> StoreResult<DeadEventDecision> {
    let (Some(shards), Some(dead_event)) =
        (installation::shard_count(db).await?, dead::dead_event(db, serial).await?)
    else {
        return Ok(DeadEventDecision::Unknown);
    };
    // Creating a partition locks the whole table for a moment, so it happens before the transaction.
    let entries = [Entry::read(dead_event.offset, &dead_event.payload)];
    let plan = BatchPlan::of(&entries);
    if dead_event.history && !dead_event.is_decided {
        activity::ensure_activity_days(db, &plan.days()).await?;
    }

    // The same lock order as a batch: removals, dead events, rows, totals.
    let mut tx = db.begin().await?;
    shards::lock_removals_shared(&mut tx).await?;
    let Some(dead) = dead::lock_dead_event(&mut tx, serial).await? else {
        return Ok(DeadEventDecision::Unknown);
    };
    if dead.is_decided {
        return Ok(DeadEventDecision::MadeBefore);
    }
    match &entries[0].event {
        Event::Unreadable(_) => return Ok(DeadEventDecision::Unreadable),
        Event::Flip(flip) | Event::OffAgain(flip) if is_superseded(&mut tx, &dead, flip).await? => {
            return decide(tx, serial, DeadEventDecision::Superseded).await;
        }
        Event::Flip(_) | Event::OffAgain(_) | Event::Views { .. } | Event::Genesis => {}
    }
    dead::supersede_dead_events(&mut tx, dead.shard, &plan.flips, dead.offset).await?;
    let moved = apply(&mut tx, &plan, dead.history).await?;
    let invalid = mismatches(&Deltas::new(), &moved.totals);
    invalidations::add_count_invalidations(&mut tx, shards, &invalid, REASON).await?;
    let sets: Vec<_> = plan.flips.iter().map(|flip| (flip.kind, flip.actor)).collect();
    invalidations::add_set_invalidations(&mut tx, shards, &sets, REASON).await?;
    decide(tx, serial, DeadEventDecision::Applied).await
}

/// Whether a later event switched the edge. Batches decide the dead events of their edges. They do not know the
/// edge of an event that could not be read; there the row's time decides.
async fn is_superseded(tx: &mut Tx, dead: &DeadEvent, flip: &Flip) -> StoreResult<bool> {
    Ok(!dead.edge_is_known && dead::edge_changed_after(tx, flip).await?)
}

async fn decide(mut tx: Tx, serial: i64, as_made: DeadEventDecision) -> StoreResult<DeadEventDecision> {
    dead::decide_dead_event(&mut tx, serial).await?;
    tx.commit().await?;
    Ok(as_made)
}

/// Retries while PostgreSQL is busy. After a commit of unknown outcome the next attempt reads whether it is decided.
async fn with_retries<F>(work: impl FnMut() -> F) -> StoreResult<DeadEventDecision>
where
    F: Future<Output = StoreResult<DeadEventDecision>>,
{
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_max_times(ATTEMPTS)
        .with_jitter();
    work.retry(pauses).when(StoreError::is_transient).await
}
