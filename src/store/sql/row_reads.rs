//! Reads of what Redis answers as long as it is there, and of what it never knows. They share a few
//! connections, and those that wait for one become one statement: so many requests at once cost a few large
//! statements. Each answers only those who asked before its statement began.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    mem::take,
    sync::Arc,
};

use parking_lot::Mutex;

use super::Db;
use crate::{
    StoreError, StoreResult,
    single_flight::{Flight, start},
};

/// Keys of one statement, more or less: keys that come later wait for the next one.
const MOST_KEYS: usize = 2_000;

/// Reads by keys of one kind. Clones share their statements.
pub struct RowReads<K, V> {
    db: Db,
    /// The read that still takes keys.
    open: Arc<Mutex<Option<OpenRead<K, V>>>>,
}

struct OpenRead<K, V> {
    keys: Arc<Mutex<HashSet<K>>>,
    rows: Flight<K, V>,
}

impl<K, V> Clone for RowReads<K, V> {
    fn clone(&self) -> Self {
        Self { db: self.db.clone(), open: Arc::clone(&self.open) }
    }
}

impl<K, V> RowReads<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub fn new(db: Db) -> Self {
        Self { db, open: Arc::default() }
    }

    /// Values of those keys that have one. A read continues when its first caller is cancelled.
    ///
    /// # Errors
    /// [`StoreError::SqlBusy`] if no connection becomes free soon; see [`Db::row_permit`].
    pub async fn get<F>(
        &self,
        keys: &[K],
        fetch: impl FnOnce(Db, Vec<K>) -> F + Send + 'static,
    ) -> StoreResult<HashMap<K, V>>
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        let rows = self.join_or_begin(keys, fetch).await.map_err(|error| StoreError::clone(&error))?;
        Ok(keys.iter().filter_map(|key| Some((key.clone(), rows.get(key)?.clone()))).collect())
    }

    fn join_or_begin<F>(
        &self,
        keys: &[K],
        fetch: impl FnOnce(Db, Vec<K>) -> F + Send + 'static,
    ) -> Flight<K, V>
    where
        F: Future<Output = StoreResult<HashMap<K, V>>> + Send + 'static,
    {
        let mut open = self.open.lock();
        if let Some(round) = &*open {
            let mut taken = round.keys.lock();
            if taken.len() < MOST_KEYS {
                taken.extend(keys.iter().cloned());
                return round.rows.clone();
            }
        }
        let taken = Arc::new(Mutex::new(keys.iter().cloned().collect()));
        let closing = Closing { open: Arc::clone(&self.open), keys: Arc::clone(&taken) };
        let db = self.db.clone();
        let rows = start(async move {
            let permit = db.row_permit().await;
            let keys = closing.close();
            let _permit = permit?;
            fetch(db.clone(), keys).await
        });
        *open = Some(OpenRead { keys: taken, rows: rows.clone() });
        rows
    }
}

/// Ends the time in which a read takes keys; also when it is dropped.
struct Closing<K, V> {
    open: Arc<Mutex<Option<OpenRead<K, V>>>>,
    keys: Arc<Mutex<HashSet<K>>>,
}

impl<K, V> Closing<K, V> {
    /// The keys of the read.
    fn close(self) -> Vec<K> {
        let keys = Arc::clone(&self.keys);
        drop(self);
        let keys = take(&mut *keys.lock());
        keys.into_iter().collect()
    }
}

impl<K, V> Drop for Closing<K, V> {
    fn drop(&mut self) {
        self.open.lock().take_if(|round| Arc::ptr_eq(&round.keys, &self.keys));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use futures_util::future::{BoxFuture, FutureExt};
    use tokio::sync::SemaphorePermit;

    use super::*;
    use crate::sql::connection::pool::ROW_READS;

    /// Doubles each key, and counts its calls.
    fn doubled(
        fetches: &Arc<AtomicU32>,
    ) -> impl FnOnce(Db, Vec<u32>) -> BoxFuture<'static, StoreResult<HashMap<u32, u32>>> + Send + 'static
    {
        let fetches = Arc::clone(fetches);
        move |_, keys| {
            fetches.fetch_add(1, SeqCst);
            async move { Ok(keys.into_iter().map(|key| (key, key * 2)).collect()) }.boxed()
        }
    }

    async fn all_permits(db: &Db) -> Vec<SemaphorePermit<'_>> {
        let permits = (0..ROW_READS).map(|_| db.row_permit());
        futures_util::future::try_join_all(permits).await.unwrap()
    }

    #[tokio::test]
    async fn callers_that_wait_for_a_connection_share_a_statement_and_get_what_they_asked_for() {
        let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
        let (reads, fetches) = (RowReads::new(db.clone()), Arc::default());
        let permits = all_permits(&db).await;
        let (reads_of, count) = (&reads, &fetches);
        let callers =
            (0..10).map(|key| async move { reads_of.get(&[key, 99], doubled(count)).await.unwrap() });
        let (found, ()) = tokio::join!(futures_util::future::join_all(callers), async { drop(permits) });
        for (key, found) in (0..).zip(found) {
            assert_eq!(found, HashMap::from([(key, key * 2), (99, 198)]));
        }
        assert_eq!(fetches.load(SeqCst), 1);
        reads.get(&[1], doubled(&fetches)).await.unwrap();
        assert_eq!(fetches.load(SeqCst), 2, "a read that has begun takes no keys");
    }

    #[tokio::test]
    async fn callers_that_wait_for_too_long_fail_and_later_ones_do_not() {
        let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
        let (reads, fetches) = (RowReads::new(db.clone()), Arc::default());
        let permits = all_permits(&db).await;
        let (one, two) = tokio::join!(reads.get(&[1], doubled(&fetches)), reads.get(&[2], doubled(&fetches)));
        assert!(matches!((one, two), (Err(StoreError::SqlBusy(_)), Err(StoreError::SqlBusy(_)))));
        drop(permits);
        assert_eq!(reads.get(&[3], doubled(&fetches)).await.unwrap(), HashMap::from([(3, 6)]));
    }

    #[tokio::test]
    async fn a_full_statement_takes_no_more_keys() {
        let db = Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap();
        let (reads, fetches) = (RowReads::new(db), Arc::default());
        let many: Vec<u32> = (0..MOST_KEYS as u32).collect();
        let (first, second) =
            tokio::join!(reads.get(&many, doubled(&fetches)), reads.get(&[1], doubled(&fetches)));
        assert_eq!((first.unwrap().len(), second.unwrap()), (MOST_KEYS, HashMap::from([(1, 2)])));
        assert_eq!(fetches.load(SeqCst), 2);
    }
}
