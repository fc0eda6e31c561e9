//! Which shards this process serves, for `/status`, and how far it has seen their logs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use plaudit_catalogue::primitives::{Offset, ShardCount, ShardId};
use plaudit_store::redis::LastMove;

/// How long a replication id counts as seen: far less than the hour (`repl-backlog-ttl`) after which Redis
/// forgets that it was promoted, and longer than the pause between two checks.
const LATELY: Duration = Duration::from_secs(60);

/// A Redis in which a shard was verified.
#[derive(Debug)]
struct SeenVerified {
    /// Its replication id.
    id: String,
    last_move: LastMove,
    /// When that was last so.
    at: Instant,
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct PipelineStatus {
    serving: Arc<[AtomicBool]>,
    /// Per shard the end of its log as this process last saw it, also in earlier leaderships: after a loss it
    /// shows how many events there were.
    log_ends: Arc<[Mutex<Option<Offset>>]>,
    /// Per shard the offset at which its owner last found another entry than before.
    overwritten: Arc<[Mutex<Option<Offset>>]>,
    /// Per shard in which Redis this process last saw it verified.
    verified: Arc<[Mutex<Option<SeenVerified>>]>,
}

impl PipelineStatus {
    pub fn new(shards: ShardCount) -> Self {
        Self {
            serving: shards.all().map(|_| AtomicBool::new(false)).collect(),
            log_ends: shards.all().map(|_| Mutex::default()).collect(),
            overwritten: shards.all().map(|_| Mutex::default()).collect(),
            verified: shards.all().map(|_| Mutex::default()).collect(),
        }
    }

    /// Records that the shard's log reaches at least `offset`.
    pub fn record_log_end(&self, shard: ShardId, offset: Offset) {
        let mut end = self.log_ends[shard.index()].lock();
        *end = (*end).max(Some(offset));
    }

    /// Records that the shard's log lost what it had after `offset`.
    pub fn set_log_end(&self, shard: ShardId, offset: Offset) {
        *self.log_ends[shard.index()].lock() = Some(offset);
    }

    /// The highest offset of the shard's log that this process has seen; `None` if it has seen none.
    pub fn last_log_end(&self, shard: ShardId) -> Option<Offset> {
        *self.log_ends[shard.index()].lock()
    }

    /// Records that the log has another entry at `offset` than before. Its generation is to end.
    pub fn record_overwritten(&self, shard: ShardId, offset: Offset) {
        *self.overwritten[shard.index()].lock() = Some(offset);
    }

    /// Whether entries of this generation of the log were found overwritten.
    pub fn was_overwritten(&self, shard: ShardId, generation: u64) -> bool {
        self.overwritten[shard.index()].lock().is_some_and(|at| at.generation == generation)
    }

    /// Records that the shard was verified in the Redis with this replication id, after the last move of its slot.
    pub fn record_verified(&self, shard: ShardId, id: &str, last_move: LastMove) {
        let seen = SeenVerified { id: id.to_owned(), last_move, at: Instant::now() };
        *self.verified[shard.index()].lock() = Some(seen);
    }

    /// Records that the shard is still verified in the Redis with this replication id.
    pub fn record_still_verified(&self, shard: ShardId, id: &str) {
        if let Some(seen) = self.verified[shard.index()].lock().as_mut().filter(|seen| seen.id == id) {
            seen.at = Instant::now();
        }
    }

    /// The last move of the shard's slot before the shard was verified under this replication id; `None` if
    /// this process has not seen it so lately that Redis cannot have forgotten a promotion since.
    pub fn last_verified(&self, shard: ShardId, id: &str) -> Option<LastMove> {
        let seen = self.verified[shard.index()].lock();
        let seen = seen.as_ref().filter(|seen| seen.id == id && seen.at.elapsed() < LATELY)?;
        Some(seen.last_move.clone())
    }

    pub fn set_serving(&self, shard: ShardId, serving: bool) {
        self.serving[shard.index()].store(serving, Relaxed);
    }

    /// Whether this process folds and persists the log of the shard with this number.
    pub fn is_serving(&self, shard: usize) -> bool {
        self.serving.get(shard).is_some_and(|serving| serving.load(Relaxed))
    }
}
