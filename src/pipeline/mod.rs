//! Pipeline from the log to counters and rows. Each shard is led by one process, which runs its parts:
//!
//! - [`ownership`]: takes a shard's lease, recovers the shard, and watches over the leadership;
//! - [`counting`]: moves the log into Redis and PostgreSQL, each event exactly once;
//! - [`jobs`]: invalidations, backfills, moderation, reconciliation and others;
//! - [`leadership`]: what these parts share.
//!
//! [`reshard`] changes the number of shards. [`dead`] lets operators apply or drop events that PostgreSQL refused.

mod counting;
pub mod dead;
mod jobs;
mod leadership;
mod ownership;
pub mod reshard;

use std::{sync::Arc, time::Duration};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use counting::persist::{Moved, Notices};
use leadership::{Context, LedShards, PersistRateLimit, ShardGroup};
pub use leadership::{PipelineSetup, PipelineStatus};

use crate::{
    primitives::Background,
    store::{
        redis::Redis,
        sql::{Db, announcements::Channel},
    },
};

/// Time between two folds of a shard that is busy: the longest delay that gathering adds to a count.
const FOLD_EVERY: Duration = Duration::from_millis(8);
/// How long a fold waits for those of other shards.
const GATHER_FOLDS: Duration = Duration::from_millis(1);
/// Time between two transactions of a shard that is busy.
const COMMIT_EVERY: Duration = Duration::from_millis(200);
/// How long a transaction waits for batches of other shards.
const GATHER_COMMITS: Duration = Duration::from_millis(5);

/// Leads every shard whose lease it can get until `stop`. Then it persists pending events and hands the shards over.
pub async fn run(
    redis: Redis,
    db: Db,
    setup: PipelineSetup,
    status: PipelineStatus,
    stop: CancellationToken,
) {
    let context = context(redis, db, setup, status);
    let mut listeners = JoinSet::new();
    for (channel, wake) in [
        (Channel::Invalidations, &context.invalidations_announced),
        (Channel::ReviewQueue, &context.texts_queued),
    ] {
        listeners.spawn(jobs::announcements::listen(context.db.clone(), channel, Arc::clone(wake)));
    }
    let mut owners = JoinSet::new();
    for shard in context.redis.shards().all() {
        owners.spawn(ownership::owner::run(context.clone(), shard, stop.clone()));
    }
    owners.join_all().await;
    context.background.end().await;
}

fn context(redis: Redis, db: Db, setup: PipelineSetup, status: PipelineStatus) -> Context {
    let PipelineSetup { owner, moderator, moderation, settings, webhook } = setup;
    Context {
        // Calls wait for outages to end, so none is refused beforehand.
        redis: redis.patient(),
        db,
        owner: owner.into(),
        moderator,
        moderation: Arc::new(moderation),
        persist_rate: Arc::new(PersistRateLimit::new(settings.persist_rate, settings.batch_events)),
        settings: Arc::new(settings),
        webhook: Arc::new(webhook),
        status,
        led: LedShards::default(),
        invalidations_announced: Arc::default(),
        texts_queued: Arc::default(),
        folds: ShardGroup::new(FOLD_EVERY, GATHER_FOLDS),
        commits: ShardGroup::new(COMMIT_EVERY, GATHER_COMMITS),
        background: Background::default(),
    }
}
