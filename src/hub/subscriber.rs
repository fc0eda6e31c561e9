//! One subscription's mailbox: the latest counts per entity, so that a slow reader skips ahead instead of
//! falling behind.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{CountsAt, Hub};
use crate::{catalogue::Entity, primitives::Version};

/// Bounded by the number of watched entities.
#[derive(Default)]
pub struct Mailbox {
    letters: Mutex<Letters>,
    arrived: Notify,
}

#[derive(Default)]
struct Letters {
    /// In order of arrival; a newer value takes the place of an older one.
    waiting: Vec<(Entity, CountsAt)>,
    /// Newest version per entity that waits or was taken out.
    newest: HashMap<Entity, Version>,
}

impl Mailbox {
    /// Only what is newer than all before it: versions never go backwards for one subscriber.
    pub fn put(&self, entity: Entity, counted: CountsAt) {
        let mut letters = self.letters.lock();
        if letters.newest.get(&entity).is_some_and(|newest| counted.version <= *newest) {
            return;
        }
        letters.newest.insert(entity, counted.version);
        match letters.waiting.iter_mut().find(|(waiting, _)| *waiting == entity) {
            Some((_, older)) => *older = counted,
            None => letters.waiting.push((entity, counted)),
        }
        drop(letters);
        self.arrived.notify_one();
    }

    fn take(&self) -> Option<(Entity, CountsAt)> {
        let mut letters = self.letters.lock();
        (!letters.waiting.is_empty()).then(|| letters.waiting.remove(0))
    }

    /// Waits until there is something to take.
    async fn arrived(&self) {
        loop {
            let arrived = self.arrived.notified();
            if !self.letters.lock().waiting.is_empty() {
                return;
            }
            arrived.await;
        }
    }
}

/// Receives the counts of the entities it watches; stops when dropped.
pub struct Subscriber {
    hub: Hub,
    mailbox: Arc<Mailbox>,
    entities: Vec<Entity>,
}

impl Subscriber {
    pub(super) const fn new(hub: Hub, mailbox: Arc<Mailbox>, entities: Vec<Entity>) -> Self {
        Self { hub, mailbox, entities }
    }

    /// The next entity whose counts are new to this subscriber. The first one per entity is what its
    /// counts are when the subscription begins.
    pub async fn next(&mut self) -> (Entity, CountsAt) {
        loop {
            self.arrived().await;
            if let Some(newest) = self.try_next() {
                return newest;
            }
        }
    }

    /// The same, if there is one now.
    pub fn try_next(&mut self) -> Option<(Entity, CountsAt)> {
        self.mailbox.take()
    }

    /// Waits until there is one. Until it is taken, newer counts take its place.
    pub async fn arrived(&mut self) {
        self.mailbox.arrived().await;
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.hub.unwatch(&self.entities, &self.mailbox);
    }
}
