//! Batches of several shards that will be written in one transaction: what waits, and when the next one begins.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::Instant};

use crate::{event_log::Entry, primitives::Offset, store::sql::shards::Lease};

/// Time between two transactions of a shard that is busy. They begin at the same moments in all shards of a process.
const INTERVAL: Duration = Duration::from_millis(200);

/// The batches of the shards of a process that wait to be written together.
pub struct CommitGroup {
    start: Instant,
    waiting: Mutex<Vec<WaitingBatch>>,
}

/// Entries of one shard's log after `from`.
pub struct WaitingBatch {
    pub lease: Lease,
    pub from: Offset,
    pub entries: Arc<[Entry]>,
    /// Signalled when they are committed; dropped if that is not known.
    pub committed: oneshot::Sender<()>,
}

impl CommitGroup {
    pub fn new() -> Self {
        Self { start: Instant::now(), waiting: Mutex::default() }
    }

    /// The moment after `last` at which all busy shards begin their next transaction.
    pub fn next_turn(&self, last: Instant) -> Instant {
        let turns = last.duration_since(self.start).as_nanos() / INTERVAL.as_nanos() + 1;
        self.start + INTERVAL * turns as u32
    }

    /// Adds a batch. Returns whether it is the first one of its group: then the caller has the group written.
    pub fn add(&self, batch: WaitingBatch) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.push(batch);
        waiting.len() == 1
    }

    /// Takes the group, in the order of its shards.
    pub fn take(&self) -> Vec<WaitingBatch> {
        let mut group = std::mem::take(&mut *self.waiting.lock());
        group.sort_by_key(|waiting| waiting.lease.shard);
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn busy_shards_begin_at_the_same_moments() {
        let group = CommitGroup::new();
        let at = |ms| group.start + Duration::from_millis(ms);
        let turns = [0, 1, 199, 200, 450].map(|ms| group.next_turn(at(ms)));
        assert_eq!(turns, [at(200), at(200), at(200), at(400), at(600)]);
    }
}
