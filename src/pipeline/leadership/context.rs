//! Context of the leaderships of all shards in a process: stores, settings and signals.

use std::sync::Arc;

use plaudit_moderation::Moderator;
use tokio::sync::Notify;

use super::{
    led_shards::LedShards, persist_rate::PersistRateLimit, setup::ProcessName, shard_group::ShardGroup,
    status::PipelineStatus,
};
use crate::{
    event_log::Entry,
    primitives::{Background, Offset},
    settings::{ModerationSettings, PipelineSettings, WebhookSettings},
    store::{
        redis::{Batch, Redis},
        sql::{Db, shards::Lease},
    },
};

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
    /// Batches of all shards of the process that wait to be folded together.
    pub folds: Arc<ShardGroup<Arc<[Batch]>>>,
    /// Batches of all shards of the process that wait to be written together.
    pub commits: Arc<ShardGroup<WaitingCommit>>,
    /// Work that may outlive the leadership that began it.
    pub background: Background,
}

/// Entries of one shard's log after `from`, for the transaction of its owner.
pub struct WaitingCommit {
    pub lease: Lease,
    pub from: Offset,
    pub entries: Arc<[Entry]>,
}
