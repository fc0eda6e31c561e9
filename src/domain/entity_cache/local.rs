//! Cache of one kind of entity in this process. Never holds what was read before an invalidation.

use std::{
    hash::Hash,
    sync::Arc,
    time::{Duration, Instant},
};

use foldhash::fast::RandomState;
use moka::{policy::EvictionPolicy, sync::Cache};
use parking_lot::Mutex;

use plaudit_catalogue::primitives::fault;
use plaudit_counting::hub::Hearing;

/// Memory for the entities of one kind, in bytes: some 90,000 notes of 500 bytes, or 1,600 of the longest.
pub(super) const MEMORY: u64 = 64 << 20;
/// An entity without its texts, and its place in the cache, in bytes.
const ENTRY: usize = 250;
/// Ids of removed entities, and invalidated ones.
const CAPACITY: u64 = 50_000;
/// Upper bound for showing rows that somebody changed by SQL, without an invalidation.
const LIFE: Duration = Duration::from_secs(60);
/// How long it is remembered that an entity was removed.
const REMOVED_LIFE: Duration = Duration::from_secs(5);
/// How long an invalidation is remembered: longer than any read takes that began before it.
const INVALIDATED_LIFE: Duration = Duration::from_secs(5);

/// By id. Clones share one cache.
pub(super) struct LocalCache<K, T> {
    entities: Cache<K, Arc<T>, RandomState>,
    removed: Cache<K, (), RandomState>,
    invalidated: Cache<K, Instant, RandomState>,
    /// When everything was invalidated last.
    all_invalidated: Arc<Mutex<Option<Instant>>>,
    /// Nothing is used while invalidations are not heard.
    hearing: Hearing,
}

impl<K, T> Clone for LocalCache<K, T> {
    fn clone(&self) -> Self {
        let (entities, removed, invalidated) =
            (self.entities.clone(), self.removed.clone(), self.invalidated.clone());
        let (all_invalidated, hearing) = (Arc::clone(&self.all_invalidated), self.hearing.clone());
        Self { entities, removed, invalidated, all_invalidated, hearing }
    }
}

impl<K, T> LocalCache<K, T>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    T: Send + Sync + 'static,
{
    /// For at most `memory` bytes of entities; `text_bytes`: the texts of one.
    pub fn new(memory: u64, text_bytes: fn(&T) -> usize, hearing: Hearing) -> Self {
        let weigh = move |_: &K, entity: &Arc<T>| (ENTRY + text_bytes(entity)).try_into().unwrap_or(u32::MAX);
        Self {
            entities: Cache::builder()
                .max_capacity(memory)
                .weigher(weigh)
                .time_to_live(fault::period("cache.local", LIFE))
                .build_with_hasher(RandomState::default()),
            removed: Cache::builder()
                .max_capacity(CAPACITY)
                .time_to_live(REMOVED_LIFE)
                .build_with_hasher(RandomState::default()),
            invalidated: Cache::builder()
                .max_capacity(CAPACITY)
                .eviction_policy(EvictionPolicy::lru()) // always admits the newest
                .time_to_live(INVALIDATED_LIFE)
                .build_with_hasher(RandomState::default()),
            all_invalidated: Arc::default(),
            hearing,
        }
    }

    /// `Some(None)` if it is known to be removed.
    pub fn get(&self, id: &K) -> Option<Option<Arc<T>>> {
        if !self.hearing.is_on() {
            return None;
        }
        match self.entities.get(id) {
            Some(entity) => Some(Some(entity)),
            None => self.removed.contains_key(id).then_some(None),
        }
    }

    /// Inserts the result of a read that began at `since`, unless it was invalidated since then. `None`: it was
    /// removed.
    pub fn insert(&self, id: K, entity: Option<&Arc<T>>, since: Instant) {
        if self.was_invalidated(&id, since) {
            return;
        }
        match entity {
            Some(entity) => self.entities.insert(id, Arc::clone(entity)),
            None => self.removed.insert(id, ()),
        }
        // An invalidation between the check and the insertion found nothing to remove.
        if self.was_invalidated(&id, since) {
            self.remove(&id);
        }
    }

    pub fn invalidate(&self, id: K) {
        self.invalidated.insert(id, Instant::now());
        self.remove(&id);
    }

    pub fn invalidate_all(&self) {
        *self.all_invalidated.lock() = Some(Instant::now());
        self.entities.invalidate_all();
        self.removed.invalidate_all();
    }

    fn was_invalidated(&self, id: &K, since: Instant) -> bool {
        let all = *self.all_invalidated.lock();
        self.invalidated.get(id).into_iter().chain(all).any(|at| at >= since)
    }

    fn remove(&self, id: &K) {
        self.entities.invalidate(id);
        self.removed.invalidate(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Group, entity_cache::CachedEntity};
    use plaudit_catalogue::primitives::{GroupId, UserId};

    fn group() -> Arc<Group> {
        let id = "1".parse().unwrap();
        let (name, description) = ("Readers".to_owned(), String::new());
        Arc::new(Group {
            id: GroupId(id),
            key: None,
            owner: UserId(id),
            name,
            description,
            created_at: Default::default(),
            edited_at: None,
        })
    }

    #[test]
    fn a_read_from_before_an_invalidation_is_not_cached_and_one_from_after_it_is() {
        let (cache, group) = (LocalCache::new(MEMORY, Group::text_bytes, Hearing::on()), group());
        let before = Instant::now();
        cache.insert(group.id, Some(&group), before);
        assert_eq!(cache.get(&group.id), Some(Some(Arc::clone(&group))));
        cache.invalidate(group.id);
        assert_eq!(cache.get(&group.id), None);
        cache.insert(group.id, Some(&group), before);
        cache.insert(group.id, None, before);
        assert_eq!(cache.get(&group.id), None);
        let after = || Instant::now() + Duration::from_nanos(1);
        cache.insert(group.id, None, after());
        assert_eq!(cache.get(&group.id), Some(None));
        cache.invalidate_all();
        cache.insert(group.id, Some(&group), before);
        assert_eq!(cache.get(&group.id), None);
        cache.insert(group.id, Some(&group), after());
        assert_eq!(cache.get(&group.id), Some(Some(group)));
    }

    #[test]
    fn texts_are_bounded_by_bytes_and_not_by_their_number() {
        let cache = LocalCache::new(100_000, Group::text_bytes, Hearing::on());
        let fits = |bytes: usize| {
            cache.invalidate_all();
            for number in 1..=1_000 {
                let id = GroupId(number.to_string().parse().unwrap());
                let group = Group { id, description: "x".repeat(bytes), ..(*group()).clone() };
                cache.insert(id, Some(&Arc::new(group)), Instant::now() + Duration::from_nanos(1));
            }
            cache.entities.run_pending_tasks();
            assert!(cache.entities.weighted_size() <= 100_000);
            cache.entities.entry_count()
        };
        assert!((1..=9).contains(&fits(10_000)));
        assert!((100..=390).contains(&fits(1)));
    }
}
