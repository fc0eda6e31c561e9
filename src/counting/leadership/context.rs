//! Context of the leaderships of all shards in a process: stores, settings and signals.

use std::{collections::BTreeSet, sync::Arc};

use plaudit_moderation::Moderator;
use tokio::sync::Notify;

use super::{
    led_shards::LedShards, persist_rate::PersistRateLimit, setup::ProcessName, shard_group::ShardGroup,
    status::PipelineStatus,
};
use plaudit_catalogue::{
    event_log::Entry,
    primitives::{Background, Offset, ShardId},
    settings::{ModerationSettings, PipelineSettings, WebhookSettings},
};
use plaudit_store::{
    StoreResult,
    redis::{Batch, Redis, RedisHistory, TargetPosition},
    sql::{
        Db,
        counting::dead::LogSpan,
        ownership::shards::{Lease, PersistedState},
    },
};

/// Those of the targets of a node in one log.
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
    /// Shards whose Redis is to be asked which history it continues, by the shards of the node that has them.
    pub histories: Arc<ShardGroup<ShardId, StoreResult<RedisHistory>, Arc<[ShardId]>>>,
    /// Leases that wait for their renewal, and PostgreSQL's state at that moment if they were renewed.
    pub renewals: Arc<ShardGroup<Lease, StoreResult<Option<Arc<PersistedState>>>>>,
    /// Work that may outlive the leadership that began it.
    pub background: Background,
}

/// Entries of one shard's log after `from`, for the transaction of its owner.
pub struct WaitingCommit {
    pub lease: Lease,
    pub from: Offset,
    pub entries: Arc<[Entry]>,
}
