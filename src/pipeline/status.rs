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

    /// Shards whose log nobody in this process folds and persists.
    pub fn not_serving(&self) -> Vec<usize> {
        self.serving
            .iter()
            .enumerate()
            .filter(|(_, serving)| !serving.load(Relaxed))
            .map(|(i, _)| i)
            .collect()
    }
}
