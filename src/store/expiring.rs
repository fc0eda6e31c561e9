//! Plain cache of a process: values by key, each for a time, within a budget. Values that were used lately or often are
//! evicted last.

use std::{
    borrow::Borrow,
    collections::{HashMap, HashSet},
    hash::Hash,
    time::Duration,
};

use foldhash::fast::RandomState;
use moka::sync::Cache;

/// Clones share one cache.
pub struct Expiring<K, V>(Cache<K, V, RandomState>);

impl<K, V> Clone for Expiring<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> Expiring<K, V>
where
    K: Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// For at most so many values.
    pub fn of_entries(entries: u64, life: Duration) -> Self {
        let cache = Cache::builder().max_capacity(entries).time_to_live(life);
        Self(cache.build_with_hasher(RandomState::default()))
    }

    /// For at most so many bytes.
    pub fn of_bytes(bytes: u64, life: Duration, size: impl Fn(&V) -> usize + Send + Sync + 'static) -> Self {
        let weigh = move |_: &K, value: &V| size(value).try_into().unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(bytes).weigher(weigh).time_to_live(life);
        Self(cache.build_with_hasher(RandomState::default()))
    }

    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key)
    }

    pub fn insert(&self, key: K, value: V) {
        self.0.insert(key, value);
    }

    pub fn remove<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.0.invalidate(key);
    }

    pub fn clear(&self) {
        self.0.invalidate_all();
    }

    /// Values in the order of the keys. Those that are not here come from `read`, and are kept.
    ///
    /// # Errors
    /// `read` fails.
    pub async fn get_or_read<Q, B, F, E>(
        &self,
        keys: &[B],
        read: impl FnOnce(Vec<K>) -> F,
    ) -> Result<Vec<Option<V>>, E>
    where
        K: Clone + Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
        B: Borrow<Q>,
        F: Future<Output = Result<HashMap<K, V>, E>>,
    {
        let known: Vec<Option<V>> = keys.iter().map(|key| self.get(key.borrow())).collect();
        if known.iter().all(Option::is_some) {
            return Ok(known);
        }
        let of_missing = keys.iter().zip(&known).filter(|(_, known)| known.is_none());
        let missing: HashSet<&Q> = of_missing.map(|(key, _)| key.borrow()).collect();
        let read = read(missing.into_iter().map(ToOwned::to_owned).collect()).await?;
        for (key, value) in &read {
            self.insert(key.clone(), value.clone());
        }
        Ok(keys
            .iter()
            .zip(known)
            .map(|(key, known)| known.or_else(|| read.get(key.borrow()).cloned()))
            .collect())
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Expiring<K, ()> {
    /// Whether the key was not here. It is from now on.
    pub fn is_first(&self, key: &K) -> bool {
        let is_first = self.get(key).is_none();
        if is_first {
            self.insert(key.clone(), ());
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_keys_that_are_not_here_are_read_and_each_once() {
        let cache = Expiring::<String, usize>::of_entries(10, Duration::from_secs(60));
        let read = |expected: &'static [&'static str]| {
            move |mut keys: Vec<String>| async move {
                keys.sort_unstable();
                assert_eq!(keys, expected);
                let lengths =
                    keys.into_iter().filter(|key| key != "none").map(|key| (key.clone(), key.len()));
                Ok::<_, ()>(lengths.collect())
            }
        };
        let found = cache.get_or_read::<str, _, _, _>(&["a", "none", "a"], read(&["a", "none"])).await;
        assert_eq!(found, Ok(vec![Some(1), None, Some(1)]));
        let found = cache.get_or_read::<str, _, _, _>(&["bb", "a", "none"], read(&["bb", "none"])).await;
        assert_eq!(found, Ok(vec![Some(2), Some(1), None]));
        let found = cache.get_or_read::<str, _, _, _>(&["bb", "a"], |_| async { Err(()) }).await;
        assert_eq!(found, Ok(vec![Some(2), Some(1)]));
        cache.remove("a");
        assert_eq!(cache.get_or_read::<str, _, _, _>(&["bb", "a"], |_| async { Err(()) }).await, Err(()));
    }

    #[test]
    fn bytes_bound_a_cache_whose_values_are_weighed() {
        let cache =
            Expiring::<usize, String>::of_bytes(100_000, Duration::from_secs(60), |text| 250 + text.len());
        let fits = |bytes: usize| {
            cache.clear();
            (1..=1_000).for_each(|number| cache.insert(number, "x".repeat(bytes)));
            cache.0.run_pending_tasks();
            assert!(cache.0.weighted_size() <= 100_000);
            cache.0.entry_count()
        };
        assert!((1..=9).contains(&fits(10_000)));
        assert!((100..=398).contains(&fits(1)));
    }
}
