//! Entity cache: users, notes, comments and groups, read from this process, then Redis, then PostgreSQL.
//!
//! An invalidation removes an entity from every instance; a read that began before it is not cached.

mod local;
mod newest_notes;

use std::{collections::HashMap, sync::Arc, time::Instant};

use serde::{Serialize, de::DeserializeOwned};

use super::{DomainError, DomainResult};
use crate::{
    catalogue::{Entity, EntityKind},
    primitives::{CommentId, GroupId, NoteId, UserId},
    store::{
        StoreResult,
        redis::{CacheLookup, Redis},
        single_flight::SingleFlight,
        sql::Db,
    },
};

pub use crate::store::sql::{groups::Group, notes::Note, threads::Comment, users::User};
use local::{LocalCache, MEMORY};
use newest_notes::NewestNotes;

/// A kind of entity that is cached.
pub trait CachedEntity: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    type Id: Copy + Eq + std::hash::Hash + Into<Entity> + Send + Sync + 'static;
    /// Its name in error messages.
    const WHAT: &'static str;

    fn id(&self) -> Self::Id;
    /// Bytes of its texts.
    fn text_bytes(&self) -> usize;
    fn fetch(db: &Db, ids: &[Self::Id]) -> impl Future<Output = StoreResult<Vec<Self>>> + Send;
}

impl CachedEntity for User {
    type Id = UserId;
    const WHAT: &'static str = "user";

    fn id(&self) -> UserId {
        self.id
    }

    fn text_bytes(&self) -> usize {
        self.name.len() + bytes_of(self.subject.as_ref()) + bytes_of(self.avatar_url.as_ref())
    }

    async fn fetch(db: &Db, ids: &[UserId]) -> StoreResult<Vec<Self>> {
        db.users(ids).await
    }
}

impl CachedEntity for Note {
    type Id = NoteId;
    const WHAT: &'static str = "note";

    fn id(&self) -> NoteId {
        self.id
    }

    fn text_bytes(&self) -> usize {
        self.title.len() + self.body.len() + bytes_of(self.key.as_ref()) + bytes_of(self.url.as_ref())
    }

    async fn fetch(db: &Db, ids: &[NoteId]) -> StoreResult<Vec<Self>> {
        db.notes(ids).await
    }
}

impl CachedEntity for Comment {
    type Id = CommentId;
    const WHAT: &'static str = "comment";

    fn id(&self) -> CommentId {
        self.id
    }

    fn text_bytes(&self) -> usize {
        let edit = self.edit.as_ref().map_or(0, |edit| edit.text.bytes());
        self.body.len()
            + self.images.iter().map(String::len).sum::<usize>()
            + edit
            + bytes_of(self.key.as_ref())
    }

    async fn fetch(db: &Db, ids: &[CommentId]) -> StoreResult<Vec<Self>> {
        db.comments(ids).await
    }
}

impl CachedEntity for Group {
    type Id = GroupId;
    const WHAT: &'static str = "group";

    fn id(&self) -> GroupId {
        self.id
    }

    fn text_bytes(&self) -> usize {
        self.name.len() + self.description.len() + bytes_of(self.key.as_ref())
    }

    async fn fetch(db: &Db, ids: &[GroupId]) -> StoreResult<Vec<Self>> {
        db.groups(ids).await
    }
}

/// Bytes of a text that may be missing.
fn bytes_of(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

/// The caches of all kinds.
pub struct EntityCaches {
    pub users: EntityCache<User>,
    pub notes: EntityCache<Note>,
    pub comments: EntityCache<Comment>,
    pub groups: EntityCache<Group>,
    pub newest_notes: NewestNotes,
}

impl EntityCaches {
    pub(super) fn new(redis: &Redis, db: &Db) -> Self {
        Self {
            users: EntityCache::new(redis.clone(), db.clone()),
            notes: EntityCache::new(redis.clone(), db.clone()),
            comments: EntityCache::new(redis.clone(), db.clone()),
            groups: EntityCache::new(redis.clone(), db.clone()),
            newest_notes: NewestNotes::new(db.clone()),
        }
    }

    /// Removes an entity; `None` removes all.
    pub(super) fn invalidate(&self, entity: Option<Entity>) {
        let Some(Entity { kind, id }) = entity else {
            self.users.invalidate_all();
            self.notes.invalidate_all();
            self.comments.invalidate_all();
            self.groups.invalidate_all();
            self.newest_notes.invalidate_all();
            return;
        };
        match kind {
            EntityKind::User => self.users.invalidate(UserId(id)),
            EntityKind::Note => {
                let place = self.notes.cached(NoteId(id)).flatten().map(|note| note.place());
                self.notes.invalidate(NoteId(id));
                self.newest_notes.invalidate(place);
            }
            EntityKind::Comment => self.comments.invalidate(CommentId(id)),
            EntityKind::Group => self.groups.invalidate(GroupId(id)),
            EntityKind::Inbox => {}
        }
    }
}

/// Cache of one kind of entity. Remembers also which ids do not exist.
pub struct EntityCache<T: CachedEntity> {
    local: LocalCache<T::Id, T>,
    flights: SingleFlight<T::Id, Option<Arc<T>>>,
    redis: Redis,
    db: Db,
}

impl<T: CachedEntity> EntityCache<T> {
    fn new(redis: Redis, db: Db) -> Self {
        let local = LocalCache::new(MEMORY, T::text_bytes);
        Self { local, flights: SingleFlight::default(), redis, db }
    }

    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed entity.
    pub async fn get(&self, id: T::Id) -> DomainResult<Arc<T>> {
        let found = self.get_many(&[id]).await?.pop().flatten();
        found.ok_or(DomainError::NotFound(T::WHAT))
    }

    /// What this process has cached; `Some(None)` if the entity is known not to exist.
    pub fn cached(&self, id: T::Id) -> Option<Option<Arc<T>>> {
        self.local.get(&id)
    }

    /// In the order of the ids; none for those that do not exist.
    pub async fn get_many(&self, ids: &[T::Id]) -> DomainResult<Vec<Option<Arc<T>>>> {
        let cached: Vec<Option<Option<Arc<T>>>> = ids.iter().map(|id| self.local.get(id)).collect();
        let of_missing = ids.iter().zip(&cached).filter(|(_, cached)| cached.is_none());
        let mut missing = Vec::new();
        for (id, _) in of_missing {
            if !missing.contains(id) {
                missing.push(*id);
            }
        }
        if missing.is_empty() {
            return Ok(cached.into_iter().map(Option::flatten).collect());
        }
        let (local, redis, db) = (self.local.clone(), self.redis.clone(), self.db.clone());
        let fetched = self.flights.get(&missing, |ids| fetch(local, redis, db, ids)).await?;
        let entity =
            |(id, cached): (_, Option<_>)| cached.unwrap_or_else(|| fetched.get(id).cloned().flatten());
        Ok(ids.iter().zip(cached).map(entity).collect())
    }

    fn invalidate(&self, id: T::Id) {
        self.local.invalidate(id);
        self.flights.leave(&id);
    }

    fn invalidate_all(&self) {
        self.local.invalidate_all();
        self.flights.leave_all();
    }
}

/// Reads from Redis in one round trip, and what it lacks from PostgreSQL in one statement.
async fn fetch<T: CachedEntity>(
    local: LocalCache<T::Id, T>,
    redis: Redis,
    db: Db,
    ids: Vec<T::Id>,
) -> StoreResult<HashMap<T::Id, Option<Arc<T>>>> {
    let since = Instant::now();
    let key = |id: &T::Id| {
        let entity: Entity = (*id).into();
        (redis.shard_of(entity.id), entity)
    };
    let cached = redis.cached_entities::<T>(db.timeline(), &ids.iter().map(key).collect::<Vec<_>>()).await?;
    let mut found = HashMap::with_capacity(ids.len());
    let mut missing = Vec::new();
    for (id, read) in ids.iter().zip(cached) {
        match read {
            CacheLookup::Hit(entity) => {
                found.insert(*id, entity.map(Arc::new));
            }
            CacheLookup::Miss(mark) => missing.push((*id, mark)),
        }
    }
    if !missing.is_empty() {
        let wanted: Vec<T::Id> = missing.iter().map(|(id, _)| *id).collect();
        let mut rows: HashMap<T::Id, T> =
            T::fetch(&db, &wanted).await?.into_iter().map(|row| (row.id(), row)).collect();
        let read: Vec<_> =
            missing.into_iter().map(|(id, mark)| (key(&id), mark, rows.get(&id).cloned())).collect();
        // Without an entry in Redis, other processes read the row again.
        if let Some(timeline) = db.timeline()
            && let Err(error) = redis.cache_entities(timeline, &read).await
        {
            tracing::debug!(%error, what = T::WHAT, "cannot cache what was read");
        }
        found.extend(wanted.into_iter().map(|id| (id, rows.remove(&id).map(Arc::new))));
    }
    for (id, entity) in &found {
        local.insert(*id, entity.as_ref(), since);
    }
    Ok(found)
}
