//! What all shards of a process share.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{pace::Pace, status::Status};
use plaudit_moderation::Moderator;

use crate::{
    settings::{ModerationSettings, PipelineSettings},
    store::{redis::Redis, sql::Db},
};

/// Everything that the owners of all shards share.
#[derive(Clone)]
pub struct Context {
    pub redis: Redis,
    pub db: Db,
    /// Under which name this process owns shards.
    pub owner: Arc<str>,
    /// Judges comments.
    pub moderator: Moderator,
    pub moderation: Arc<ModerationSettings>,
    pub settings: Arc<PipelineSettings>,
    pub status: Status,
    /// Bounds what is persisted.
    pub pace: Arc<Pace>,
    /// Rings when lines were written to `stale_base`.
    pub stale: Arc<Notify>,
    /// Rings when comments were queued.
    pub queued: Arc<Notify>,
}
