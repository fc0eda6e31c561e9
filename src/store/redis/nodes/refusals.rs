//! Since when shards refuse calls because they are not ready.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::coalescer::Coalescer;
use plaudit_catalogue::primitives::ShardId;

/// A refusal this long after the last one is a first one again: nobody has asked whether the shard was ready meanwhile.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(2);

/// Shards that have refused calls and have taken none since.
#[derive(Default)]
pub(crate) struct Refusals {
    refusing: Mutex<HashMap<ShardId, Refusing>>,
    /// Whether there are any, so that a call that succeeds locks nothing.
    are_some: AtomicBool,
    pub(crate) waiting: Coalescer<ShardId, ()>,
}

struct Refusing {
    first: Instant,
    last: Instant,
}

impl Refusals {
    /// The shard has refused a call. Returns when it has refused the first of those after which it took none.
    pub(crate) fn refused(&self, shard: ShardId) -> Instant {
        let now = Instant::now();
        let mut refusing = self.refusing.lock();
        self.are_some.store(true, Relaxed);
        let of_shard = refusing.entry(shard).or_insert(Refusing { first: now, last: now });
        if now - of_shard.last > FORGOTTEN_AFTER {
            of_shard.first = now;
        }
        of_shard.last = now;
        of_shard.first
    }

    /// The shard has taken a call, or did not answer one.
    pub(crate) fn ended(&self, shard: ShardId) {
        if self.are_some.load(Relaxed) {
            let mut refusing = self.refusing.lock();
            refusing.remove(&shard);
            self.are_some.store(!refusing.is_empty(), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refusals_belong_together_until_a_call_succeeds() {
        let (refusals, shard, other) = (Refusals::default(), ShardId::first(0), ShardId::first(1));
        let first = refusals.refused(shard);
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(refusals.refused(shard), first);
        assert!(refusals.refused(other) > first);
        refusals.ended(other);
        assert_eq!(refusals.refused(shard), first);
        refusals.ended(shard);
        assert!(refusals.refused(shard) > first);
    }

    #[tokio::test]
    async fn a_refusal_long_after_the_last_one_is_a_first_one_again() {
        let (refusals, shard) = (Refusals::default(), ShardId::first(0));
        let first = refusals.refused(shard);
        tokio::time::sleep(FORGOTTEN_AFTER + Duration::from_millis(5)).await;
        assert!(refusals.refused(shard) > first + FORGOTTEN_AFTER);
    }
}
