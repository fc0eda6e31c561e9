//! Request coalescing: callers who want the same at the same moment share one fetch.
//!
//! A fetch that begins at once takes callers of its keys until it ends (single flight). One that must wait for its turn
//! takes callers of any keys until it begins (batching): so many requests cost a few large statements, and each is
//! answered by a statement that began after it asked.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::Hash,
    mem::take,
    sync::Arc,
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt, Shared};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{StoreError, StoreResult, tally};

/// Keys of a fetch that waits, more or less: callers that come later wait for the next one.
const MOST_KEYS: usize = 2_000;
/// How long a fetch waits for its turn.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Result of one fetch: the values of those keys that exist.
type FetchResult<K, V> = Result<Arc<HashMap<K, V>>, Arc<StoreError>>;
/// A fetch that several callers wait for.
type Flight<K, V> = Shared<BoxFuture<'static, FetchResult<K, V>>>;

/// Turns of fetches. Clones share them.
#[derive(Clone)]
pub struct Turns(Arc<Semaphore>);

impl Turns {
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    /// # Errors
    /// [`StoreError::SqlBusy`] after a wait.
    pub async fn wait(&self) -> StoreResult<OwnedSemaphorePermit> {
        let turn = tokio::time::timeout(LONGEST_WAIT, Arc::clone(&self.0).acquire_owned()).await;
        let turn = turn.ok().and_then(Result::ok);
        turn.ok_or_else(|| StoreError::SqlBusy("too many rows are read at once".to_owned()))
    }
}

/// Joins fetches by keys of one kind. Clones share their fetches.
pub struct Coalescer<K, V> {
    under_way: Arc<Mutex<UnderWay<K, V>>>,
    turns: Option<Turns>,
}

/// Fetches that take callers.
struct UnderWay<K, V> {
    /// By key, each with its number.
    by_key: HashMap<K, (u64, Flight<K, V>)>,
    /// Those that wait for their turns: by number, with their keys so far. The last one takes more.
    waiting: BTreeMap<u64, (Flight<K, V>, Vec<K>)>,
    begun: u64,
}

impl<K, V> Default for Coalescer<K, V> {
    fn default() -> Self {
        let under_way = UnderWay { by_key: HashMap::new(), waiting: BTreeMap::new(), begun: 0 };
        Self { under_way: Arc::new(Mutex::new(under_way)), turns: None }
    }
}

impl<K, V> Clone for Coalescer<K, V> {
    fn clone(&self) -> Self {
        Self { under_way: Arc::clone(&self.under_way), turns: self.turns.clone() }
    }
}

impl<K, V> Coalescer<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// One whose fetches wait for their turns.
    pub fn with(turns: &Turns) -> Self {
        Self { turns: Some(turns.clone()), ..Self::default() }
    }

    /// Values of those keys that have one: fetches the keys that no fetch under way has, all in one call. What a fetch
    /// did not find that began before this call is fetched once more, because it may have been created since.
    /// A fetch continues when its first caller is cancelled.
    ///
    /// # Errors
    /// The fetch fails; [`StoreError::SqlBusy`] if its turn does not come soon.
    pub async fn get<F>(
        &self,
        keys: &[K],
        fetch: impl FnOnce(Vec<K>) -> F + Clone + Send + 'static,
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

    /// Returns the keys that a fetch did not find that began before.
    async fn get_once<F>(
        &self,
        keys: &[K],
        fetch: impl FnOnce(Vec<K>) -> F + Send + 'static,
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
        let began_before = |key: &&K| self.turns.is_none() && !own.contains(*key);
        Ok(keys.iter().filter(|key| began_before(key) && !found.contains_key(*key)).cloned().collect())
    }

    /// Later callers do not join the running fetch of this key, because its result may be outdated.
    pub fn leave(&self, key: &K) {
        self.under_way.lock().by_key.remove(key);
    }

    /// The same for all keys.
    pub fn leave_all(&self) {
        self.under_way.lock().by_key.clear();
    }

    /// Also returns the keys that are fetched for this caller.
    fn join_or_begin<F>(
        &self,
        keys: &[K],
        fetch: impl FnOnce(Vec<K>) -> F + Send + 'static,
    ) -> (Vec<Flight<K, V>>, HashSet<K>)
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        let mut under_way = self.under_way.lock();
        let (mut joined, mut own) = (Vec::<Flight<K, V>>::new(), HashSet::new());
        for key in keys {
            match under_way.by_key.get(key) {
                Some((_, flight)) if joined.iter().any(|other| other.ptr_eq(flight)) => {}
                Some((_, flight)) => joined.push(flight.clone()),
                None => {
                    own.insert(key.clone());
                }
            }
        }
        if own.is_empty() {
            return (joined, own);
        }
        let own_keys: Vec<K> = own.iter().cloned().collect();
        let last = under_way.waiting.iter_mut().next_back();
        let (number, flight) = match last.filter(|(_, (_, taken))| taken.len() < MOST_KEYS) {
            Some((number, (flight, taken))) => {
                taken.extend(own_keys.iter().cloned());
                (*number, flight.clone())
            }
            None => self.begin(&mut under_way, own_keys.clone(), fetch),
        };
        under_way.by_key.extend(own_keys.into_iter().map(|key| (key, (number, flight.clone()))));
        if !joined.iter().any(|other| other.ptr_eq(&flight)) {
            joined.push(flight);
        }
        (joined, own)
    }

    fn begin<F>(
        &self,
        under_way: &mut UnderWay<K, V>,
        keys: Vec<K>,
        fetch: impl FnOnce(Vec<K>) -> F + Send + 'static,
    ) -> (u64, Flight<K, V>)
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        under_way.begun += 1;
        let number = under_way.begun;
        let mut landing = Landing { under_way: Arc::clone(&self.under_way), number, keys: Vec::new() };
        let Some(turns) = self.turns.clone() else {
            landing.keys.clone_from(&keys);
            let fetch = fetch(keys);
            let flight = start(async move {
                let _landing = landing;
                fetch.await
            });
            return (number, flight);
        };
        let flight = start(async move {
            let turn = turns.wait().await;
            let keys = landing.close();
            let _turn = turn?;
            fetch(keys).await
        });
        under_way.waiting.insert(number, (flight.clone(), keys));
        (number, flight)
    }
}

/// Starts a fetch, which continues when its callers are cancelled. A panic is an error of each of them.
fn start<K, V>(fetch: impl Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static) -> Flight<K, V>
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

/// Ends the time in which a fetch takes callers; when it is dropped, too, also after a panic: otherwise every later
/// caller would get that panic.
struct Landing<K: Clone + Eq + Hash, V> {
    under_way: Arc<Mutex<UnderWay<K, V>>>,
    number: u64,
    /// Of one that waited for no turn.
    keys: Vec<K>,
}

impl<K: Clone + Eq + Hash, V> Landing<K, V> {
    /// The keys of the fetch; none if it was closed before.
    fn close(&mut self) -> Vec<K> {
        let mut under_way = self.under_way.lock();
        let waiting = under_way.waiting.remove(&self.number);
        let keys = waiting.map_or_else(|| take(&mut self.keys), |(_, keys)| keys);
        for key in &keys {
            if under_way.by_key.get(key).is_some_and(|(number, _)| *number == self.number) {
                under_way.by_key.remove(key);
            }
        }
        keys
    }
}

impl<K: Clone + Eq + Hash, V> Drop for Landing<K, V> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use tokio::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn many_callers_at_once_cause_one_fetch() {
        let flights = Arc::new(Coalescer::<u32, u32>::default());
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
        let flights = Arc::new(Coalescer::<u32, u32>::default());
        let gate = Arc::new(Barrier::new(2));
        for leave in [|flights: &Coalescer<u32, u32>| flights.leave(&1), Coalescer::leave_all] {
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
        let flights = Arc::new(Coalescer::<u32, u32>::default());
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
        let flights = Coalescer::<u32, u32>::default();
        for _ in 0..2 {
            let failed = flights.get(&[1], |_| async move { panic!("a bug") }).await;
            assert!(matches!(failed, Err(StoreError::Unexpected(_))));
        }
        let found = flights.get(&[1], |_| async move { Ok(HashMap::from([(1, 5)])) }).await.unwrap();
        assert_eq!(found[&1], 5);
    }

    #[tokio::test]
    async fn the_next_caller_fetches_again() {
        let flights = Coalescer::<u32, u32>::default();
        for expected in [5, 6] {
            let found =
                flights.get(&[1], move |_| async move { Ok(HashMap::from([(1, expected)])) }).await.unwrap();
            assert_eq!(found[&1], expected);
        }
    }

    /// Doubles each key, and counts its calls.
    fn doubled(
        fetches: &Arc<AtomicU32>,
    ) -> impl FnOnce(Vec<u32>) -> BoxFuture<'static, StoreResult<HashMap<u32, u32>>> + Clone + Send + 'static
    {
        let fetches = Arc::clone(fetches);
        move |keys| {
            fetches.fetch_add(1, SeqCst);
            async move { Ok(keys.into_iter().map(|key| (key, key * 2)).collect()) }.boxed()
        }
    }

    async fn all_turns(turns: &Turns) -> Vec<OwnedSemaphorePermit> {
        futures_util::future::try_join_all((0..4).map(|_| turns.wait())).await.unwrap()
    }

    #[tokio::test]
    async fn callers_that_wait_for_a_turn_share_a_statement_and_get_what_they_asked_for() {
        let turns = Turns::new(4);
        let (reads, fetches) = (Coalescer::with(&turns), Arc::default());
        let taken = all_turns(&turns).await;
        let (reads_of, count) = (&reads, &fetches);
        let callers =
            (0..10).map(|key| async move { reads_of.get(&[key, 99], doubled(count)).await.unwrap() });
        let (found, ()) = tokio::join!(futures_util::future::join_all(callers), async { drop(taken) });
        for (key, found) in (0..).zip(found) {
            assert_eq!(found, HashMap::from([(key, key * 2), (99, 198)]));
        }
        assert_eq!(fetches.load(SeqCst), 1);
        reads.get(&[1], doubled(&fetches)).await.unwrap();
        assert_eq!(fetches.load(SeqCst), 2, "a read that has begun takes no keys");
    }

    #[tokio::test]
    async fn callers_that_wait_for_too_long_fail_and_later_ones_do_not() {
        let turns = Turns::new(4);
        let (reads, fetches) = (Coalescer::with(&turns), Arc::default());
        let taken = all_turns(&turns).await;
        let (one, two) = tokio::join!(reads.get(&[1], doubled(&fetches)), reads.get(&[2], doubled(&fetches)));
        assert!(matches!((one, two), (Err(StoreError::SqlBusy(_)), Err(StoreError::SqlBusy(_)))));
        drop(taken);
        assert_eq!(reads.get(&[3], doubled(&fetches)).await.unwrap(), HashMap::from([(3, 6)]));
    }

    #[tokio::test]
    async fn a_full_statement_takes_no_more_keys() {
        let (reads, fetches) = (Coalescer::with(&Turns::new(4)), Arc::default());
        let next = MOST_KEYS as u32;
        let (many, more): (Vec<u32>, [u32; 1]) = ((0..next).collect(), [next]);
        let (first, second) =
            tokio::join!(reads.get(&many, doubled(&fetches)), reads.get(&more, doubled(&fetches)));
        assert_eq!((first.unwrap().len(), second.unwrap()), (MOST_KEYS, HashMap::from([(next, next * 2)])));
        assert_eq!(fetches.load(SeqCst), 2);
    }
}
