//! Observations: the counts that subscribers and readers received.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parking_lot::Mutex;
use plaudit_catalogue::{Counter, Entity};
use plaudit_history::history::{Time, Via};

use crate::recorder::Recorder;

/// Some of an entity's counters.
pub type Values = BTreeMap<Counter, i64>;

/// Counts that a client was shown, with their version.
pub type Seen<'a> = (Entity, u64, &'a Values);

/// A request, to one of several servers.
pub struct Asked {
    pub server: usize,
    pub at: Time,
}

impl Asked {
    /// All readers of a server are one observer.
    fn observer(&self) -> String {
        format!("the readers of server {}", self.server)
    }
}

#[derive(Default)]
pub struct Observations {
    /// Newest per subscriber and entity.
    pushed: Mutex<HashMap<(String, Entity), (u64, Values)>>,
    pub recorder: Recorder,
}

impl Observations {
    /// The time of a request that is sent now.
    pub fn asks(&self, server: usize) -> Asked {
        Asked { server, at: self.recorder.now() }
    }

    /// Records counts of the answer to a query.
    pub fn read(&self, seen: Seen, asked: &Asked) {
        self.recorder.shown(seen, Via::Query, &asked.observer(), asked.at, None);
    }

    /// Records counts of the reply to an action under this key.
    pub fn replied(&self, seen: Seen, asked: &Asked, key: &str, changed: bool) {
        let includes = self.recorder.included(key, changed, asked.at);
        self.recorder.shown(seen, Via::Reply, &asked.observer(), asked.at, includes);
    }

    /// Records an event of a subscriber.
    pub fn pushed(&self, subscriber: &str, entity: Entity, version: u64, values: Values) {
        let now = self.recorder.now();
        self.recorder.shown((entity, version, &values), Via::Push, subscriber, now, None);
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
