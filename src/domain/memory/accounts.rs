//! The users of token subjects, as this process knows them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::token_profiles::ToldProfile;
use crate::{
    User,
    entity_cache::{ReadThrough, place_of_text},
};
use plaudit_catalogue::{
    Entity,
    primitives::{ShardId, UserId, fault},
};
use plaudit_counting::hub::Hearing;
use plaudit_store::{
    StoreResult,
    coalescer::Coalescer,
    expiring::Expiring,
    redis::{CacheMark, Redis, ToCache, entities::cache},
    sql::{Db, people::users},
};

const CAPACITY: u64 = 100_000;
const LIFE: Duration = Duration::from_mins(10);
/// How long PostgreSQL is not asked again for the user of a subject. Redis is asked each time, and has a creation
/// before a reply names the user.
const ABSENT_LIFE: Duration = Duration::from_secs(2);
/// Pause between two attempts to take the profile of one token.
const PROFILE_PAUSE: Duration = Duration::from_mins(1);

/// Reads the user of a subject from this process, then Redis, then PostgreSQL. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Accounts {
    pub users: Expiring<String, UserId>,
    absent: Expiring<String, ()>,
    /// Profiles of tokens that this process has lately tried to take: the user, and the `iat`. So requests at the same
    /// time write once, and an outage of PostgreSQL delays one action and not all.
    pub profiles_tried: Expiring<(UserId, DateTime<Utc>), ()>,
    reads: Coalescer<String, UserId>,
    row_reads: Coalescer<String, UserId>,
    to_come: Arc<Mutex<HashMap<String, Vec<oneshot::Sender<UserId>>>>>,
    pub redis: Redis,
    db: Db,
    pub hearing: Hearing,
}

impl Accounts {
    pub fn new(redis: Redis, db: Db, hearing: Hearing) -> Self {
        Self {
            users: Expiring::of_entries(CAPACITY, fault::period("cache.local", LIFE)),
            absent: Expiring::of_entries(CAPACITY, ABSENT_LIFE),
            profiles_tried: Expiring::of_entries(CAPACITY, PROFILE_PAUSE),
            reads: Coalescer::default(),
            row_reads: Coalescer::with(db.row_turns()),
            to_come: Arc::default(),
            redis,
            db,
            hearing,
        }
    }

    /// PostgreSQL may have lost the newest users.
    pub fn forget_all(&self) {
        self.users.clear();
        self.absent.clear();
        self.reads.leave_all();
    }

    /// Users in the order of the subjects. Concurrent callers share one read of a subject.
    pub async fn find_many(&self, subjects: &[&str]) -> StoreResult<Vec<Option<UserId>>> {
        let read = |missing: Vec<String>| async move {
            let accounts = self.clone();
            let read = |subjects| async move { accounts.read(subjects).await };
            match self.reads.get(&missing, read).await {
                // While Redis is away, other processes do not hear of a new user.
                Err(error) if error.is_redis_away() && missing.iter().all(|of| self.is_absent(of)) => {
                    Ok(HashMap::new())
                }
                found => found,
            }
        };
        self.users.get_or_read::<str, _, _, _>(subjects, read).await
    }

    fn is_absent(&self, subject: &str) -> bool {
        self.absent.get(subject).is_some()
    }

    pub async fn find(&self, subject: &str) -> StoreResult<Option<UserId>> {
        Ok(self.find_many(&[subject]).await?.pop().flatten())
    }

    /// Subjects without a user are missing.
    async fn read(&self, subjects: Vec<String>) -> StoreResult<HashMap<String, UserId>> {
        let place = |subject: &String| self.place(subject);
        let reading = ReadThrough { redis: &self.redis, db: &self.db, place: &place, with_texts: true };
        let load = |subjects: Vec<String>| async move {
            let is_asked = |subject: &String| !self.is_absent(subject);
            let asked: Vec<String> = subjects.into_iter().filter(is_asked).collect();
            if asked.is_empty() {
                return Ok(HashMap::new());
            }
            let users: HashMap<_, _> =
                users::users_by_subjects(&self.db, &asked).await?.into_iter().collect();
            let absent = asked.into_iter().filter(|subject| !users.contains_key(subject));
            absent.for_each(|subject| self.absent.insert(subject, ()));
            Ok(users)
        };
        let mut users = HashMap::with_capacity(subjects.len());
        for (subject, found) in reading.read::<UserId, _>(subjects, load).await? {
            if let Some(user) = found?.whole() {
                self.found(&subject, user);
                users.insert(subject, user);
            }
        }
        Ok(users)
    }

    /// While Redis is away: in the order of the subjects. Nothing is remembered.
    pub async fn rows(&self, subjects: &[&str]) -> StoreResult<Vec<Option<UserId>>> {
        let wanted: Vec<String> = subjects.iter().map(|subject| (*subject).to_owned()).collect();
        let db = self.db.clone();
        let read = |subjects: Vec<String>| async move {
            Ok(users::users_by_subjects(&db, &subjects).await?.into_iter().collect())
        };
        let users = self.row_reads.get(&wanted, read).await?;
        Ok(subjects.iter().map(|subject| users.get(*subject).copied()).collect())
    }

    pub async fn create(&self, subject: &str, told: &ToldProfile<'_>) -> StoreResult<Arc<User>> {
        let shown = told.shown();
        let (name, avatar_url) = shown.parts();
        let user = users::ensure_user(&self.db, subject, name, avatar_url, shown.as_of).await?;
        self.created([(subject, user.id)]).await?;
        self.cache_row(&user).await?;
        Ok(Arc::new(user))
    }

    /// The next actions need the row, also if nobody reads it before PostgreSQL is away.
    async fn cache_row(&self, user: &User) -> StoreResult<()> {
        let Some(timeline) = self.db.timeline() else { return Ok(()) };
        let of = (self.redis.shard_of(user.id.0), Entity::from(user.id).to_string());
        let row = ToCache { of, mark: CacheMark::default(), found: Some(user.clone()) };
        cache::cache_entities(&self.redis, timeline, &[row]).await
    }

    /// Remembers new users, and caches them for all processes.
    pub async fn created<'a>(&self, users: impl IntoIterator<Item = (&'a str, UserId)>) -> StoreResult<()> {
        let created: Vec<ToCache<UserId>> = users
            .into_iter()
            .map(|(subject, user)| {
                self.found(subject, user);
                ToCache { of: self.place(subject), mark: CacheMark::default(), found: Some(user) }
            })
            .collect();
        let Some(timeline) = self.db.timeline().filter(|_| !created.is_empty()) else { return Ok(()) };
        cache::cache_entities(&self.redis, timeline, &created).await
    }

    fn found(&self, subject: &str, user: UserId) {
        self.users.insert(subject.to_owned(), user);
        self.absent.remove(subject);
        let waiting = self.to_come.lock().remove(subject);
        for waiting in waiting.into_iter().flatten() {
            let _ = waiting.send(user); // its caller may have left
        }
    }

    /// Waits for the user of a subject.
    pub async fn wait(&self, subject: &str) -> UserId {
        let (waiting, created) = oneshot::channel();
        self.to_come.lock().entry(subject.to_owned()).or_default().push(waiting);
        // It may have been created before. If it cannot be read now, `run` will find it.
        if let Ok(Some(user)) = self.find(subject).await {
            return user;
        }
        match created.await {
            Ok(user) => user,
            Err(_) => std::future::pending().await, // the process ends
        }
    }

    /// Looks for users that other processes have created and this one waits for, until `stop`.
    pub async fn run(&self, stop: &CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(ABSENT_LIFE)).await.is_some() {
            let subjects: Vec<String> = {
                let mut to_come = self.to_come.lock();
                to_come.retain(|_, waiting| waiting.iter().any(|waiting| !waiting.is_closed()));
                to_come.keys().cloned().collect()
            };
            if subjects.is_empty() {
                continue;
            }
            match users::users_by_subjects(&self.db, &subjects).await {
                Ok(users) => users.into_iter().for_each(|(subject, user)| self.found(&subject, user)),
                Err(error) => tracing::debug!(%error, "cannot look for new users"),
            }
        }
    }

    /// By a digest, so that no subject is left in Redis when its user is erased.
    fn place(&self, subject: &str) -> (ShardId, String) {
        let digest: [u8; 32] = Sha256::digest(subject).into();
        let digest = digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        place_of_text(&self.redis, format!("subject:{digest}"))
    }
}
