//! Bodies of one kind that this process keeps.

use std::{
    hash::Hash,
    sync::Arc,
    time::{Duration, Instant},
};

use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;

/// Entities of one kind that a process keeps.
const CAPACITY: u64 = 50_000;
/// How long this process may show text that was changed by SQL, behind Plaudit's back.
const LIFE: Duration = Duration::from_secs(60);
/// "Does not exist" is remembered shortly: against floods of unknown ids.
const ABSENT_LIFE: Duration = Duration::from_secs(5);
/// That something changed is remembered for longer than a read takes that began before.
const CHANGED_LIFE: Duration = Duration::from_secs(5);

/// By id. Cheap to clone; all clones are one.
pub(super) struct Kept<K, T> {
    here: Cache<K, Arc<T>>,
    absent: Cache<K, ()>,
    changed: Cache<K, Instant>,
    /// When anything may have changed unheard.
    all_changed: Arc<Mutex<Option<Instant>>>,
}

impl<K, T> Clone for Kept<K, T> {
    fn clone(&self) -> Self {
        let (here, absent, changed) = (self.here.clone(), self.absent.clone(), self.changed.clone());
        Self { here, absent, changed, all_changed: Arc::clone(&self.all_changed) }
    }
}

impl<K, T> Kept<K, T>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    pub fn new() -> Self {
        Self {
            here: Cache::builder().max_capacity(CAPACITY).time_to_live(LIFE).build(),
            absent: Cache::builder().max_capacity(CAPACITY).time_to_live(ABSENT_LIFE).build(),
            changed: Cache::builder()
                .max_capacity(CAPACITY)
                .eviction_policy(EvictionPolicy::lru()) // never refuses a new one
                .time_to_live(CHANGED_LIFE)
                .build(),
            all_changed: Arc::default(),
        }
    }

    /// `Some(None)`: known not to exist.
    pub fn get(&self, id: &K) -> Option<Option<Arc<T>>> {
        match self.here.get(id) {
            Some(body) => Some(Some(body)),
            None => self.absent.contains_key(id).then_some(None),
        }
    }

    /// Keeps what a read that began at `since` found, unless it has changed meanwhile.
    pub fn insert(&self, id: K, body: Option<&Arc<T>>, since: Instant) {
        if self.has_changed(&id, since) {
            return;
        }
        match body {
            Some(body) => self.here.insert(id, Arc::clone(body)),
            None => self.absent.insert(id, ()),
        }
        // A change of this very moment has nothing to forget before the insertion.
        if self.has_changed(&id, since) {
            self.drop(&id);
        }
    }

    pub fn forget(&self, id: K) {
        self.changed.insert(id, Instant::now());
        self.drop(&id);
    }

    pub fn forget_all(&self) {
        *self.all_changed.lock() = Some(Instant::now());
        self.here.invalidate_all();
        self.absent.invalidate_all();
    }

    fn has_changed(&self, id: &K, since: Instant) -> bool {
        let of_all = *self.all_changed.lock();
        self.changed.get(id).into_iter().chain(of_all).any(|changed| changed >= since)
    }

    fn drop(&self, id: &K) {
        self.here.invalidate(id);
        self.absent.invalidate(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::Group,
        primitives::{GroupId, UserId},
    };

    fn group() -> Arc<Group> {
        let id = "1".parse().unwrap();
        let (name, description) = ("Readers".to_owned(), String::new());
        Arc::new(Group {
            id: GroupId(id),
            owner: UserId(id),
            name,
            description,
            created_at: Default::default(),
        })
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept_and_what_was_read_after_it_is() {
        let (kept, group) = (Kept::<GroupId, Group>::new(), group());
        let before = Instant::now();
        kept.insert(group.id, Some(&group), before);
        assert_eq!(kept.get(&group.id), Some(Some(Arc::clone(&group))));
        kept.forget(group.id);
        assert_eq!(kept.get(&group.id), None);
        kept.insert(group.id, Some(&group), before);
        kept.insert(group.id, None, before);
        assert_eq!(kept.get(&group.id), None);
        let after = || Instant::now() + Duration::from_nanos(1);
        kept.insert(group.id, None, after());
        assert_eq!(kept.get(&group.id), Some(None));
        kept.forget_all();
        kept.insert(group.id, Some(&group), before);
        assert_eq!(kept.get(&group.id), None);
        kept.insert(group.id, Some(&group), after());
        assert_eq!(kept.get(&group.id), Some(Some(group)));
    }
}
