//! Entity cache: users, notes, comments and groups, read from this process, then Redis, then PostgreSQL.
//!
//! An invalidation removes an entity from every instance; a read that began before it is not cached.

pub mod kept;
pub mod newest_notes;
pub mod read_through;

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::{DomainError, DomainResult};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{CommentId, GroupId, Id, NoteId, UserId, fault},
};
use plaudit_counting::hub::{Hearing, Hub};
use plaudit_store::{
    StoreResult,
    coalescer::Coalescer,
    expiring::Expiring,
    redis::{CachedValue, Redis},
    sql::{
        Db, GivenIds,
        content::{given_ids, groups, notes, threads},
        people::users,
    },
};

use kept::{Kept, ReadMark};
use newest_notes::NewestNotes;
pub use plaudit_store::{
    redis::Cached,
    sql::{
        content::{groups::Group, notes::Note, threads::Comment},
        people::users::User,
    },
};
pub(super) use read_through::{Found, ReadThrough, place_of_text};

/// Memory for the entities of one kind, in bytes: some 90,000 notes of 500 bytes, or 1,600 of the longest.
const MEMORY: u64 = 64 << 20;
/// An entity without its texts, and its place in the cache, in bytes.
const ENTRY: usize = 250;
/// Frees memory, and with the hour of Redis' entries bounds how long rows are shown that somebody changed by SQL.
const LIFE: Duration = Duration::from_mins(10);
/// How long a row is used while Redis is away, so that many requests are one statement.
const ROW_LIFE: Duration = Duration::from_secs(1);
const ROWS: u64 = 10_000;

/// A kind of entity that is cached.
pub trait CachedEntity: CachedValue + Send + Sync + 'static {
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
        users::users(db, ids).await
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
        notes::notes(db, ids).await
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
        threads::comments(db, ids).await
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
        groups::groups(db, ids).await
    }
}

/// Bytes of a text that may be missing.
fn bytes_of(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

/// The caches of all kinds.
pub struct EntityCaches {
    pub users: Arc<EntityCache<User>>,
    pub notes: Arc<EntityCache<Note>>,
    pub comments: Arc<EntityCache<Comment>>,
    pub groups: Arc<EntityCache<Group>>,
    pub newest_notes: NewestNotes,
}

impl EntityCaches {
    pub(super) fn new(redis: &Redis, db: &Db, hub: &Hub) -> Self {
        Self {
            users: EntityCache::new(redis, db, hub),
            notes: EntityCache::new(redis, db, hub),
            comments: EntityCache::new(redis, db, hub),
            groups: EntityCache::new(redis, db, hub),
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
                self.newest_notes.invalidate(NoteId(id), place);
            }
            EntityKind::Comment => self.comments.invalidate(CommentId(id)),
            EntityKind::Group => self.groups.invalidate(GroupId(id)),
            EntityKind::Inbox => {}
        }
    }
}

/// Cache of one kind of entity. Remembers also which ones were removed. Of an id that nothing has nothing is
/// remembered, because a transaction may commit it at any time.
pub struct EntityCache<T: CachedEntity> {
    /// `None`: it was removed.
    kept: Kept<T::Id, Option<Arc<T>>>,
    /// By id, and whether the texts are wanted.
    fetches: Coalescer<(T::Id, bool), Found<Arc<T>>>,
    recent_rows: Expiring<T::Id, Arc<T>>,
    row_reads: Coalescer<T::Id, Arc<T>>,
    given: GivenIds,
    hearing: Hearing,
    redis: Redis,
    db: Db,
}

impl<T: CachedEntity> EntityCache<T> {
    fn new(redis: &Redis, db: &Db, hub: &Hub) -> Arc<Self> {
        let size = |entity: &Option<Arc<T>>| ENTRY + entity.as_ref().map_or(0, |entity| entity.text_bytes());
        Arc::new(Self {
            kept: Kept::new(Expiring::of_bytes(MEMORY, fault::period("cache.local", LIFE), size)),
            fetches: Coalescer::default(),
            recent_rows: Expiring::of_entries(ROWS, ROW_LIFE),
            row_reads: Coalescer::with(db.row_turns()),
            given: hub.given_ids().clone(),
            hearing: hub.hearing().clone(),
            redis: redis.clone(),
            db: db.clone(),
        })
    }

    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed entity.
    pub async fn get(self: &Arc<Self>, id: T::Id) -> DomainResult<Arc<T>> {
        let found = self.get_many(&[id]).await?.pop().flatten();
        found.ok_or(DomainError::NotFound(T::WHAT))
    }

    /// What an action needs of an entity: while PostgreSQL is away, perhaps without its texts.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed entity.
    pub async fn record(self: &Arc<Self>, id: T::Id) -> DomainResult<Cached<Arc<T>>> {
        let found = match self.cached(id) {
            Some(known) => known.map(Cached::Whole),
            None => self.fetch(vec![id], false).await?.remove(&(id, false)).transpose()?,
        };
        found.ok_or(DomainError::NotFound(T::WHAT))
    }

    /// What this process has cached, while it hears of changes; `Some(None)` if the entity is known to be removed.
    pub fn cached(&self, id: T::Id) -> Option<Option<Arc<T>>> {
        if self.hearing.is_on() { self.kept.get(&id) } else { None }
    }

    /// What this process has cached, although it may not have heard that it changed.
    pub fn last_known(&self, id: T::Id) -> Option<Arc<T>> {
        self.kept.get(&id).flatten()
    }

    /// For [`Self::keep`]: call it before reading.
    pub fn mark(&self) -> ReadMark {
        self.kept.mark()
    }

    /// Keeps what was read, unless it changed meanwhile.
    pub fn keep(&self, entity: &Arc<T>, read: ReadMark) {
        self.kept.keep(entity.id(), Some(Arc::clone(entity)), read);
    }

    /// In the order of the ids; none for those that do not exist.
    pub async fn get_many(self: &Arc<Self>, ids: &[T::Id]) -> DomainResult<Vec<Option<Arc<T>>>> {
        self.get_each(ids).await?.into_iter().collect()
    }

    /// The same; those that cannot be read while PostgreSQL is away have its error.
    pub async fn get_each(
        self: &Arc<Self>,
        ids: &[T::Id],
    ) -> DomainResult<Vec<DomainResult<Option<Arc<T>>>>> {
        let cached: Vec<Option<Option<Arc<T>>>> = ids.iter().map(|id| self.cached(*id)).collect();
        let of_missing = ids.iter().zip(&cached).filter(|(_, cached)| cached.is_none());
        let mut missing = Vec::new();
        for (id, _) in of_missing {
            if !missing.contains(id) {
                missing.push(*id);
            }
        }
        if missing.is_empty() {
            return Ok(cached.into_iter().map(|known| Ok(known.flatten())).collect());
        }
        let fetched = self.fetch(missing, true).await?;
        let entity = |(id, cached): (&T::Id, Option<_>)| match (cached, fetched.get(&(*id, true))) {
            (Some(known), _) => Ok(known),
            (None, Some(Ok(found))) => Ok(found.clone().whole()),
            (None, Some(Err(error))) => Err(error.clone().into()),
            (None, None) => Ok(None),
        };
        Ok(ids.iter().zip(cached).map(entity).collect())
    }

    /// What does not exist is missing.
    async fn fetch(
        self: &Arc<Self>,
        mut ids: Vec<T::Id>,
        with_texts: bool,
    ) -> StoreResult<HashMap<(T::Id, bool), Found<Arc<T>>>> {
        self.given.leave_given(&mut ids).await;
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let keys: Vec<_> = ids.iter().map(|id| (*id, with_texts)).collect();
        let cache = Arc::clone(self);
        let read = move |keys: Vec<(T::Id, bool)>| async move {
            let ids: Vec<T::Id> = keys.into_iter().map(|(id, _)| id).collect();
            let found = match cache.read(&ids, with_texts).await {
                // An action cannot go on without Redis.
                Err(error) if with_texts && error.is_redis_away() => cache.rows(&ids).await?,
                found => found?,
            };
            Ok(found.into_iter().map(|(id, found)| ((id, with_texts), found)).collect())
        };
        self.fetches.get(&keys, read).await
    }

    async fn read(&self, ids: &[T::Id], with_texts: bool) -> StoreResult<HashMap<T::Id, Found<Arc<T>>>> {
        let mark = self.mark();
        let place = |id: &T::Id| {
            let entity: Entity = (*id).into();
            (self.redis.shard_of(entity.id), entity.to_string())
        };
        let reading = ReadThrough { redis: &self.redis, db: &self.db, place: &place, with_texts };
        let load = |ids: Vec<T::Id>| async move {
            Ok(T::fetch(&self.db, &ids).await?.into_iter().map(|row| (row.id(), row)).collect())
        };
        let read = reading.read::<T, _>(ids.to_vec(), load).await?;
        let mut found = HashMap::with_capacity(read.len());
        for (id, read) in read {
            let read = read.map(|read| read.map(Arc::new));
            if let Ok(Cached::Whole(entity)) = &read {
                self.keep(entity, mark);
            }
            found.insert(id, read);
        }
        let absent = ids.iter().copied().filter(|id| !found.contains_key(id)).collect();
        self.remember_removed(absent, mark).await;
        Ok(found)
    }

    /// Remembers which of these were removed, and nothing of the others. If this cannot be read, nothing.
    async fn remember_removed(&self, absent: Vec<T::Id>, mark: ReadMark) {
        let Some(kind) = absent.first().map(|id| (*id).into().kind) else { return };
        let ids: Vec<Id> = absent.iter().map(|id| (*id).into().id).collect();
        match given_ids::removed(&self.db, kind, &ids).await {
            Ok(removed) => absent
                .into_iter()
                .filter(|id| removed.contains(&(*id).into().id))
                .for_each(|id| self.kept.keep(id, None, mark)),
            Err(error) => tracing::debug!(%error, "cannot read what was removed"),
        }
    }

    /// Rows while Redis is away.
    async fn rows(&self, ids: &[T::Id]) -> StoreResult<HashMap<T::Id, Found<Arc<T>>>> {
        self.hearing.note_stale_read();
        let db = self.db.clone();
        let fetch = |ids: Vec<T::Id>| async move {
            let rows = T::fetch(&db, &ids).await?.into_iter();
            Ok(rows.map(|row| (row.id(), Arc::new(row))).collect())
        };
        let read = |ids: Vec<T::Id>| async move { self.row_reads.get(&ids, fetch).await };
        let rows = self.recent_rows.get_or_read(ids, read).await?;
        Ok(ids.iter().zip(rows).filter_map(|(id, row)| Some((*id, Ok(Cached::Whole(row?))))).collect())
    }

    fn invalidate(&self, id: T::Id) {
        self.kept.changed(id);
        self.fetches.leave(&(id, false));
        self.fetches.leave(&(id, true));
    }

    fn invalidate_all(&self) {
        self.kept.all_changed();
        self.fetches.leave_all();
    }
}
