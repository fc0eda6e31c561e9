//! Ownership of one shard: take it, verify it, work until something ends that, begin again.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{heartbeat, recovery, watch};
use crate::{
    pipeline::{
        counting::{fold, persist, retire, trim},
        jobs::{backfill, housekeeping, invalidations, lag, moderation, rankings, reconcile, waiting},
        leadership::{
            Context, Leadership, Progress,
            retry::{self, FailureStreak},
        },
    },
    primitives::{
        ShardId,
        fault::{self, Point},
    },
    store::{StoreError, StoreResult, sql::Lease},
};

/// How often a process that does not own a shard looks whether it may.
const LOOK: Duration = Duration::from_millis(500);
/// How long a stop waits for PostgreSQL to take a shard back.
const HAND_OVER: Duration = Duration::from_secs(2);
/// Until the next leadership after one that ended for a good reason.
const MOMENT: Duration = Duration::from_millis(10);
/// A leadership that lasts so long works.
const STEADY: Duration = Duration::from_secs(10);

/// Owns the shard whenever it can, until `stop`.
pub async fn run(context: Context, shard: ShardId, stop: CancellationToken) {
    for total in ["plaudit_lost_events_total", "plaudit_dead_events_total", "plaudit_persist_retries_total"] {
        metrics::counter!(total, "shard" => shard.to_string()).increment(0); // they may stay so
    }
    let streak = FailureStreak::new(shard, "own");
    while !stop.is_cancelled() {
        // In a task of its own, so that a panic ends one leadership and not the shard.
        let again = streak.is_under_way();
        let mut leadership = tokio::spawn(serve(context.clone(), shard, stop.clone(), again));
        let ended = match tokio::time::timeout(STEADY, &mut leadership).await {
            Ok(ended) => ended,
            Err(_) => {
                streak.worked();
                leadership.await
            }
        };
        let delay = match ended.unwrap_or_else(|panic| Err(StoreError::Unexpected(panic.to_string()))) {
            Ok(()) => {
                streak.worked();
                MOMENT
            }
            Err(error) => streak.failed(&error).min(LOOK),
        };
        stop.run_until_cancelled(tokio::time::sleep(delay)).await;
    }
}

/// One leadership, if the shard is to be had. `Ok` after a leadership that ended for a good reason. `again`: the one
/// before failed.
async fn serve(context: Context, shard: ShardId, stop: CancellationToken, again: bool) -> StoreResult<()> {
    let settings = &context.settings;
    let Some(lease) = context.db.acquire_lease(shard, &context.owner, settings.lease).await? else {
        stop.run_until_cancelled(tokio::time::sleep(LOOK)).await;
        return Ok(());
    };
    fault::reached(Point::AtTakeover)?;
    let run = recovery::recover(&context, lease).await?;
    if !again {
        tracing::info!(shard = shard.0, fence = lease.fence, "owns the shard");
    }
    let leadership = Arc::new(Leadership {
        context: context.clone(),
        lease,
        run,
        progress: Progress::default(),
        back: Notify::new(),
    });
    let ended = work(&leadership, &stop).await;
    context.status.set_serving(shard, false);
    match ended {
        Some(error) => Err(error),
        None => hand_over(&context, lease).await,
    }
}

/// Gives the shard back. While PostgreSQL is away that is left to the lease's end.
async fn hand_over(context: &Context, lease: Lease) -> StoreResult<()> {
    let released = tokio::time::timeout(HAND_OVER, context.db.release_lease(lease));
    released
        .await
        .unwrap_or_else(|_| Err(StoreError::SqlUnreachable(format!("no answer within {HAND_OVER:?}"))))
}

/// Runs all parts until one of them cannot go on (its error), or until `stop` and what is pending is
/// persisted (`None`).
async fn work(leadership: &Arc<Leadership>, stop: &CancellationToken) -> Option<StoreError> {
    let mut parts = JoinSet::new();
    parts.spawn(fold::run(Arc::clone(leadership)));
    parts.spawn(persist::run(Arc::clone(leadership)));
    parts.spawn(retire::run(Arc::clone(leadership)));
    parts.spawn(invalidations::run(Arc::clone(leadership)));
    parts.spawn(moderation::run(Arc::clone(leadership)));
    parts.spawn(backfill::run(Arc::clone(leadership)));
    parts.spawn(rankings::run(Arc::clone(leadership)));
    parts.spawn(heartbeat::run(Arc::clone(leadership)));
    parts.spawn(housekeeping::run(Arc::clone(leadership)));
    parts.spawn(reconcile::run(Arc::clone(leadership)));
    parts.spawn(trim::run(Arc::clone(leadership)));
    parts.spawn(lag::run(Arc::clone(leadership)));
    parts.spawn(waiting::run(Arc::clone(leadership)));
    parts.spawn(watch::run(Arc::clone(leadership)));
    parts.spawn(serve_when_caught_up(Arc::clone(leadership)));
    tokio::select! {
        ended = parts.join_next() => Some(match ended {
            Some(Ok(error)) => error,
            Some(Err(panic)) => StoreError::Unexpected(panic.to_string()),
            None => StoreError::Unexpected("no part of the pipeline ran".into()),
        }),
        () = drained(leadership, stop) => None,
    }
}

/// Counts are what they were before the takeover once everything that was appended by then is folded: only
/// then the shard counts as served.
async fn serve_when_caught_up(leadership: Arc<Leadership>) -> StoreError {
    retry::keep_on(&leadership, "catch up", || async {
        let end = leadership.redis().log_end(leadership.lease.shard).await?.unwrap_or_default();
        let _ = leadership.progress.folded.subscribe().wait_for(|folded| *folded >= end).await;
        leadership.context.status.set_serving(leadership.lease.shard, true);
        std::future::pending().await
    })
    .await
}

/// Returns after `stop`, when all that was appended before is persisted and cleaned, or time is up (then
/// the next owner goes on from there: nothing is lost).
async fn drained(leadership: &Leadership, stop: &CancellationToken) {
    stop.cancelled().await;
    let drain = async {
        if let Ok(Some(end)) = leadership.redis().log_end(leadership.lease.shard).await {
            let _ = leadership.progress.cleaned.subscribe().wait_for(|cleaned| *cleaned >= end).await;
        }
    };
    if tokio::time::timeout(leadership.context.settings.shutdown_drain, drain).await.is_err() {
        tracing::warn!(
            shard = leadership.lease.shard.0,
            "stopped with pending events; the next start persists them"
        );
    }
}
