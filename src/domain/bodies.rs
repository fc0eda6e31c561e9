//! Static text of users, notes, comments and groups: this process's cache, then Redis, then PostgreSQL.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use moka::sync::Cache;
use serde::{Serialize, de::DeserializeOwned};

use super::{DomainError, DomainResult};
use crate::{
    catalogue::{Entity, EntityKind},
    primitives::{CommentId, GroupId, NoteId, Slice, UserId},
    store::{
        StoreResult,
        redis::Redis,
        single_flight::SingleFlight,
        sql::{CommentRow, Db, GroupRow, NoteRow, UserRow},
    },
};

pub type User = UserRow;
pub type Note = NoteRow;
pub type Comment = CommentRow;
pub type Group = GroupRow;

/// Entities of one kind that a process keeps.
const CAPACITY: u64 = 50_000;
/// How long this process may show text that was changed by SQL, behind Plaudit's back.
const LIFE: Duration = Duration::from_secs(60);
/// "Does not exist" is remembered shortly: against floods of unknown ids.
const ABSENT_LIFE: Duration = Duration::from_secs(5);
/// Text that has changed is not kept for this long: longer than a read takes that began before.
const GUARD: Duration = Duration::from_secs(5);

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

/// A read that has begun: what it finds is not kept if something may have changed unheard meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    interruptions: u64,
}

/// Cached bodies of one kind; `None` stands for "does not exist".
pub struct Bodies<T: Body> {
    here: Cache<T::Id, Arc<T>>,
    absent: Cache<T::Id, ()>,
    /// Changed a moment ago: a read that began before must not be kept.
    changed: Cache<T::Id, ()>,
    /// How often anything may have changed unheard.
    interruptions: AtomicU64,
    flights: SingleFlight<T::Id, Option<Arc<T>>>,
    redis: Redis,
    db: Db,
}

impl<T: Body> Bodies<T> {
    fn new(redis: Redis, db: Db) -> Self {
        Self {
            here: Cache::builder().max_capacity(CAPACITY).time_to_live(LIFE).build(),
            absent: Cache::builder().max_capacity(CAPACITY).time_to_live(ABSENT_LIFE).build(),
            changed: Cache::builder().max_capacity(CAPACITY).time_to_live(GUARD).build(),
            interruptions: AtomicU64::new(0),
            flights: SingleFlight::default(),
            redis,
            db,
        }
    }

    /// # Errors
    /// [`DomainError::NotFound`] when there is none.
    pub async fn get(&self, id: T::Id) -> DomainResult<Arc<T>> {
        self.get_many(&[id]).await?.remove(&id).ok_or(DomainError::NotFound(T::WHAT))
    }

    /// Those that do not exist are missing.
    pub async fn get_many(&self, ids: &[T::Id]) -> DomainResult<HashMap<T::Id, Arc<T>>> {
        let reading = self.begin_reading();
        let mut found = HashMap::with_capacity(ids.len());
        let mut missing = Vec::new();
        for id in ids {
            if let Some(body) = self.here.get(id) {
                found.insert(*id, body);
            } else if !self.absent.contains_key(id) && !missing.contains(id) {
                missing.push(*id);
            }
        }
        if !missing.is_empty() {
            let (redis, db) = (self.redis.clone(), self.db.clone());
            let fetched = self.flights.get(&missing, |ids| fetch(redis, db, ids)).await?;
            for (id, body) in fetched {
                match body {
                    Some(body) => {
                        self.insert(&self.here, reading, id, Arc::clone(&body));
                        found.insert(id, body);
                    }
                    None => self.insert(&self.absent, reading, id, ()),
                }
            }
        }
        Ok(found)
    }

    /// To be called before a list is read of which [`Self::keep`] keeps the items.
    pub fn begin_reading(&self) -> Reading {
        Reading { interruptions: self.interruptions.load(SeqCst) }
    }

    /// Keeps what a list has just read.
    pub fn keep(&self, reading: Reading, bodies: Slice<T>) -> Slice<Arc<T>> {
        bodies.map(|body| {
            let body = Arc::new(body);
            self.insert(&self.here, reading, body.id(), Arc::clone(&body));
            body
        })
    }

    /// Keeps what was read, unless it may be from before a change.
    fn insert<V>(&self, cache: &Cache<T::Id, V>, reading: Reading, id: T::Id, value: V)
    where
        V: Clone + Send + Sync + 'static,
    {
        let may_keep = || !self.changed.contains_key(&id) && reading == self.begin_reading();
        if may_keep() {
            cache.insert(id, value);
            // Once more: what is forgotten from here on takes away what was just inserted.
            if !may_keep() {
                cache.invalidate(&id);
            }
        }
    }

    fn forget(&self, id: T::Id) {
        self.changed.insert(id, ());
        self.flights.forget(&id);
        self.here.invalidate(&id);
        self.absent.invalidate(&id);
    }

    fn forget_all(&self) {
        self.flights.forget_all();
        self.interruptions.fetch_add(1, SeqCst);
        self.here.invalidate_all();
        self.absent.invalidate_all();
    }
}

/// From Redis in one round trip, and the rest from PostgreSQL in one statement.
async fn fetch<T: Body>(
    redis: Redis,
    db: Db,
    ids: Vec<T::Id>,
) -> StoreResult<HashMap<T::Id, Option<Arc<T>>>> {
    let place = |id: &T::Id| {
        let entity: Entity = (*id).into();
        (redis.shard_of(entity.id), entity)
    };
    let cached = redis.read_bodies::<T>(&ids.iter().map(place).collect::<Vec<_>>()).await?;
    let mut found = HashMap::with_capacity(ids.len());
    let mut missing = Vec::new();
    for (id, body) in ids.iter().zip(cached) {
        match body {
            Some(body) => {
                found.insert(*id, body.map(Arc::new));
            }
            None => missing.push(*id),
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    let mut rows: HashMap<T::Id, T> =
        T::fetch(&db, &missing).await?.into_iter().map(|row| (row.id(), row)).collect();
    let bodies: Vec<_> = missing.iter().map(|id| (place(id), rows.get(id).cloned())).collect();
    redis.write_bodies(&bodies).await?;
    found.extend(missing.into_iter().map(|id| (id, rows.remove(&id).map(Arc::new))));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Id, ShardCount};

    fn id() -> GroupId {
        GroupId(Id::try_from(5).unwrap())
    }

    /// Bodies over stores that are not there, and one that was read.
    fn bodies() -> (Bodies<Group>, Slice<Group>) {
        let redis = Redis::new("redis://127.0.0.1:1", ShardCount::new(2).unwrap()).unwrap();
        let db = Db::for_requests("postgres://nobody@127.0.0.1:1/none", 1).unwrap();
        let (owner, created_at) = (UserId(id().0), chrono::DateTime::UNIX_EPOCH);
        let group = Group { id: id(), owner, name: "A".into(), description: String::new(), created_at };
        (Bodies::new(redis, db), Slice { items: vec![group], has_more: false })
    }

    #[tokio::test]
    async fn what_is_read_is_kept() {
        let (bodies, read) = bodies();
        bodies.keep(bodies.begin_reading(), read);
        assert_eq!(bodies.get(id()).await.unwrap().name, "A");
        bodies.forget(id());
        assert!(bodies.get(id()).await.is_err());
    }

    #[tokio::test]
    async fn what_was_read_before_a_change_is_not_kept() {
        for forget in [|bodies: &Bodies<Group>| bodies.forget(id()), Bodies::forget_all] {
            let (bodies, read) = bodies();
            let reading = bodies.begin_reading();
            forget(&bodies);
            bodies.keep(reading, read);
            assert!(bodies.get(id()).await.is_err());
        }
    }
}
