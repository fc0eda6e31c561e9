//! Rows while Redis is away: read from PostgreSQL, and used for a second, so that many requests are one statement.

use std::{collections::HashMap, sync::Arc, time::Duration};

use foldhash::fast::RandomState;
use moka::sync::Cache;

use super::{Cached, CachedEntity, Found};
use crate::{
    hub::Hearing,
    store::{StoreResult, sql::Db},
};

const FRESH: Duration = Duration::from_secs(1);
const CAPACITY: u64 = 10_000;

/// Clones share one cache.
pub(super) struct RecentRows<T: CachedEntity> {
    recent: Cache<T::Id, Option<Arc<T>>, RandomState>,
    db: Db,
    hearing: Hearing,
}

impl<T: CachedEntity> Clone for RecentRows<T> {
    fn clone(&self) -> Self {
        Self { recent: self.recent.clone(), db: self.db.clone(), hearing: self.hearing.clone() }
    }
}

impl<T: CachedEntity> RecentRows<T> {
    pub fn new(db: Db, hearing: Hearing) -> Self {
        let recent = Cache::builder().max_capacity(CAPACITY).time_to_live(FRESH);
        Self { recent: recent.build_with_hasher(RandomState::default()), db, hearing }
    }

    pub async fn read(&self, ids: &[T::Id]) -> StoreResult<HashMap<T::Id, Found<Arc<T>>>> {
        self.hearing.note_stale_read();
        let mut found = HashMap::with_capacity(ids.len());
        let mut missing = Vec::new();
        for id in ids {
            match self.recent.get(id) {
                Some(row) => drop(found.insert(*id, Ok(row.map(Cached::Whole)))),
                None => missing.push(*id),
            }
        }
        if !missing.is_empty() {
            let _permit = self.db.row_permit().await?;
            let rows = T::fetch(&self.db, &missing).await?;
            let mut rows: HashMap<T::Id, Arc<T>> =
                rows.into_iter().map(|row| (row.id(), Arc::new(row))).collect();
            for id in missing {
                let row = rows.remove(&id);
                self.recent.insert(id, row.clone());
                found.insert(id, Ok(row.map(Cached::Whole)));
            }
        }
        Ok(found)
    }
}
