//! Ids of notes, comments and groups by the app's keys.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use moka::sync::Cache;

use crate::entity_cache::{Cached, ReadThrough, place_of_text};
use plaudit_catalogue::{
    EntityKind,
    primitives::{Id, fault},
};
use plaudit_store::{
    StoreResult,
    redis::Redis,
    sql::{Db, RowReads, content::keys},
};

const CAPACITY: u64 = 100_000;
/// Keys never change, and a failover of PostgreSQL that may have lost some drops all: this only frees memory.
const LIFE: Duration = Duration::from_secs(60);

/// Ids by keys, as read. What does not exist is not remembered, so that creation needs no invalidation.
pub(crate) struct KeyCache {
    ids: Cache<KindAndKey, Id>,
    row_reads: RowReads<KindAndKey, Id>,
    redis: Redis,
    db: Db,
}

type KindAndKey = (EntityKind, String);

impl KeyCache {
    pub fn new(redis: Redis, db: Db) -> Self {
        let ids = Cache::builder().max_capacity(CAPACITY);
        let ids = ids.time_to_live(fault::period("cache.local", LIFE)).build();
        Self { ids, row_reads: RowReads::new(db.clone()), redis, db }
    }

    /// PostgreSQL may have lost the newest keys.
    pub fn forget_all(&self) {
        self.ids.invalidate_all();
    }

    /// Ids in the order of the keys.
    pub async fn find(&self, kind: EntityKind, keys: &[&str]) -> StoreResult<Vec<Option<Id>>> {
        let (redis, db) = (&self.redis, &self.db);
        let known: Vec<Option<Id>> =
            keys.iter().map(|key| self.ids.get(&(kind, (*key).to_owned()))).collect();
        let of_missing = keys.iter().zip(&known).filter(|(_, id)| id.is_none());
        let mut missing: Vec<String> = of_missing.map(|(key, _)| (*key).to_owned()).collect();
        if missing.is_empty() {
            return Ok(known);
        }
        missing.sort_unstable();
        missing.dedup();
        let place = |key: &String| place_of_text(redis, format!("key:{}:{key}", kind.name()));
        let reading = ReadThrough { redis, db, place: &place, with_texts: true };
        let load = |keys: Vec<String>| async move {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            Ok(keys::ids_by_keys(db, kind, &keys).await?.into_iter().collect())
        };
        let mut read = HashMap::with_capacity(missing.len());
        let found = match reading.read::<Id, _>(missing.clone(), load).await {
            // A key never changes, so this is not stale.
            Err(error) if error.is_redis_away() => {
                let keys: Vec<KindAndKey> = missing.into_iter().map(|key| (kind, key)).collect();
                let found = self.row_reads.get(&keys, read_ids).await?.into_iter();
                found.map(|((_, key), id)| (key, Ok(Cached::Whole(id)))).collect()
            }
            found => found?,
        };
        for (key, found) in found {
            if let Some(id) = found?.whole() {
                self.ids.insert((kind, key.clone()), id);
                read.insert(key, id);
            }
        }
        Ok(keys.iter().zip(known).map(|(key, id)| id.or_else(|| read.get(*key).copied())).collect())
    }
}

async fn read_ids(db: Db, keys: Vec<KindAndKey>) -> StoreResult<HashMap<KindAndKey, Id>> {
    let mut by_kind = BTreeMap::<EntityKind, Vec<&str>>::new();
    for (kind, key) in &keys {
        by_kind.entry(*kind).or_default().push(key);
    }
    let mut ids = HashMap::with_capacity(keys.len());
    for (kind, keys) in by_kind {
        let found = keys::ids_by_keys(&db, kind, &keys).await?;
        ids.extend(found.into_iter().map(|(key, id)| ((kind, key), id)));
    }
    Ok(ids)
}
