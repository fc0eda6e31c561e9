//! Token subjects and the users they stand for.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use moka::sync::Cache;

use super::{DomainResult, Plaudit};
use crate::{
    primitives::{ShardId, UserId},
    store::{
        redis::{CacheLookup, CacheMark, Redis},
        sql::Db,
    },
};

const CAPACITY: u64 = 100_000;
const LIFE: Duration = Duration::from_secs(10 * 60);
/// "No user yet" is remembered shortly; this process forgets it when it creates the user.
const ABSENT_LIFE: Duration = Duration::from_secs(2);
/// A new user's display name is the beginning of the subject: at most this many characters.
const NAME_LENGTH: usize = 40;

/// Knows the user of a subject from this process, then Redis, then PostgreSQL.
pub(super) struct Accounts {
    here: Cache<String, UserId>,
    absent: Cache<String, ()>,
    redis: Redis,
    db: Db,
}

impl Accounts {
    pub fn new(redis: Redis, db: Db) -> Self {
        let here = Cache::builder().max_capacity(CAPACITY).time_to_live(LIFE).build();
        let absent = Cache::builder().max_capacity(CAPACITY).time_to_live(ABSENT_LIFE).build();
        Self { here, absent, redis, db }
    }

    async fn find(&self, subject: &str) -> DomainResult<Option<UserId>> {
        if let Some(user) = self.here.get(subject) {
            return Ok(Some(user));
        }
        if self.absent.contains_key(subject) {
            return Ok(None);
        }
        let mut cached = self.redis.cached_entities::<UserId>(&[(self.shard(subject), key(subject))]).await?;
        let seen = match cached.pop() {
            Some(CacheLookup::Hit(Some(user))) => {
                self.here.insert(subject.to_owned(), user);
                return Ok(Some(user));
            }
            Some(CacheLookup::Miss(seen)) => seen,
            _ => CacheMark::default(),
        };
        let user = self.db.user_by_subject(subject).await?;
        match user {
            Some(user) => self.keep(subject, seen, user).await?,
            None => self.absent.insert(subject.to_owned(), ()),
        }
        Ok(user)
    }

    async fn ensure(&self, subject: &str) -> DomainResult<UserId> {
        if let Some(user) = self.find(subject).await? {
            return Ok(user);
        }
        let name: String = subject.chars().take(NAME_LENGTH).collect();
        let user = self.db.ensure_user(subject, &name).await?;
        self.keep(subject, CacheMark::default(), user).await?;
        Ok(user)
    }

    async fn keep(&self, subject: &str, seen: CacheMark, user: UserId) -> DomainResult<()> {
        self.here.insert(subject.to_owned(), user);
        self.absent.invalidate(subject);
        self.redis.cache_entities(&[((self.shard(subject), key(subject)), seen, Some(user))]).await?;
        Ok(())
    }

    /// Spreads subjects over the shards; only a cache key depends on it.
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
    /// The user of a token's subject; `None` for a subject that has not acted yet.
    pub async fn find_user(&self, subject: &str) -> DomainResult<Option<UserId>> {
        self.inner.accounts.find(subject).await
    }

    /// The user of a token's subject, created at its first action.
    pub async fn ensure_user(&self, subject: &str) -> DomainResult<UserId> {
        self.inner.accounts.ensure(subject).await
    }
}
