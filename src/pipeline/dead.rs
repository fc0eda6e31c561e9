//! What operators do with dead events: apply one after its cause was mended, or drop it.
//!
//! A dead event is applied once: its state is checked under its lock, in the transaction that writes what it
//! does. Nothing here needs Redis: lines in `stale_base` tell it, also later.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};

use crate::{
    catalogue::Flip,
    event_log::{Entry, Event, Moves},
    pipeline::counting::persist::{Plan, apply, mismatches},
    primitives::ShardCount,
    store::{
        StoreError, StoreResult,
        sql::{self, Db, DeadEvent, DeadState, Tx},
    },
};

const REASON: &str = "a dead event was applied";
/// Tries when PostgreSQL is busy, or breaks a deadlock.
const TRIES: usize = 5;

/// What came of deciding a dead event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It is so now.
    Now(DeadState),
    /// It was decided before; nothing was done.
    Before(DeadState),
    /// PostgreSQL still refuses it.
    Refused(String),
    /// This release cannot read it either.
    Unreadable,
    /// There is none with that id.
    Unknown,
}

/// Applies an event as if it were persisted now, unless a later event of its edge was persisted meanwhile.
pub async fn retry(db: &Db, shards: ShardCount, serial: i64) -> StoreResult<Decision> {
    match patiently(|| try_to_apply(db, shards, serial)).await {
        Err(StoreError::Refused(refusal)) => {
            db.note_refusal(serial, &refusal.to_string()).await?;
            Ok(Decision::Refused(refusal.to_string()))
        }
        outcome => outcome,
    }
}

/// Gives an event up for good.
pub async fn discard(db: &Db, serial: i64) -> StoreResult<Decision> {
    patiently(|| async {
        let mut tx = db.begin().await?;
        match sql::lock_dead_event(db, &mut tx, serial).await? {
            None => Ok(Decision::Unknown),
            Some(event) if event.state != DeadState::Dead => Ok(Decision::Before(event.state)),
            Some(_) => decide(db, tx, serial, DeadState::Dropped).await,
        }
    })
    .await
}

async fn try_to_apply(db: &Db, shards: ShardCount, serial: i64) -> StoreResult<Decision> {
    // A partition locks the whole history for a moment, so it is made before the transaction.
    let Some(found) = db.dead_event(serial).await? else { return Ok(Decision::Unknown) };
    let entries = [Entry { offset: found.offset, event: found.event() }];
    let plan = Plan::of(&entries);
    if found.history && found.state == DeadState::Dead {
        db.ensure_activity_days(&plan.days()).await?;
    }

    // The order of locks is that of a batch: removals, dead events, rows, totals.
    let mut tx = db.begin().await?;
    sql::lock_removals_shared(db, &mut tx).await?;
    let Some(dead) = sql::lock_dead_event(db, &mut tx, serial).await? else { return Ok(Decision::Unknown) };
    if dead.state != DeadState::Dead {
        return Ok(Decision::Before(dead.state));
    }
    match &entries[0].event {
        Event::Unreadable(_) => return Ok(Decision::Unreadable),
        Event::Flip(flip) if is_past(db, &mut tx, &dead, flip).await? => {
            return decide(db, tx, serial, DeadState::Superseded).await;
        }
        Event::Flip(_) | Event::Views { .. } | Event::Genesis => {}
    }
    sql::supersede_dead_events(db, &mut tx, dead.shard, &plan.flips, dead.offset).await?;
    let moved = apply(db, &mut tx, &plan, dead.history).await?;
    let stale = mismatches(&Moves::new(), &moved);
    sql::add_invalidations(db, &mut tx, shards, &stale, REASON).await?;
    let sets: Vec<_> = plan.flips.iter().map(|flip| (flip.kind, flip.actor)).collect();
    sql::add_set_invalidations(db, &mut tx, shards, &sets, REASON).await?;
    decide(db, tx, serial, DeadState::Applied).await
}

/// Whether the edge was switched since. Batches mark the dead events of their edges; of one that could not be
/// read they did not know the edge, so there the row's time tells.
async fn is_past(db: &Db, tx: &mut Tx, dead: &DeadEvent, flip: &Flip) -> StoreResult<bool> {
    Ok(!dead.edge_is_known && sql::edge_changed_after(db, tx, flip).await?)
}

async fn decide(db: &Db, mut tx: Tx, serial: i64, state: DeadState) -> StoreResult<Decision> {
    sql::decide_dead_event(db, &mut tx, serial, state).await?;
    sql::commit(db, tx).await?;
    Ok(Decision::Now(state))
}

/// A commit of unknown outcome is settled by the state, which the next try reads.
async fn patiently<F>(work: impl FnMut() -> F) -> StoreResult<Decision>
where
    F: Future<Output = StoreResult<Decision>>,
{
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_max_times(TRIES)
        .with_jitter();
    work.retry(pauses).when(StoreError::is_transient).await
}
