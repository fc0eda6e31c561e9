//! Which shards this process owns and serves, for `/readyz`.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::primitives::{ShardCount, ShardId};

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Status {
    serving: Arc<[AtomicBool]>,
}

impl Status {
    pub fn new(shards: ShardCount) -> Self {
        Self { serving: shards.all().map(|_| AtomicBool::new(false)).collect() }
    }

    pub(super) fn set_serving(&self, shard: ShardId, serving: bool) {
        self.serving[shard.index()].store(serving, Relaxed);
    }

    /// Whether this process folds and persists the log of the shard with this number.
    pub fn is_serving(&self, shard: usize) -> bool {
        self.serving.get(shard).is_some_and(|serving| serving.load(Relaxed))
    }
}
