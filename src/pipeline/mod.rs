//! From the log to counters and rows. Each shard is led by one process, which runs its parts:
//!
//! - [`ownership`]: takes a shard's lease, recovers the shard, and watches over the leadership;
//! - [`counting`]: moves the log into Redis and PostgreSQL, each event exactly once;
//! - [`jobs`]: invalidations, backfills, moderation, reconciliation and others;
//! - [`leadership`]: what all these share.
//!
//! [`dead`] is for operators: it applies or drops events that the persister gave up.

mod counting;
pub mod dead;
mod jobs;
mod leadership;
mod ownership;

use std::sync::Arc;

use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

use leadership::{Context, Pace};
pub use leadership::{PipelineSetup, Status};

use crate::store::{
    redis::Redis,
    sql::{Channel, Db},
};

/// Owns whatever shards it can get until `stop`, then persists what is pending and hands them over.
pub async fn run(redis: Redis, db: Db, setup: PipelineSetup, status: Status, stop: CancellationToken) {
    let (stale, queued) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let PipelineSetup { owner, moderator, moderation, settings } = setup;
    let pace = Arc::new(Pace::new(settings.persist_rate, settings.batch_events));
    // Outages are waited out here, so no call is refused beforehand.
    let redis = redis.patient();
    let (owner, moderation, settings) = (owner.into(), Arc::new(moderation), Arc::new(settings));
    let context = Context { redis, db, owner, moderator, moderation, settings, status, pace, stale, queued };
    let mut listening = JoinSet::new();
    for (channel, bell) in
        [(Channel::Invalidations, &context.stale), (Channel::CommentQueue, &context.queued)]
    {
        listening.spawn(jobs::announcements::listen(context.db.clone(), channel, Arc::clone(bell)));
    }
    let mut owners = JoinSet::new();
    for shard in context.redis.shards().all() {
        owners.spawn(ownership::owner::run(context.clone(), shard, stop.clone()));
    }
    owners.join_all().await;
}
