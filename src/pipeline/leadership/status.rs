//! Which shards this process owns and serves, for `/readyz`, and how far it has seen their logs.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;

use crate::primitives::{Offset, ShardCount, ShardId};

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Status {
    serving: Arc<[AtomicBool]>,
    /// Per shard the latest event ever seen, also by earlier owners in this process: after a loss it tells how
    /// much there was.
    seen: Arc<[Mutex<Option<Offset>>]>,
}

impl Status {
    pub fn new(shards: ShardCount) -> Self {
        Self {
            serving: shards.all().map(|_| AtomicBool::new(false)).collect(),
            seen: shards.all().map(|_| Mutex::default()).collect(),
        }
    }

    /// The shard's log reaches that far.
    pub fn see(&self, shard: ShardId, offset: Offset) {
        let mut seen = self.seen[shard.index()].lock();
        *seen = (*seen).max(Some(offset));
    }

    /// The latest event of the shard's log that this process ever saw; `None` before it looked.
    pub fn seen(&self, shard: ShardId) -> Option<Offset> {
        *self.seen[shard.index()].lock()
    }

    pub fn set_serving(&self, shard: ShardId, serving: bool) {
        self.serving[shard.index()].store(serving, Relaxed);
    }

    /// Whether this process folds and persists the log of the shard with this number.
    pub fn is_serving(&self, shard: usize) -> bool {
        self.serving.get(shard).is_some_and(|serving| serving.load(Relaxed))
    }
}
