//! Since when shards refuse calls because they are not recovered.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{primitives::ShardId, store::single_flight::SingleFlight};

/// Shards that have refused calls and have taken none since.
#[derive(Default)]
pub(super) struct Refusals {
    since: Mutex<HashMap<ShardId, Instant>>,
    /// Whether there are any, so that a call that succeeds locks nothing.
    are_some: AtomicBool,
    pub(super) waiting: SingleFlight<ShardId, ()>,
}

impl Refusals {
    /// When the shard refused the first of these calls; now, if this is the first one.
    pub(super) fn since(&self, shard: ShardId) -> Instant {
        let mut since = self.since.lock();
        self.are_some.store(true, Relaxed);
        *since.entry(shard).or_insert_with(Instant::now)
    }

    /// The shard has taken a call, or did not answer one.
    pub(super) fn ended(&self, shard: ShardId) {
        if self.are_some.load(Relaxed) {
            let mut since = self.since.lock();
            since.remove(&shard);
            self.are_some.store(!since.is_empty(), Relaxed);
        }
    }
}
