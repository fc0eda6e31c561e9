//! Ids of notes, comments and groups by the app's keys.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use crate::entity_cache::{ReadThrough, place_of_text};
use plaudit_catalogue::{
    EntityKind,
    primitives::{Id, fault},
};
use plaudit_store::{
    StoreResult,
    coalescer::Coalescer,
    expiring::Expiring,
    redis::Redis,
    sql::{Db, content::keys},
};

const CAPACITY: u64 = 100_000;
/// Keys never change, and a failover of PostgreSQL that may have lost some drops all: this only frees memory.
const LIFE: Duration = Duration::from_mins(1);

/// Ids by keys, as read. What does not exist is not remembered, so that creation needs no invalidation.
pub(crate) struct AppKeyCache {
    ids: Expiring<KindAndKey, Id>,
    row_reads: Coalescer<KindAndKey, Id>,
    redis: Redis,
    db: Db,
}

type KindAndKey = (EntityKind, String);

impl AppKeyCache {
    pub fn new(redis: Redis, db: Db) -> Self {
        let ids = Expiring::of_entries(CAPACITY, fault::period("cache.local", LIFE));
        Self { ids, row_reads: Coalescer::with(db.row_turns()), redis, db }
    }

    /// PostgreSQL may have lost the newest keys.
    pub fn forget_all(&self) {
        self.ids.clear();
    }

    /// Ids in the order of the keys.
    pub async fn find(&self, kind: EntityKind, keys: &[&str]) -> StoreResult<Vec<Option<Id>>> {
        let keys: Vec<KindAndKey> = keys.iter().map(|key| (kind, (*key).to_owned())).collect();
        self.ids.get_or_read(&keys, |keys| self.read(keys)).await
    }

    async fn read(&self, keys: Vec<KindAndKey>) -> StoreResult<HashMap<KindAndKey, Id>> {
        let place =
            |(kind, key): &KindAndKey| place_of_text(&self.redis, format!("key:{}:{key}", kind.name()));
        let reading = ReadThrough { redis: &self.redis, db: &self.db, place: &place, with_texts: true };
        let found = match reading.read::<Id, _>(keys.clone(), |keys| read_ids(self.db.clone(), keys)).await {
            // A key never changes, so this is not stale.
            Err(error) if error.is_redis_away() => {
                let db = self.db.clone();
                return self.row_reads.get(&keys, |keys| read_ids(db, keys)).await;
            }
            found => found?,
        };
        let whole = found.into_iter().map(|(key, found)| Ok(found?.whole().map(|id| (key, id))));
        whole.filter_map(Result::transpose).collect()
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
