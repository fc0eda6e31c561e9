//! Request coalescing (single flight): concurrent fetches of the same key share one fetch.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use futures_util::future::{BoxFuture, FutureExt, Shared};
use parking_lot::Mutex;

use super::{StoreError, StoreResult, tally};

/// Result of one fetch: the values of those keys that exist.
type FetchResult<K, V> = Result<Arc<HashMap<K, V>>, Arc<StoreError>>;
/// A fetch that several callers wait for.
pub(super) type Flight<K, V> = Shared<BoxFuture<'static, FetchResult<K, V>>>;
/// Fetches in progress: by key, each with its number.
type UnderWay<K, V> = HashMap<K, (u64, Flight<K, V>)>;

/// Joins concurrent fetches of the same keys.
pub struct SingleFlight<K, V> {
    under_way: Arc<Mutex<UnderWay<K, V>>>,
    fetches: AtomicU64,
}

impl<K, V> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self { under_way: Arc::default(), fetches: AtomicU64::default() }
    }
}

impl<K, V> SingleFlight<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Fetches the keys that are not being fetched, all in one call, and waits for the running fetches of the others.
    /// What such a one did not find is fetched once more: it may have been created after that fetch began.
    /// A fetch continues when its first caller is cancelled.
    pub async fn get<F>(
        &self,
        keys: &[K],
        fetch: impl FnOnce(Vec<K>) -> F + Clone,
    ) -> StoreResult<HashMap<K, V>>
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        let mut found = HashMap::with_capacity(keys.len());
        let doubtful = self.get_once(keys, fetch.clone(), &mut found).await?;
        if !doubtful.is_empty() {
            // Those that were joined have ended, so any that is joined now began after this call.
            self.get_once(&doubtful, fetch, &mut found).await?;
        }
        Ok(found)
    }

    /// Returns the keys that a fetch of somebody else did not find.
    async fn get_once<F>(
        &self,
        keys: &[K],
        fetch: impl FnOnce(Vec<K>) -> F,
        found: &mut HashMap<K, V>,
    ) -> StoreResult<Vec<K>>
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        let (flights, own) = self.join_or_begin(keys, fetch);
        for flight in flights {
            let fetched = flight.await.map_err(|error| StoreError::clone(&error))?;
            for key in keys {
                if let Some(value) = fetched.get(key) {
                    found.insert(key.clone(), value.clone());
                }
            }
        }
        let is_doubtful = |key: &&K| !own.contains(*key) && !found.contains_key(*key);
        Ok(keys.iter().filter(is_doubtful).cloned().collect())
    }

    /// Later callers do not join the running fetch of this key, because its result may be outdated.
    pub fn leave(&self, key: &K) {
        self.under_way.lock().remove(key);
    }

    /// The same for all keys.
    pub fn leave_all(&self) {
        self.under_way.lock().clear();
    }

    /// Also returns the keys that are fetched for this caller.
    fn join_or_begin<F>(&self, keys: &[K], fetch: impl FnOnce(Vec<K>) -> F) -> (Vec<Flight<K, V>>, HashSet<K>)
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        let mut under_way = self.under_way.lock();
        let (mut joined, mut own) = (Vec::<Flight<K, V>>::new(), HashSet::new());
        for key in keys {
            match under_way.get(key) {
                Some((_, flight)) if joined.iter().any(|other| other.ptr_eq(flight)) => {}
                Some((_, flight)) => joined.push(flight.clone()),
                None => {
                    own.insert(key.clone());
                }
            }
        }
        if !own.is_empty() {
            let keys: Vec<K> = own.iter().cloned().collect();
            let number = self.fetches.fetch_add(1, Relaxed);
            let flight = self.begin(number, keys.clone(), fetch(keys.clone()));
            under_way.extend(keys.into_iter().map(|key| (key, (number, flight.clone()))));
            joined.push(flight);
        }
        (joined, own)
    }

    fn begin<F>(&self, number: u64, keys: Vec<K>, fetch: F) -> Flight<K, V>
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        let landing = Landing { under_way: Arc::clone(&self.under_way), number, keys };
        start(async move {
            let fetched = fetch.await;
            drop(landing);
            fetched
        })
    }
}

/// Starts a fetch, which continues when its callers are cancelled. A panic is an error of each of them.
pub(super) fn start<K, V>(
    fetch: impl Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
) -> Flight<K, V>
where
    K: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let task = tally::spawn(fetch);
    let flight = async move {
        let fetched = task.await.unwrap_or_else(|panic| Err(StoreError::Unexpected(panic.to_string())));
        fetched.map(Arc::new).map_err(Arc::new)
    };
    flight.boxed().shared()
}

/// Removes its fetch from the fetches in progress when dropped, also after a panic: otherwise every later caller
/// would get that panic.
struct Landing<K: Eq + Hash, V> {
    under_way: Arc<Mutex<UnderWay<K, V>>>,
    number: u64,
    keys: Vec<K>,
}

impl<K: Eq + Hash, V> Drop for Landing<K, V> {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock();
        for key in &self.keys {
            if under_way.get(key).is_some_and(|(other, _)| *other == self.number) {
                under_way.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use tokio::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn many_callers_at_once_cause_one_fetch() {
        let flights = Arc::new(SingleFlight::<u32, u32>::default());
        let fetches = Arc::new(AtomicU32::new(0));
        let gate = Arc::new(Barrier::new(2));
        let callers: Vec<_> = (0..10)
            .map(|_| {
                let (flights, fetches, gate) = (flights.clone(), fetches.clone(), gate.clone());
                tokio::spawn(async move {
                    let fetch = |keys: Vec<u32>| async move {
                        fetches.fetch_add(1, SeqCst);
                        gate.wait().await;
                        Ok(keys.into_iter().map(|key| (key, key * 10)).collect())
                    };
                    flights.get(&[1, 2], fetch).await.unwrap()
                })
            })
            .collect();
        // All ten have joined once they have run up to their first wait.
        tokio::task::yield_now().await;
        gate.wait().await;
        for caller in callers {
            assert_eq!(caller.await.unwrap(), HashMap::from([(1, 10), (2, 20)]));
        }
        assert_eq!(fetches.load(SeqCst), 1);
    }

    #[tokio::test]
    async fn a_caller_after_a_change_does_not_join_an_earlier_fetch() {
        let flights = Arc::new(SingleFlight::<u32, u32>::default());
        let gate = Arc::new(Barrier::new(2));
        for leave in [|flights: &SingleFlight<u32, u32>| flights.leave(&1), SingleFlight::leave_all] {
            let (other, opens) = (Arc::clone(&flights), Arc::clone(&gate));
            let before = tokio::spawn(async move {
                let fetch = |_| async move {
                    opens.wait().await;
                    Ok(HashMap::from([(1, 5)]))
                };
                other.get(&[1], fetch).await.unwrap()
            });
            tokio::task::yield_now().await;
            leave(&flights);
            let after = flights.get(&[1], |_| async move { Ok(HashMap::from([(1, 6)])) }).await.unwrap();
            assert_eq!(after, HashMap::from([(1, 6)]));
            gate.wait().await;
            assert_eq!(before.await.unwrap(), HashMap::from([(1, 5)]));
        }
    }

    #[tokio::test]
    async fn what_a_joined_fetch_did_not_find_is_fetched_once_more_for_all_who_joined_it() {
        let flights = Arc::new(SingleFlight::<u32, u32>::default());
        let (rows, fetches) = (Arc::new(Mutex::new(HashMap::from([(1, 10)]))), Arc::new(AtomicU32::new(0)));
        let gate = Arc::new(Barrier::new(2));
        let callers: Vec<_> = (0..10)
            .map(|_| {
                let (flights, rows, fetches, gate) =
                    (flights.clone(), rows.clone(), fetches.clone(), gate.clone());
                tokio::spawn(async move {
                    let fetch = |_| async move {
                        let (read, is_first) = (rows.lock().clone(), fetches.fetch_add(1, SeqCst) == 0);
                        if is_first {
                            gate.wait().await;
                        }
                        Ok(read)
                    };
                    flights.get(&[1, 2], fetch).await.unwrap().get(&2).copied()
                })
            })
            .collect();
        tokio::task::yield_now().await;
        rows.lock().insert(2, 20); // after the first fetch has read
        gate.wait().await;
        let mut found = Vec::new();
        for caller in callers {
            found.push(caller.await.unwrap());
        }
        found.sort_unstable();
        assert_eq!(found, [[None].as_slice(), &[Some(20); 9]].concat());
        assert_eq!(fetches.load(SeqCst), 2);
    }

    #[tokio::test]
    async fn a_panic_fails_the_waiting_callers_and_not_later_ones() {
        let flights = SingleFlight::<u32, u32>::default();
        for _ in 0..2 {
            let failed = flights.get(&[1], |_| async move { panic!("a bug") }).await;
            assert!(matches!(failed, Err(StoreError::Unexpected(_))));
        }
        let found = flights.get(&[1], |_| async move { Ok(HashMap::from([(1, 5)])) }).await.unwrap();
        assert_eq!(found[&1], 5);
    }

    #[tokio::test]
    async fn the_next_caller_fetches_again() {
        let flights = SingleFlight::<u32, u32>::default();
        for expected in [5, 6] {
            let found =
                flights.get(&[1], |_| async move { Ok(HashMap::from([(1, expected)])) }).await.unwrap();
            assert_eq!(found[&1], expected);
        }
    }
}
