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
    /// Records a read. A version of an entity must have the same counts everywhere.
    pub fn read(&self, entity: Entity, version: u64, values: &Values) {
        let mut inner = self.inner.lock();
        let before = inner.by_version.entry((entity, version)).or_insert_with(|| values.clone()).clone();
        let differs =
            values.iter().any(|(counter, value)| before.get(counter).is_some_and(|was| was != value));
        if differs {
            inner.faults.push(format!("{entity} at version {version} was {before:?} and then {values:?}"));
        }
    }

    /// Records an event of a subscriber. Within one subscription versions only rise.
    pub fn pushed(&self, subscriber: &str, entity: Entity, version: u64, values: Values) {
        self.read(entity, version, &values);
        let mut inner = self.inner.lock();
        let place = (subscriber.to_owned(), entity);
        if let Some((before, _)) = inner.pushed.get(&place)
            && *before > version
        {
            let fault = format!("{subscriber} saw {entity} go back from version {before} to {version}");
            inner.faults.push(fault);
        }
        inner.pushed.insert(place, (version, values));
    }

    /// The newest values that each subscriber has of an entity.
    pub fn newest(&self, entity: Entity) -> Vec<(String, u64, Values)> {
        let inner = self.inner.lock();
        let of_entity = inner.pushed.iter().filter(|((_, other), _)| *other == entity);
        of_entity.map(|((who, _), (version, values))| (who.clone(), *version, values.clone())).collect()
    }

    pub fn faults(&self) -> Vec<String> {
        self.inner.lock().faults.clone()
    }
}
