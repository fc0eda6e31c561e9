//! From the log to counters and rows. Per shard one owner runs:
//!
//! - [`verify`]: is this Redis the one that was counted with? Nothing else runs before;
//! - [`fold`]: log → counters in Redis → hubs, exactly once;
//! - [`persist`]: log → rows and totals in PostgreSQL, exactly once;
//! - [`clean`]: what is persisted is no longer pending in Redis;
//! - [`stale_base`]: what moved in PostgreSQL otherwise is forgotten in Redis, and loaded anew;
//! - [`moderate`]: comments that wait are judged;
//! - [`settle`]: what a removal or a hiding leaves behind is settled page by page;
//! - [`hot`]: heat of notes, rebuilt from the history when Redis lost it;
//! - [`watch`]: renews the lease and notices that the ground has changed;
//! - [`heartbeat`], [`trim`] and [`lag`], which measures how far all that is behind;
//! - [`waiting`], for the whole installation: what waits for a decision is counted;
//! - [`reconcile`], for the whole installation: samples, and each night everything, are recounted;
//! - [`housekeeping`], for the whole installation: old history is dropped.
//!
//! [`dead`] is for operators: it applies or drops events that the persister gave up.

mod announcements;
mod clean;
pub mod dead;
mod fold;
mod heartbeat;
mod hot;
mod housekeeping;
mod lag;
mod moderate;
mod owner;
mod persist;
mod reconcile;
mod retry;
mod settle;
mod stale_base;
mod status;
mod targets;
mod tenure;
mod trim;
mod verify;
mod waiting;
mod watch;

use std::{sync::Arc, time::Duration};

use chrono::NaiveTime;
use tokio::{sync::Notify, task::JoinSet};
use tokio_util::sync::CancellationToken;

use persist::Pace;
pub use status::Status;

use crate::{
    moderation::Moderator,
    store::{
        redis::Redis,
        sql::{Channel, Db},
    },
};

/// How the pipeline works; see the settings of the same names.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who owns: a process that comes back under the same name takes its own shards at once.
    pub owner: String,
    /// How long an owner may be silent before another one may take over.
    pub lease: Duration,
    /// Most events in a batch; the persister takes more while it is behind.
    pub batch_events: usize,
    /// Most events that this process persists per second.
    pub persist_rate: u32,
    /// How long the persister waits for a batch to fill.
    pub batch_wait: Duration,
    /// Replicas that must have an event before it is counted.
    pub replicas: u32,
    /// Share of Redis' memory that all logs may take together, in percent.
    pub log_share: u32,
    /// Whether the history is kept.
    pub activity: bool,
    /// How long it is kept.
    pub activity_retention: Duration,
    /// Entities that are reconciled each second in the background; 0 for none.
    pub reconcile_sample: u32,
    /// When everything is reconciled each night, UTC; `None`: never.
    pub reconcile_at: Option<NaiveTime>,
    /// Who judges comments.
    pub moderator: Moderator,
    /// How long the moderator may take for its turn, and as long again for a judgement.
    pub moderator_timeout: Duration,
    /// How long the first pause is between two tries to have a comment judged.
    pub moderator_retry: Duration,
    /// How long a shutdown waits for what is pending to be persisted.
    pub drain: Duration,
}

/// Everything that the owners of all shards share.
#[derive(Clone)]
struct Context {
    redis: Redis,
    db: Db,
    settings: Arc<Settings>,
    status: Status,
    /// Bounds what is persisted.
    pace: Arc<Pace>,
    /// Rings when lines were written to `stale_base`.
    stale: Arc<Notify>,
    /// Rings when comments were queued.
    queued: Arc<Notify>,
}

/// Owns whatever shards it can get until `stop`, then persists what is pending and hands them over.
pub async fn run(redis: Redis, db: Db, settings: Settings, status: Status, stop: CancellationToken) {
    let (stale, queued) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let pace = Arc::new(Pace::new(settings.persist_rate, settings.batch_events));
    // Outages are waited out here, so no call is refused beforehand.
    let (redis, settings) = (redis.patient(), Arc::new(settings));
    let context = Context { redis, db, settings, status, pace, stale, queued };
    let mut listening = JoinSet::new();
    for (channel, bell) in [(Channel::Corrections, &context.stale), (Channel::CommentQueue, &context.queued)]
    {
        listening.spawn(announcements::listen(context.db.clone(), channel, Arc::clone(bell)));
    }
    let mut owners = JoinSet::new();
    for shard in context.redis.shards().all() {
        owners.spawn(owner::run(context.clone(), shard, stop.clone()));
    }
    owners.join_all().await;
}
