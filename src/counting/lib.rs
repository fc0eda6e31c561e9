//! From the event log to counters and rows, and to the counts that clients see. Each shard of the log is led by one
//! process, which runs its parts:
//!
//! - [`ownership`]: takes a shard's lease, recovers the shard, and watches over the leadership;
//! - [`pipeline`]: moves the log into Redis and PostgreSQL, each event exactly once;
//! - [`jobs`]: invalidations, backfills, moderation, reconciliation and others;
//! - [`leadership`]: what these parts share.
//!
//! [`reshard`] changes the number of shards. [`dead`] lets operators apply or drop events that PostgreSQL refused.
//! [`hub`] has live counts in every process; [`reconcile`] recounts from rows, compares both stores, repairs.

pub mod dead;
pub mod hub;
mod jobs;
mod leadership;
mod ownership;
mod pipeline;
pub mod reconcile;
pub mod reshard;

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use leadership::{Context, LedShards, PersistRateLimit, ShardGroup};
pub use leadership::{PipelineSetup, PipelineStatus, ProcessName};
pub use pipeline::persist::{Moved, Notices};

use plaudit_catalogue::primitives::Background;
use plaudit_store::{
    redis::Redis,
    sql::{Db, connection::announcements::Channel},
};

/// Time between two folds of a shard that is busy: the longest delay that gathering adds to a count.
const FOLD_EVERY: Duration = Duration::from_millis(8);
/// Folds of the process that begin in that time without waiting: at low load a like need not wait for others.
const FOLDS_AT_ONCE: u32 = 2;
/// How long a fold waits for those of other shards.
const GATHER_FOLDS: Duration = Duration::from_millis(1);
/// Time between two transactions of a shard that is busy.
const COMMIT_EVERY: Duration = Duration::from_millis(200);
/// How long a transaction waits for batches of other shards.
const GATHER_COMMITS: Duration = Duration::from_millis(5);
/// Time between two retirements of a shard that is busy: nobody waits for one, and a longer batch shares more actors.
const RETIRE_EVERY: Duration = Duration::from_millis(500);
/// How long a statement that reads waits for those of other shards.
const GATHER_READS: Duration = Duration::from_millis(5);

/// Leads this process's share of the shards until `stop`. Then it persists pending events and hands the shards over.
pub async fn run(
    redis: Redis,
    db: Db,
    setup: PipelineSetup,
    status: PipelineStatus,
    stop: CancellationToken,
) {
    let context = context(redis, db, setup, status);
    let wakes = vec![
        (Channel::Invalidations, Arc::clone(&context.invalidations_announced)),
        (Channel::ReviewQueue, Arc::clone(&context.texts_queued)),
        (Channel::Shards, Arc::clone(&context.shards_announced)),
    ];
    let listening = tokio::spawn(jobs::announcements::listen(context.db.clone(), wakes));
    ownership::sharing::run(context.clone(), stop).await;
    listening.abort();
    context.background.end().await;
}

fn context(redis: Redis, db: Db, setup: PipelineSetup, status: PipelineStatus) -> Context {
    let PipelineSetup { process, moderator, moderation, settings, webhook } = setup;
    Context {
        // Calls wait for outages to end, so none is refused beforehand.
        redis: redis.patient(),
        db,
        process: process.into(),
        moderator,
        moderation: Arc::new(moderation),
        persist_rate: Arc::new(PersistRateLimit::new(settings.persist_rate, settings.batch_events)),
        settings: Arc::new(settings),
        webhook: Arc::new(webhook),
        status,
        led: LedShards::default(),
        invalidations_announced: Arc::default(),
        shards_announced: Arc::default(),
        texts_queued: Arc::default(),
        folds: ShardGroup::new(FOLD_EVERY, FOLDS_AT_ONCE, GATHER_FOLDS),
        commits: ShardGroup::new(COMMIT_EVERY, 1, GATHER_COMMITS),
        retirements: ShardGroup::new(RETIRE_EVERY, 1, GATHER_READS),
        positions: ShardGroup::new(FOLD_EVERY, 1, GATHER_FOLDS),
        histories: ShardGroup::new(COMMIT_EVERY, 1, GATHER_READS),
        renewals: ShardGroup::new(COMMIT_EVERY, 1, GATHER_READS),
        background: Background::default(),
    }
}
