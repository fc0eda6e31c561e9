//! The shards that a process leads, for jobs that work for all of them at once.

use std::{collections::BTreeSet, sync::Arc};

use parking_lot::Mutex;

use plaudit_catalogue::primitives::ShardId;

/// Cheap to clone.
#[derive(Clone, Default)]
pub struct LedShards(Arc<Mutex<BTreeSet<ShardId>>>);

impl LedShards {
    /// Adds a shard until the result is dropped.
    #[must_use]
    pub fn lead(&self, shard: ShardId) -> Led {
        self.0.lock().insert(shard);
        Led { shards: self.clone(), shard }
    }

    /// In order.
    pub fn all(&self) -> Vec<ShardId> {
        self.0.lock().iter().copied().collect()
    }

    pub fn first(&self) -> Option<ShardId> {
        self.0.lock().first().copied()
    }
}

/// A shard that the process leads.
pub struct Led {
    shards: LedShards,
    shard: ShardId,
}

impl Drop for Led {
    fn drop(&mut self) {
        self.shards.0.lock().remove(&self.shard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_led_until_its_leadership_ends() {
        let led = LedShards::default();
        let second = led.lead(ShardId::first(2));
        let first = led.lead(ShardId::first(1));
        assert_eq!(led.all(), [ShardId::first(1), ShardId::first(2)]);
        drop(first);
        assert_eq!(led.first(), Some(ShardId::first(2)));
        drop(second);
        assert_eq!(led.first(), None);
    }
}
