//! Accounts: the user of each token subject, created at the first action.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use moka::sync::Cache;

use super::{DomainResult, Plaudit};
use crate::{
    primitives::{ShardId, UserId},
    store::{
        StoreResult,
        redis::{CacheLookup, CacheMark, Redis},
        single_flight::SingleFlight,
        sql::Db,
    },
};

const CAPACITY: u64 = 100_000;
const LIFE: Duration = Duration::from_secs(10 * 60);
/// How long "no user yet" is cached; creating the user in this process removes it.
const ABSENT_LIFE: Duration = Duration::from_secs(2);
/// A new user's display name is the subject, cut to this many characters.
const NAME_LENGTH: usize = 40;

/// Reads the user of a subject from this process, then Redis, then PostgreSQL. Cheap to clone.
#[derive(Clone)]
pub(super) struct Accounts {
    users: Cache<String, UserId>,
    absent: Cache<String, ()>,
    flights: Arc<SingleFlight<String, Option<UserId>>>,
    redis: Redis,
    db: Db,
}

impl Accounts {
    pub fn new(redis: Redis, db: Db) -> Self {
        let users = Cache::builder().max_capacity(CAPACITY).time_to_live(LIFE).build();
        let absent = Cache::builder().max_capacity(CAPACITY).time_to_live(ABSENT_LIFE).build();
        Self { users, absent, flights: Arc::default(), redis, db }
    }

    /// Concurrent callers share one read of a subject.
    async fn find(&self, subject: &str) -> StoreResult<Option<UserId>> {
        if let Some(user) = self.users.get(subject) {
            return Ok(Some(user));
        }
        if self.absent.contains_key(subject) {
            return Ok(None);
        }
        let accounts = self.clone();
        let read = |subjects: Vec<String>| async move {
            let mut users = HashMap::with_capacity(subjects.len());
            for subject in subjects {
                users.insert(subject.clone(), accounts.read(&subject).await?);
            }
            Ok(users)
        };
        Ok(self.flights.get(&[subject.to_owned()], read).await?.remove(subject).flatten())
    }

    async fn read(&self, subject: &str) -> StoreResult<Option<UserId>> {
        let mut cached = self.redis.cached_entities::<UserId>(&[(self.shard(subject), key(subject))]).await?;
        let mark = match cached.pop() {
            Some(CacheLookup::Hit(Some(user))) => {
                self.users.insert(subject.to_owned(), user);
                return Ok(Some(user));
            }
            Some(CacheLookup::Miss(mark)) => mark,
            _ => CacheMark::default(),
        };
        let user = self.db.user_by_subject(subject).await?;
        match user {
            Some(user) => self.insert(subject, mark, user).await?,
            None => self.absent.insert(subject.to_owned(), ()),
        }
        Ok(user)
    }

    async fn ensure(&self, subject: &str) -> StoreResult<UserId> {
        if let Some(user) = self.find(subject).await? {
            return Ok(user);
        }
        let name: String = subject.chars().take(NAME_LENGTH).collect();
        let user = self.db.ensure_user(subject, &name).await?;
        self.insert(subject, CacheMark::default(), user).await?;
        Ok(user)
    }

    async fn insert(&self, subject: &str, mark: CacheMark, user: UserId) -> StoreResult<()> {
        self.users.insert(subject.to_owned(), user);
        self.absent.invalidate(subject);
        self.redis.cache_entities(&[((self.shard(subject), key(subject)), mark, Some(user))]).await
    }

    /// Spreads the cache keys over the shards. Nothing else depends on it.
    fn shard(&self, subject: &str) -> ShardId {
        let mut hasher = DefaultHasher::new();
        subject.hash(&mut hasher);
        ShardId((hasher.finish() % self.redis.shards().get() as u64) as u16)
    }
}

fn key(subject: &str) -> String {
    format!("subject:{subject}")
}

impl Plaudit {
    /// The user of a token's subject; `None` if the subject has not acted yet.
    pub async fn find_user(&self, subject: &str) -> DomainResult<Option<UserId>> {
        Ok(self.inner.accounts.find(subject).await?)
    }

    /// The user of a token's subject, created at its first action.
    pub async fn ensure_user(&self, subject: &str) -> DomainResult<UserId> {
        Ok(self.inner.accounts.ensure(subject).await?)
    }
}
