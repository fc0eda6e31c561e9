//! What was read, unless it changed meanwhile: no value is kept whose read began before a change that this process has
//! heard of. `tests/model/src/keeping.rs` is the model of this rule.
//!
//! Changes are numbered as they are heard. A read notes the last number before it begins, and its value is kept if the
//! last change of its key is no later. So that numbers take bounded memory, keys share them: a change of one key keeps
//! what is being read of another one from being kept, with a chance of one in [`PARTS`].

use std::{
    hash::{BuildHasher, Hash},
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use plaudit_store::expiring::Expiring;

const PARTS: usize = 64;

pub(super) struct Kept<K, V> {
    values: Expiring<K, V>,
    /// Changes that were heard.
    heard: AtomicU64,
    /// The last change of each part of the keys. Locked while values of the part are kept or dropped.
    last: [Mutex<u64>; PARTS],
    hasher: RandomState,
}

/// The changes that were heard before a read began.
#[derive(Clone, Copy)]
pub struct ReadMark(u64);

impl<K, V> Kept<K, V>
where
    K: Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub fn new(values: Expiring<K, V>) -> Self {
        let last = std::array::from_fn(|_| Mutex::default());
        Self { values, heard: AtomicU64::default(), last, hasher: RandomState::default() }
    }

    pub fn get(&self, key: &K) -> Option<V> {
        self.values.get(key)
    }

    /// Call it before reading.
    pub fn mark(&self) -> ReadMark {
        ReadMark(self.heard.load(SeqCst))
    }

    /// Keeps what was read, unless it changed meanwhile.
    pub fn keep(&self, key: K, value: V, read: ReadMark) {
        // So that a change comes before the look, or removes the value.
        let last = self.part(&key).lock();
        if *last <= read.0 {
            self.values.insert(key, value);
        }
    }

    /// The value changed.
    pub fn changed(&self, key: K) {
        self.changed_to(key, |_| None);
    }

    /// The value changed. `left`: what remains true of the one that is kept.
    pub fn changed_to(&self, key: K, left: impl FnOnce(V) -> Option<V>) {
        let number = self.next_change();
        let mut last = self.part(&key).lock();
        *last = number.max(*last);
        match self.values.get(&key).and_then(left) {
            Some(value) => self.values.insert(key, value),
            None => self.values.remove(&key),
        }
    }

    /// All values may have changed.
    pub fn all_changed(&self) {
        let number = self.next_change();
        for part in &self.last {
            let mut last = part.lock();
            *last = number.max(*last);
        }
        self.values.clear();
    }

    fn next_change(&self) -> u64 {
        self.heard.fetch_add(1, SeqCst) + 1
    }

    fn part(&self, key: &K) -> &Mutex<u64> {
        &self.last[self.hasher.hash_one(key) as usize % PARTS]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn kept() -> Kept<u32, &'static str> {
        Kept::new(Expiring::of_entries(1_000, Duration::from_secs(60)))
    }

    #[test]
    fn a_read_from_before_a_change_is_not_kept_and_one_from_after_it_is() {
        for change in [|kept: &Kept<_, _>| kept.changed(1), Kept::all_changed] {
            let kept = kept();
            let before = kept.mark();
            kept.keep(1, "old", before);
            assert_eq!(kept.get(&1), Some("old"));
            change(&kept);
            assert_eq!(kept.get(&1), None);
            kept.keep(1, "old", before);
            assert_eq!(kept.get(&1), None);
            kept.keep(1, "new", kept.mark());
            assert_eq!(kept.get(&1), Some("new"));
            kept.keep(1, "old", before);
            assert_eq!(kept.get(&1), Some("new"));
        }
    }

    #[test]
    fn a_change_of_one_value_keeps_those_of_the_others() {
        let kept = kept();
        let mark = kept.mark();
        (1..=100).for_each(|key| kept.keep(key, "old", mark));
        kept.changed(1);
        assert!((2..=100).all(|key| kept.get(&key) == Some("old")));
        // Also most of those that are being read.
        (101..=200).for_each(|key| kept.keep(key, "old", mark));
        assert!((101..=200).filter(|key| kept.get(key).is_some()).count() > 50);
    }

    #[test]
    fn what_remains_true_stays_and_what_is_being_read_is_not_kept() {
        let kept = kept();
        let before = kept.mark();
        kept.keep(1, "old", before);
        kept.changed_to(1, |_| Some("left"));
        assert_eq!(kept.get(&1), Some("left"));
        kept.keep(1, "old", before);
        assert_eq!(kept.get(&1), Some("left"));
    }
}
