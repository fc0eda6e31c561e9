//! Context of the leaderships of all shards in a process: stores, settings and signals.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use plaudit_moderation::Moderator;
use tokio::sync::Notify;

use super::{
    led_shards::LedShards,
    persist_rate::PersistRateLimit,
    setup::{PipelineSetup, ProcessName},
    shard_group::ShardGroup,
    status::PipelineStatus,
};
use plaudit_catalogue::{
    event_log::Entry,
    primitives::{Background, Offset, ShardId},
    settings::{ModerationSettings, PipelineSettings, WebhookSettings},
};
use plaudit_store::{
    StoreResult,
    redis::{Batch, Redis, RedisIdentity, TargetPosition},
    sql::{
        Db,
        counting::dead::LogSpan,
        ownership::shards::{Lease, PersistedState},
    },
};

/// Time between two folds of a shard that is busy: the longest delay that gathering adds to a count.
const FOLD_EVERY: Duration = Duration::from_millis(8);
/// Folds of the process that begin in that time without waiting: at low load a like need not wait for others.
const FOLDS_AT_ONCE: u32 = 2;
/// How long a fold waits for folds of other shards.
const GATHER_FOLDS: Duration = Duration::from_millis(1);
/// Time between two transactions of a shard that is busy.
const COMMIT_EVERY: Duration = Duration::from_millis(200);
/// How long a transaction waits for batches of other shards.
const GATHER_COMMITS: Duration = Duration::from_millis(5);
/// Time between two retirements of a shard that is busy: nobody waits for one, and a longer batch shares more actors.
const RETIRE_EVERY: Duration = Duration::from_millis(500);
/// How long a statement that reads waits for statements of other shards.
const GATHER_READS: Duration = Duration::from_millis(5);

/// The positions of a node's targets in one log.
type Positions = StoreResult<Vec<TargetPosition>>;

/// Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub redis: Redis,
    pub db: Db,
    pub process: Arc<ProcessName>,
    /// Judges comments.
    pub moderator: Moderator,
    pub moderation: Arc<ModerationSettings>,
    pub settings: Arc<PipelineSettings>,
    pub webhook: Arc<WebhookSettings>,
    pub status: PipelineStatus,
    /// The shards that this process leads.
    pub led: LedShards,
    /// One bound for all shards of the process.
    pub persist_rate: Arc<PersistRateLimit>,
    /// Signalled when PostgreSQL announces invalidations.
    pub invalidations_announced: Arc<Notify>,
    /// Signalled when PostgreSQL announces that a process came or went, or released a shard.
    pub shards_announced: Arc<Notify>,
    /// Signalled when PostgreSQL announces texts that wait for moderation.
    pub texts_queued: Arc<Notify>,
    /// Batches of all shards of the process that wait to be folded together, by the node that has their targets.
    pub folds: Arc<ShardGroup<Arc<[Batch]>, (), ShardId>>,
    /// Batches of all shards of the process that wait to be written together.
    pub commits: Arc<ShardGroup<WaitingCommit>>,
    /// Parts of logs that are about to be retired, and the dead events in each.
    pub retirements: Arc<ShardGroup<LogSpan, BTreeSet<Offset>>>,
    /// Sources that wait for the positions of their targets, by the shards of the node that has these: all get the
    /// positions of the same targets.
    pub positions: Arc<ShardGroup<ShardId, Positions, Arc<[ShardId]>>>,
    /// Shards whose Redis is to be asked for its identity, by the shards of the node that has them.
    pub identities: Arc<ShardGroup<ShardId, StoreResult<RedisIdentity>, Arc<[ShardId]>>>,
    /// Leases that wait for their renewal, and PostgreSQL's state at that moment if they were renewed.
    pub renewals: Arc<ShardGroup<Lease, StoreResult<Option<Arc<PersistedState>>>>>,
    /// Work that may outlive the leadership that began it.
    pub background: Background,
}

impl Context {
    pub fn new(redis: Redis, db: Db, setup: PipelineSetup, status: PipelineStatus) -> Self {
        let PipelineSetup { process, moderator, moderation, settings, webhook } = setup;
        Self {
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
            identities: ShardGroup::new(COMMIT_EVERY, 1, GATHER_READS),
            renewals: ShardGroup::new(COMMIT_EVERY, 1, GATHER_READS),
            background: Background::default(),
        }
    }
}

/// Entries of one shard's log after `from`, for the transaction of its owner.
pub struct WaitingCommit {
    pub lease: Lease,
    pub from: Offset,
    pub entries: Arc<[Entry]>,
}
