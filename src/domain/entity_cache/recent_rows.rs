//! Rows while Redis is away: read from PostgreSQL, and used for a second, so that many requests are one statement.

use std::{collections::HashMap, sync::Arc, time::Duration};

use foldhash::fast::RandomState;
use moka::sync::Cache;

use super::{Cached, CachedEntity, Found};
use plaudit_counting::hub::Hearing;
use plaudit_store::{
    StoreResult,
    sql::{Db, RowReads},
};

const FRESH: Duration = Duration::from_secs(1);
const CAPACITY: u64 = 10_000;

/// Clones share one cache.
pub(super) struct RecentRows<T: CachedEntity> {
    recent: Cache<T::Id, Arc<T>, RandomState>,
    row_reads: RowReads<T::Id, Arc<T>>,
    hearing: Hearing,
}

impl<T: CachedEntity> Clone for RecentRows<T> {
    fn clone(&self) -> Self {
        let (row_reads, hearing) = (self.row_reads.clone(), self.hearing.clone());
        Self { recent: self.recent.clone(), row_reads, hearing }
    }
}

impl<T: CachedEntity> RecentRows<T> {
    pub fn new(db: Db, hearing: Hearing) -> Self {
        let recent = Cache::builder().max_capacity(CAPACITY).time_to_live(FRESH);
        let row_reads = RowReads::new(db);
        Self { recent: recent.build_with_hasher(RandomState::default()), row_reads, hearing }
    }

    pub async fn read(&self, ids: &[T::Id]) -> StoreResult<HashMap<T::Id, Found<Arc<T>>>> {
        self.hearing.note_stale_read();
        let mut found = HashMap::with_capacity(ids.len());
        let mut missing = Vec::new();
        for id in ids {
            match self.recent.get(id) {
                Some(row) => drop(found.insert(*id, Ok(Cached::Whole(row)))),
                None => missing.push(*id),
            }
        }
        if !missing.is_empty() {
            let fetch = |db: Db, ids: Vec<T::Id>| async move {
                let rows = T::fetch(&db, &ids).await?.into_iter();
                Ok(rows.map(|row| (row.id(), Arc::new(row))).collect())
            };
            for (id, row) in self.row_reads.get(&missing, fetch).await? {
                self.recent.insert(id, Arc::clone(&row));
                found.insert(id, Ok(Cached::Whole(row)));
            }
        }
        Ok(found)
    }
}
