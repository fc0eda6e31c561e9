//! Observations: the counts that subscribers and readers received.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;
use plaudit::catalogue::{Counter, Entity};

/// Some of an entity's counters.
pub type Values = BTreeMap<Counter, i64>;

#[derive(Default)]
pub struct Observations {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_version: HashMap<(Entity, u64), Values>,
    /// Newest per subscriber and entity.
    pushed: HashMap<(String, Entity), (u64, Values)>,
    faults: Vec<String>,
}

impl Observations {
    /// Records a read. A version of an entity must always have the same counts.
    pub fn read(&self, entity: Entity, version: u64, values: &Values) {
        let mut inner = self.inner.lock();
        let before = inner.by_version.entry((entity, version)).or_insert_with(|| values.clone()).clone();
        let differs =
            values.iter().any(|(counter, value)| before.get(counter).is_some_and(|known| known != value));
        if differs {
            inner.faults.push(format!("{entity} at version {version} was {before:?} and then {values:?}"));
        }
    }

    /// Records an event of a subscriber. Versions must not fall within a subscription.
    pub fn pushed(&self, subscriber: &str, entity: Entity, version: u64, values: Values) {
        self.read(entity, version, &values);
        let mut inner = self.inner.lock();
        let key = (subscriber.to_owned(), entity);
        if let Some((before, _)) = inner.pushed.get(&key)
            && *before > version
        {
            let fault = format!("{subscriber} got {entity} at version {version} after {before}");
            inner.faults.push(fault);
        }
        inner.pushed.insert(key, (version, values));
    }

    /// The newest values of an entity, per subscriber.
    pub fn newest(&self, entity: Entity) -> Vec<(String, u64, Values)> {
        let inner = self.inner.lock();
        let of_entity = inner.pushed.iter().filter(|((_, other), _)| *other == entity);
        of_entity
            .map(|((subscriber, _), (version, values))| (subscriber.clone(), *version, values.clone()))
            .collect()
    }

    pub fn faults(&self) -> Vec<String> {
        self.inner.lock().faults.clone()
    }
}
