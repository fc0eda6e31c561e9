//! Static text of users, notes, comments and groups: this process's cache, then Redis, then PostgreSQL.

mod local;

use std::{collections::HashMap, sync::Arc, time::Instant};

use serde::{Serialize, de::DeserializeOwned};

use local::Kept;

use super::{DomainError, DomainResult};
use crate::{
    catalogue::{Entity, EntityKind},
    primitives::{CommentId, GroupId, NoteId, Slice, UserId},
    store::{
        StoreResult,
        redis::{CacheLookup, Redis},
        single_flight::SingleFlight,
        sql::{CommentRow, Db, GroupRow, NoteRow, UserRow},
    },
};

pub type User = UserRow;
pub type Note = NoteRow;
pub type Comment = CommentRow;
pub type Group = GroupRow;

/// A kind of entity with static text.
pub trait Body: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    type Id: Copy + Eq + std::hash::Hash + Into<Entity> + Send + Sync + 'static;
    /// As in error messages.
    const WHAT: &'static str;

    fn id(&self) -> Self::Id;
    fn fetch(db: &Db, ids: &[Self::Id]) -> impl Future<Output = StoreResult<Vec<Self>>> + Send;
}

impl Body for User {
    type Id = UserId;
    const WHAT: &'static str = "user";

    fn id(&self) -> UserId {
        self.id
    }

    async fn fetch(db: &Db, ids: &[UserId]) -> StoreResult<Vec<Self>> {
        db.users(ids).await
    }
}

impl Body for Note {
    type Id = NoteId;
    const WHAT: &'static str = "note";

    fn id(&self) -> NoteId {
        self.id
    }

    async fn fetch(db: &Db, ids: &[NoteId]) -> StoreResult<Vec<Self>> {
        db.notes(ids).await
    }
}

impl Body for Comment {
    type Id = CommentId;
    const WHAT: &'static str = "comment";

    fn id(&self) -> CommentId {
        self.id
    }

    async fn fetch(db: &Db, ids: &[CommentId]) -> StoreResult<Vec<Self>> {
        db.comments(ids).await
    }
}

impl Body for Group {
    type Id = GroupId;
    const WHAT: &'static str = "group";

    fn id(&self) -> GroupId {
        self.id
    }

    async fn fetch(db: &Db, ids: &[GroupId]) -> StoreResult<Vec<Self>> {
        db.groups(ids).await
    }
}

/// Bodies of all kinds.
pub struct Texts {
    pub users: Bodies<User>,
    pub notes: Bodies<Note>,
    pub comments: Bodies<Comment>,
    pub groups: Bodies<Group>,
}

impl Texts {
    pub(super) fn new(redis: &Redis, db: &Db) -> Self {
        Self {
            users: Bodies::new(redis.clone(), db.clone()),
            notes: Bodies::new(redis.clone(), db.clone()),
            comments: Bodies::new(redis.clone(), db.clone()),
            groups: Bodies::new(redis.clone(), db.clone()),
        }
    }

    /// This entity may have changed; `None`: any may have.
    pub(super) fn forget(&self, entity: Option<Entity>) {
        let Some(Entity { kind, id }) = entity else {
            self.users.forget_all();
            self.notes.forget_all();
            self.comments.forget_all();
            self.groups.forget_all();
            return;
        };
        match kind {
            EntityKind::User => self.users.forget(UserId(id)),
            EntityKind::Note => self.notes.forget(NoteId(id)),
            EntityKind::Comment => self.comments.forget(CommentId(id)),
            EntityKind::Group => self.groups.forget(GroupId(id)),
            EntityKind::Inbox => {}
        }
    }
}

/// Cached bodies of one kind; `None` stands for "does not exist".
pub struct Bodies<T: Body> {
    kept: Kept<T::Id, T>,
    flights: SingleFlight<T::Id, Option<Arc<T>>>,
    redis: Redis,
    db: Db,
}

impl<T: Body> Bodies<T> {
    fn new(redis: Redis, db: Db) -> Self {
        Self { kept: Kept::new(), flights: SingleFlight::default(), redis, db }
    }

    /// # Errors
    /// [`DomainError::NotFound`] when there is none.
    pub async fn get(&self, id: T::Id) -> DomainResult<Arc<T>> {
        self.get_many(&[id]).await?.remove(&id).ok_or(DomainError::NotFound(T::WHAT))
    }

    /// Those that do not exist are missing.
    pub async fn get_many(&self, ids: &[T::Id]) -> DomainResult<HashMap<T::Id, Arc<T>>> {
        let mut found = HashMap::with_capacity(ids.len());
        let mut missing = Vec::new();
        for id in ids {
            match self.kept.get(id) {
                Some(body) => found.extend(body.map(|body| (*id, body))),
                None if !missing.contains(id) => missing.push(*id),
                None => {}
            }
        }
        if !missing.is_empty() {
            let (kept, redis, db) = (self.kept.clone(), self.redis.clone(), self.db.clone());
            let fetched = self.flights.get(&missing, |ids| fetch(kept, redis, db, ids)).await?;
            found.extend(fetched.into_iter().filter_map(|(id, body)| Some((id, body?))));
        }
        Ok(found)
    }

    /// Begins to read bodies by a list; what it finds is to be kept.
    pub fn reading(&self) -> Reading<'_, T> {
        Reading { kept: &self.kept, since: Instant::now() }
    }

    fn forget(&self, id: T::Id) {
        self.kept.forget(id);
        self.flights.leave(&id);
    }

    fn forget_all(&self) {
        self.kept.forget_all();
        self.flights.leave_all();
    }
}

/// A list that is being read.
pub struct Reading<'a, T: Body> {
    kept: &'a Kept<T::Id, T>,
    since: Instant,
}

impl<T: Body> Reading<'_, T> {
    /// Keeps what the list has.
    pub fn keep(&self, bodies: Slice<T>) -> Slice<Arc<T>> {
        bodies.map(|body| self.keep_one(body))
    }

    /// The same for bodies with their keys in the list.
    pub fn keep_keyed<K>(&self, bodies: Slice<(K, T)>) -> Slice<(K, Arc<T>)> {
        bodies.map(|(key, body)| (key, self.keep_one(body)))
    }

    fn keep_one(&self, body: T) -> Arc<T> {
        let body = Arc::new(body);
        self.kept.insert(body.id(), Some(&body), self.since);
        body
    }
}

/// From Redis in one round trip, and the rest from PostgreSQL in one statement.
async fn fetch<T: Body>(
    kept: Kept<T::Id, T>,
    redis: Redis,
    db: Db,
    ids: Vec<T::Id>,
) -> StoreResult<HashMap<T::Id, Option<Arc<T>>>> {
    let since = Instant::now();
    let place = |id: &T::Id| {
        let entity: Entity = (*id).into();
        (redis.shard_of(entity.id), entity)
    };
    let cached = redis.cached_entities::<T>(&ids.iter().map(place).collect::<Vec<_>>()).await?;
    let mut found = HashMap::with_capacity(ids.len());
    let mut missing = Vec::new();
    for (id, body) in ids.iter().zip(cached) {
        match body {
            CacheLookup::Hit(body) => {
                found.insert(*id, body.map(Arc::new));
            }
            CacheLookup::Miss(seen) => missing.push((*id, seen)),
        }
    }
    if !missing.is_empty() {
        let wanted: Vec<T::Id> = missing.iter().map(|(id, _)| *id).collect();
        let mut rows: HashMap<T::Id, T> =
            T::fetch(&db, &wanted).await?.into_iter().map(|row| (row.id(), row)).collect();
        let bodies: Vec<_> =
            missing.into_iter().map(|(id, seen)| (place(&id), seen, rows.get(&id).cloned())).collect();
        redis.cache_entities(&bodies).await?;
        found.extend(wanted.into_iter().map(|id| (id, rows.remove(&id).map(Arc::new))));
    }
    for (id, body) in &found {
        kept.insert(*id, body.as_ref(), since);
    }
    Ok(found)
}
