//! Which shards this process serves, for `/readyz`, and how far it has seen their logs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::primitives::{Offset, ShardCount, ShardId};

/// How long a replication id counts as seen: far less than the hour (`repl-backlog-ttl`) after which Redis forgets that it
/// was promoted, and longer than the pause between two checks.
const LATELY: Duration = Duration::from_secs(60);

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct PipelineStatus {
    serving: Arc<[AtomicBool]>,
    /// Per shard the end of its log as this process last saw it, also in earlier leaderships: after a loss it
    /// tells how many events there were.
    log_ends: Arc<[Mutex<Option<Offset>>]>,
    /// Replication ids under which this process has lately seen Redis, and when.
    histories: Arc<Mutex<Vec<(String, Instant)>>>,
}

impl PipelineStatus {
    pub fn new(shards: ShardCount) -> Self {
        Self {
            serving: shards.all().map(|_| AtomicBool::new(false)).collect(),
            log_ends: shards.all().map(|_| Mutex::default()).collect(),
            histories: Arc::default(),
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

    /// Records that Redis has this replication id now.
    pub fn record_history(&self, id: &str) {
        let mut histories = self.histories.lock();
        histories.retain(|(seen, at)| seen != id && at.elapsed() < LATELY);
        histories.push((id.to_owned(), Instant::now()));
    }

    /// Whether this process has seen Redis with this replication id so lately that Redis cannot have forgotten a
    /// promotion since.
    pub fn has_seen_history(&self, id: &str) -> bool {
        self.histories.lock().iter().any(|(seen, at)| seen == id && at.elapsed() < LATELY)
    }

    pub fn set_serving(&self, shard: ShardId, serving: bool) {
        self.serving[shard.index()].store(serving, Relaxed);
    }

    /// Whether this process folds and persists the log of the shard with this number.
    pub fn is_serving(&self, shard: usize) -> bool {
        self.serving.get(shard).is_some_and(|serving| serving.load(Relaxed))
    }
}
