//! Watch of one entity's counts: a channel that keeps only the latest value, so that a slow reader skips values instead
//! of falling behind. Versions never decrease for one reader.

use std::sync::Arc;

use tokio::sync::watch;

use super::{CountsAt, Hub};
use plaudit_catalogue::Entity;

/// The hub's side of one watch; `None` until there are counts.
pub type CountsSender = watch::Sender<Option<CountsAt>>;

/// Sends counts, unless they are older than the latest.
pub fn send(sender: &CountsSender, counts: CountsAt) {
    sender.send_if_modified(|latest| {
        let is_newer = latest.is_none_or(|latest| counts.version > latest.version);
        if is_newer {
            *latest = Some(counts);
        }
        is_newer
    });
}

/// Receives the counts of one entity. Dropping it ends the watch.
pub struct CountsWatch {
    hub: Hub,
    entity: Entity,
    sender: Arc<CountsSender>,
    latest: watch::Receiver<Option<CountsAt>>,
}

impl CountsWatch {
    pub(super) fn new(hub: Hub, entity: Entity, sender: Arc<CountsSender>) -> Self {
        let latest = sender.subscribe();
        Self { hub, entity, sender, latest }
    }

    /// The next counts that are new to this reader. The first ones are those at the beginning of the watch.
    pub async fn next(&mut self) -> CountsAt {
        loop {
            self.changed().await;
            if let Some(counts) = self.try_next() {
                return counts;
            }
        }
    }

    /// Like [`Self::next`], but without waiting.
    pub fn try_next(&mut self) -> Option<CountsAt> {
        if !self.latest.has_changed().unwrap_or(false) {
            return None;
        }
        *self.latest.borrow_and_update()
    }

    /// Waits until there are new counts. Until they are taken, newer ones replace them.
    pub async fn changed(&mut self) {
        // The sender lives as long as this watch, so the channel is never closed.
        if self.latest.changed().await.is_ok() {
            self.latest.mark_changed();
        }
    }
}

impl Drop for CountsWatch {
    fn drop(&mut self) {
        self.hub.unwatch(self.entity, &self.sender);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::{Counts, primitives::Version};

    #[test]
    fn older_counts_do_not_replace_newer_ones() {
        let counts = |change: u64| CountsAt {
            version: Version::new(1, change),
            counts: Counts::from_values([change as i64]),
        };
        let sender = CountsSender::new(None);
        let mut latest = sender.subscribe();
        for (change, expected) in [(5, Some(5)), (4, None), (5, None), (6, Some(6))] {
            send(&sender, counts(change));
            let received = latest.has_changed().unwrap().then(|| *latest.borrow_and_update());
            assert_eq!(received.flatten(), expected.map(counts));
        }
    }
}
