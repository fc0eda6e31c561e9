//! Which shards this process serves, for `/readyz`, and how far it has seen their logs.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;

use crate::primitives::{Offset, ShardCount, ShardId};

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct PipelineStatus {
    serving: Arc<[AtomicBool]>,
    /// Per shard the end of its log as this process last saw it, also in earlier leaderships: after a loss it
    /// tells how many events there were.
    log_ends: Arc<[Mutex<Option<Offset>>]>,
}

impl PipelineStatus {
    pub fn new(shards: ShardCount) -> Self {
        Self {
            serving: shards.all().map(|_| AtomicBool::new(false)).collect(),
            log_ends: shards.all().map(|_| Mutex::default()).collect(),
        }
    }

    /// Records that the shard's log reaches at least `offset`.
    pub fn record_log_end(&self, shard: ShardId, offset: Offset) {
        let mut end = self.log_ends[shard.index()].lock();
        *end = (*end).max(Some(offset));
    }

    /// The highest offset of the shard's log that this process has seen; `None` if it has seen none.
    pub fn last_log_end(&self, shard: ShardId) -> Option<Offset> {
        *self.log_ends[shard.index()].lock()
    }

    pub fn set_serving(&self, shard: ShardId, serving: bool) {
        self.serving[shard.index()].store(serving, Relaxed);
    }

    /// Whether this process folds and persists the log of the shard with this number.
    pub fn is_serving(&self, shard: usize) -> bool {
        self.serving.get(shard).is_some_and(|serving| serving.load(Relaxed))
    }
}
