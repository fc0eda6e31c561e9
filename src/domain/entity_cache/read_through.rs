//! Reading through the shared cache: from Redis in one round trip; entries that are missing or no longer fresh, from
//! PostgreSQL in one statement. While PostgreSQL is away, entries that are no longer fresh are used, and kept.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use plaudit_catalogue::primitives::ShardId;
use plaudit_store::{
    StoreError, StoreResult,
    redis::{CacheRead, Cached, CachedValue, Redis, ToCache, entities::cache},
    sql::Db,
};

/// One thing that was read, or why it could not be read.
pub type Found<T> = StoreResult<Cached<T>>;

/// What to read, and how.
pub struct ReadThrough<'a, K> {
    pub redis: &'a Redis,
    pub db: &'a Db,
    /// Where the cache has it.
    pub place: &'a (dyn Fn(&K) -> (ShardId, String) + Send + Sync),
    /// Whether an entity without its texts will not do.
    pub with_texts: bool,
}

impl<K: Clone + Eq + Hash> ReadThrough<'_, K> {
    /// `load` reads from PostgreSQL. What does not exist is missing from its answer, and from this one. Nothing
    /// of that is cached, so a read of what nobody has writes nothing, and a creation needs no invalidation.
    ///
    /// # Errors
    /// If Redis is away. If PostgreSQL is, each thing that is not cached has its error.
    pub async fn read<T, F>(
        &self,
        keys: Vec<K>,
        load: impl FnOnce(Vec<K>) -> F,
    ) -> StoreResult<HashMap<K, Found<T>>>
    where
        T: CachedValue,
        F: Future<Output = StoreResult<HashMap<K, T>>>,
    {
        let places: Vec<_> = keys.iter().map(self.place).collect();
        let cached = cache::cached_entities::<T>(self.redis, self.db.timeline(), &places).await?;
        let mut found = HashMap::with_capacity(keys.len());
        let mut missing = Vec::new();
        for ((key, place), cached) in keys.into_iter().zip(places).zip(cached) {
            match self.usable(&cached).filter(|(_, is_fresh)| *is_fresh) {
                Some((entity, _)) => drop(found.insert(key, Ok(entity))),
                None => missing.push((key, place, cached)),
            }
        }
        if !missing.is_empty() {
            match load(missing.iter().map(|(key, ..)| key.clone()).collect()).await {
                Ok(rows) => self.take_rows(rows, missing, &mut found).await,
                Err(error) if error.is_postgresql_away() => self.take_old(&error, missing, &mut found).await,
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// An entry that has what is wanted, and whether it is fresh.
    fn usable<T: CachedValue>(&self, cached: &CacheRead<T>) -> Option<(Cached<T>, bool)> {
        let entry = cached.entry.as_ref()?;
        let lacks = self.with_texts && matches!(entry.found, Cached::WithoutTexts(_));
        (!lacks).then(|| (entry.found.clone(), entry.is_fresh))
    }

    async fn take_rows<T: CachedValue>(
        &self,
        mut rows: HashMap<K, T>,
        missing: Vec<(K, (ShardId, String), CacheRead<T>)>,
        found: &mut HashMap<K, Found<T>>,
    ) {
        let mut read = Vec::with_capacity(missing.len());
        for (key, of, CacheRead { mark, .. }) in missing {
            let row = rows.remove(&key);
            // What is gone is no longer used while PostgreSQL is away.
            if row.is_some() || mark.is_of_entry() {
                read.push(ToCache { of, mark, found: row.clone() });
            }
            if let Some(row) = row {
                found.insert(key, Ok(Cached::Whole(row)));
            }
        }
        // Without an entry in Redis, other processes read the row again.
        if let Some(timeline) = self.db.timeline()
            && !read.is_empty()
            && let Err(error) = cache::cache_entities(self.redis, timeline, &read).await
        {
            tracing::debug!(%error, "cannot cache what was read");
        }
    }

    /// Uses entries that are no longer fresh.
    async fn take_old<T: CachedValue>(
        &self,
        error: &StoreError,
        missing: Vec<(K, (ShardId, String), CacheRead<T>)>,
        found: &mut HashMap<K, Found<T>>,
    ) {
        let mut used = Vec::new();
        for (key, of, cached) in missing {
            match self.usable(&cached) {
                Some((entity, _)) => {
                    found.insert(key, Ok(entity));
                    used.push((of, cached));
                }
                None => drop(found.insert(key, Err(error.clone()))),
            }
        }
        if let Some(timeline) = self.db.timeline()
            && let Err(error) = cache::renew_entities(self.redis, timeline, &used).await
        {
            tracing::debug!(%error, "cannot renew what is used while PostgreSQL is away");
        }
    }
}

/// Where the cache has what belongs to a text: spread over the shards. Nothing else depends on it.
pub fn place_of_text(redis: &Redis, text: String) -> (ShardId, String) {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let shards = redis.shards();
    (shards.shard((hasher.finish() % shards.get() as u64) as u16), text)
}
