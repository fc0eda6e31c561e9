//! Leader of one shard: takes the lease, recovers the shard, and runs its parts until the leadership ends.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{heartbeat, recovery, watch};
use crate::{
    jobs::{
        backfill, hot_notes, housekeeping, invalidations, moderation, rankings, reconcile, rehoming, waiting,
        webhook,
    },
    leadership::{
        Context, Leadership, LogProgress,
        retry::{self, FailureStreak},
    },
    pipeline::{fold, persist, retire, trim},
};
use plaudit_catalogue::primitives::{
    ShardId,
    fault::{self, Point},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::log::reading,
    sql::ownership::shards::{self, Lease},
};

/// The shard whose owner runs the singleton jobs.
const SINGLETON_SHARD: u16 = 0;
/// Longest pause between two attempts to lead a shard again.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long a stop waits for PostgreSQL to release a lease.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// A leadership that lasts this long ends a failure streak.
const STEADY: Duration = Duration::from_secs(10);

/// The parts of one leadership. Each runs until an error that ends the leadership.
type Parts = JoinSet<StoreError>;

/// What ends the leading of a shard.
#[derive(Clone)]
pub struct Ends {
    /// The process stops: pending events are persisted before.
    pub stop: CancellationToken,
    /// Another process is to lead the shard: it goes on from where this one is.
    pub release: CancellationToken,
}

impl Ends {
    fn is_due(&self) -> bool {
        self.stop.is_cancelled() || self.release.is_cancelled()
    }

    async fn due(&self) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.release.cancelled() => {}
        }
    }
}

/// How a leadership ended without an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Another process owns the shard.
    Taken,
    Released,
}

/// Leads the shard, one leadership after another, until it is to end or another process owns the shard.
pub async fn run(context: Context, shard: ShardId, ends: Ends) {
    let streak = FailureStreak::new(shard, "own");
    while !ends.is_due() {
        // In a task of its own, so that a panic ends one leadership and not the shard.
        let mut leadership = tokio::spawn(lead(context.clone(), shard, ends.clone(), streak.is_failing()));
        let ended = match tokio::time::timeout(STEADY, &mut leadership).await {
            Ok(ended) => ended,
            Err(_) => {
                streak.succeeded();
                leadership.await
            }
        };
        match ended.unwrap_or_else(|panic| Err(StoreError::Unexpected(panic.to_string()))) {
            Ok(Ended::Taken | Ended::Released) => return,
            Err(error) => {
                if matches!(error, StoreError::Broken(_) | StoreError::Unexpected(_)) {
                    persist::shard_stops();
                }
                let pause = streak.failed(&error).min(LONGEST_PAUSE);
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = ends.due() => {}
                }
            }
        }
    }
}

/// Registers the shard's counters at 0, so that the series exist before the first loss or mismatch.
pub fn register_counters(shard: ShardId) {
    for total in ["plaudit_lost_events_total", "plaudit_dead_events_total", "plaudit_persist_retries_total"] {
        metrics::counter!(total, "shard" => shard.to_string()).increment(0);
    }
    persist::register_mismatches();
}

/// Takes the lease if it is free, and serves the shard until the leadership ends. `is_retry`: the leadership before
/// failed, so the takeover is not logged again.
async fn lead(context: Context, shard: ShardId, ends: Ends, is_retry: bool) -> StoreResult<Ended> {
    let life = context.settings.lease;
    let Some(lease) = shards::acquire_lease(&context.db, shard, &context.process.owner, life).await? else {
        return Ok(Ended::Taken);
    };
    fault::reached(Point::AtTakeover)?;
    let (redis_identity, recovered) = recovery::recover(&context, lease).await?;
    if !is_retry {
        tracing::info!(shard = shard.0, fence = lease.fence, "this process owns the shard");
    }
    let leadership = Arc::new(Leadership {
        context: context.clone(),
        lease,
        redis_identity,
        recovered,
        progress: LogProgress::default(),
        stores_back: Notify::new(),
    });
    let _led = context.led.lead(shard);
    let failure = run_parts(&leadership, &ends).await;
    context.status.set_serving(shard, false);
    match failure {
        Some(error) => {
            if let StoreError::LogOverwritten { at } = error {
                context.status.record_overwritten(shard, at);
            }
            Err(error)
        }
        None => release(&context, lease).await.map(|()| Ended::Released),
    }
}

/// Spawns `run` of each module.
macro_rules! spawn {
    ($parts:ident, $leadership:ident: $($part:ident)+) => {
        $($parts.spawn($part::run(Arc::clone($leadership)));)+
    };
}

/// Runs all parts until one of them ends with an error (`Some`), or until the shard is to be released, at a
/// stop with all pending events persisted and retired (`None`).
async fn run_parts(leadership: &Arc<Leadership>, ends: &Ends) -> Option<StoreError> {
    let mut parts = Parts::new();
    // Move the log into Redis and PostgreSQL, and keep it within its bounds.
    spawn!(parts, leadership: fold persist retire trim);
    // Keep the lease, and show others that the shard is served.
    spawn!(parts, leadership: watch heartbeat);
    parts.spawn(serve_when_caught_up(Arc::clone(leadership)));
    spawn!(parts, leadership: rankings);
    // Work for all shards of the process in one leadership, and wait in the others.
    spawn!(parts, leadership: invalidations backfill);
    if leadership.lease.shard.0 == SINGLETON_SHARD {
        spawn!(parts, leadership: moderation reconcile housekeeping hot_notes rehoming waiting webhook);
    }
    tokio::select! {
        ended = parts.join_next() => Some(match ended {
            Some(Ok(error)) => error,
            Some(Err(panic)) => StoreError::Unexpected(panic.to_string()),
            None => StoreError::Unexpected("no part of the pipeline ran".into()),
        }),
        () = drained(leadership, &ends.stop) => None,
        // Without draining: the next owner goes on from the same offsets.
        () = ends.release.cancelled() => None,
    }
}

/// Reports the shard as served once everything that was in the log at the takeover is folded: from then on
/// counts are at least what they were before the takeover.
async fn serve_when_caught_up(leadership: Arc<Leadership>) -> StoreError {
    retry::repeat(&leadership, "catch up", || async {
        let end = reading::log_end(leadership.redis(), leadership.lease.shard).await?.unwrap_or_default();
        let _ = leadership.progress.folded.subscribe().wait_for(|folded| *folded >= end).await;
        leadership.context.status.set_serving(leadership.lease.shard, true);
        std::future::pending().await
    })
    .await
}

/// Returns after `stop`, when all events appended before it are persisted and retired, or when the time for
/// draining is up. Then the next owner persists the rest: nothing is lost.
async fn drained(leadership: &Leadership, stop: &CancellationToken) {
    stop.cancelled().await;
    let drain = async {
        if let Ok(Some(end)) = reading::log_end(leadership.redis(), leadership.lease.shard).await {
            let _ = leadership.progress.retired.subscribe().wait_for(|retired| *retired >= end).await;
        }
    };
    if tokio::time::timeout(leadership.context.settings.shutdown_drain, drain).await.is_err() {
        tracing::warn!(
            shard = leadership.lease.shard.0,
            "the owner stopped with pending events; the next start persists them"
        );
    }
}

/// Releases the lease, so that another process can take over at once. If PostgreSQL does not answer, the lease
/// expires by itself.
async fn release(context: &Context, lease: Lease) -> StoreResult<()> {
    fault::reached(Point::BeforeRelease)?;
    let released = tokio::time::timeout(RELEASE_TIMEOUT, shards::release_lease(&context.db, lease));
    released.await.unwrap_or_else(|_| {
        Err(StoreError::SqlUnreachable(format!("no answer within {RELEASE_TIMEOUT:?}")))
    })?;
    tracing::info!(shard = lease.shard.0, fence = lease.fence, "this process released the shard");
    Ok(())
}
