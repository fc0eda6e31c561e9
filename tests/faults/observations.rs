//! Observations: the counts that subscribers and readers received.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parking_lot::Mutex;
use plaudit::catalogue::{Counter, Entity};

use crate::recorder::Recorder;

/// Some of an entity's counters.
pub type Values = BTreeMap<Counter, i64>;

#[derive(Default)]
pub struct Observations {
    /// Newest per subscriber and entity.
    pushed: Mutex<HashMap<(String, Entity), (u64, Values)>>,
    pub recorder: Recorder,
}

impl Observations {
    /// Records a read.
    pub fn read(&self, entity: Entity, version: u64, values: &Values) {
        self.recorder.shown(entity, version, values, None);
    }

    /// Records an event of a subscriber.
    pub fn pushed(&self, subscriber: &str, entity: Entity, version: u64, values: Values) {
        self.recorder.shown(entity, version, &values, Some(subscriber));
        self.pushed.lock().insert((subscriber.to_owned(), entity), (version, values));
    }

    /// The newest values of an entity, per subscriber.
    pub fn newest(&self, entity: Entity) -> Vec<(String, u64, Values)> {
        let pushed = self.pushed.lock();
        let of_entity = pushed.iter().filter(|((_, other), _)| *other == entity);
        of_entity
            .map(|((subscriber, _), (version, values))| (subscriber.clone(), *version, values.clone()))
            .collect()
    }

    pub fn subscribers(&self) -> BTreeSet<String> {
        self.pushed.lock().keys().map(|(subscriber, _)| subscriber.clone()).collect()
    }
}
