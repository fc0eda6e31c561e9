//! Context of the leaderships of all shards in a process: stores, settings and signals.

use std::sync::Arc;

use parking_lot::Mutex;
use plaudit_moderation::Moderator;
use tokio::{sync::Notify, task::JoinSet};

use super::{commit_group::CommitGroup, persist_rate::PersistRateLimit, status::PipelineStatus};
use crate::{
    settings::{ModerationSettings, PipelineSettings},
    store::{redis::Redis, sql::Db},
};

/// Cheap to clone.
#[derive(Clone)]
pub struct Context {
    pub redis: Redis,
    pub db: Db,
    /// Name under which this process owns shards. After a restart with the same name it takes its shards back at
    /// once.
    pub owner: Arc<str>,
    /// Judges comments.
    pub moderator: Moderator,
    pub moderation: Arc<ModerationSettings>,
    pub settings: Arc<PipelineSettings>,
    pub status: PipelineStatus,
    /// One bound for all shards of the process.
    pub persist_rate: Arc<PersistRateLimit>,
    /// Signalled when PostgreSQL announces invalidations.
    pub invalidations_announced: Arc<Notify>,
    /// Signalled when PostgreSQL announces comments that wait for moderation.
    pub comments_queued: Arc<Notify>,
    /// Batches that wait to be written together, of all shards of the process.
    pub commit_group: Arc<CommitGroup>,
    /// Work that may outlive the leadership that began it. It ends with the pipeline.
    pub background: Arc<Mutex<JoinSet<()>>>,
}

impl Context {
    /// Runs work that may outlive this leadership.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut background = self.background.lock();
        while background.try_join_next().is_some() {}
        background.spawn(work);
    }
}
