//! Keys: the app's own ids of notes, comments and groups. The key of a user is the subject of their tokens.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use moka::sync::Cache;

use crate::{
    DomainError, DomainResult, Plaudit, Reason,
    entity_cache::{Cached, ReadThrough, place_of_text},
    people::accounts,
};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{Id, fault},
};
use plaudit_store::{
    StoreResult,
    redis::Redis,
    sql::{Db, RowReads, Tx, content::keys},
};

const CAPACITY: u64 = 100_000;
/// Keys never change, and a failover of PostgreSQL that may have lost some drops all: this only frees memory.
const LIFE: Duration = Duration::from_secs(60);

/// The app's own id of a note, comment or group: 1 to 200 bytes without control characters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AppKey(String);

impl AppKey {
    const MAX_BYTES: usize = 200;

    /// # Errors
    /// [`DomainError::BadInput`] naming `argument`, for a text that cannot be a key.
    pub fn parse(argument: &'static str, text: &str) -> DomainResult<Self> {
        if !(1..=Self::MAX_BYTES).contains(&text.len()) {
            let message =
                format!("{argument}: a key has 1 to {} bytes; this one has {}", Self::MAX_BYTES, text.len());
            return Err(DomainError::bad_input(argument, message));
        }
        if text.chars().any(char::is_control) {
            let message = format!("{argument}: a key has no control characters; remove them");
            return Err(DomainError::bad_input(argument, message));
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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
    async fn find(&self, kind: EntityKind, keys: &[&str]) -> StoreResult<Vec<Option<Id>>> {
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

/// The entities of one kind with these keys, in their order; `None` for unknown ones. Includes removed ones.
pub async fn find_by_keys(
    plaudit: &Plaudit,
    kind: EntityKind,
    keys: &[&str],
) -> DomainResult<Vec<Option<Entity>>> {
    if kind == EntityKind::User {
        let users = accounts::find_users(plaudit, keys).await?;
        return Ok(users.into_iter().map(|user| user.map(Entity::from)).collect());
    }
    let ids = plaudit.inner.keys.find(kind, keys).await?;
    Ok(ids.into_iter().map(|id| id.map(|id| Entity::new(kind, id))).collect())
}

/// Explains why nothing was created: its key is taken.
///
/// # Errors
/// [`DomainError::BadInput`] with [`Reason::KeyTaken`] that names what has the key.
pub(crate) async fn must_be_free(tx: &mut Tx, kind: EntityKind, key: Option<&AppKey>) -> DomainResult<()> {
    let Some(key) = key else { return Ok(()) };
    let Some(id) = keys::id_by_key(tx, kind, key.as_str()).await? else { return Ok(()) };
    let owner = Entity::new(kind, id);
    Err(DomainError::BadInput {
        argument: "key",
        message: format!("key: {owner} has the key {:?}; a key is never given twice", key.as_str()),
        reason: Some(Reason::KeyTaken),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_1_to_200_bytes_without_control_characters() {
        for good in ["x", "0b4f7a5e-1111-4a6e-9d3b-5c2f", "a b:c/ü", &"k".repeat(200)] {
            assert_eq!(AppKey::parse("key", good).unwrap().as_str(), good);
        }
        for bad in ["", "a\nb", "a\0", &"k".repeat(201), &"ü".repeat(101)] {
            assert!(AppKey::parse("key", bad).is_err(), "{bad:?}");
        }
    }
}
