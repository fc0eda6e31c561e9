//! Accounts: the user of each token subject, created at the first action.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use chrono::Utc;
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    DomainError, DomainResult, Plaudit,
    invisible::without_invisible,
    standings::{Standing, Standings},
    text::{Text, USER_NAME},
};
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

/// Reads the user of a subject from this process, then Redis, then PostgreSQL. Cheap to clone.
#[derive(Clone)]
pub(super) struct Accounts {
    users: Cache<String, UserId>,
    absent: Cache<String, ()>,
    /// Of users who have not been erased, as far as this instance heard. Actions of others look it up.
    standings: Standings,
    flights: Arc<SingleFlight<String, Option<UserId>>>,
    to_come: Arc<Mutex<HashMap<String, Vec<oneshot::Sender<UserId>>>>>,
    redis: Redis,
    db: Db,
}

impl Accounts {
    pub fn new(redis: Redis, db: Db) -> Self {
        let users = Cache::builder().max_capacity(CAPACITY).time_to_live(LIFE).build();
        let absent = Cache::builder().max_capacity(CAPACITY).time_to_live(ABSENT_LIFE).build();
        let standings = Standings::new();
        Self { users, absent, standings, flights: Arc::default(), to_come: Arc::default(), redis, db }
    }

    /// A user changed, perhaps by being suspended or erased; `None`: any may have.
    pub fn changed(&self, user: Option<UserId>) {
        self.standings.changed(user);
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
                self.found(subject, user);
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

    async fn create(&self, subject: &str, name: Option<&str>) -> StoreResult<(UserId, Standing)> {
        let name = name.and_then(name_of_user);
        let before = self.standings.changes();
        let (user, suspended_until) = self.db.ensure_user(subject, name.as_ref().map(Text::as_str)).await?;
        self.standings.keep_unless_changed(user, Standing { suspended_until }, before);
        self.insert(subject, CacheMark::default(), user).await?;
        Ok((user, Standing { suspended_until }))
    }

    async fn insert(&self, subject: &str, mark: CacheMark, user: UserId) -> StoreResult<()> {
        self.found(subject, user);
        self.redis.cache_entities(&[((self.shard(subject), key(subject)), mark, Some(user))]).await
    }

    fn found(&self, subject: &str, user: UserId) {
        self.users.insert(subject.to_owned(), user);
        self.absent.invalidate(subject);
        let waiting = self.to_come.lock().remove(subject);
        for waiting in waiting.into_iter().flatten() {
            let _ = waiting.send(user); // its caller may have left
        }
    }

    /// Waits for the user of a subject.
    async fn wait(&self, subject: &str) -> UserId {
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
            match self.db.users_by_subjects(&subjects).await {
                Ok(users) => users.into_iter().for_each(|(subject, user)| self.found(&subject, user)),
                Err(error) => tracing::debug!(%error, "cannot look for new users"),
            }
        }
    }

    /// Spreads the cache keys over the shards. Nothing else depends on it.
    fn shard(&self, subject: &str) -> ShardId {
        let mut hasher = DefaultHasher::new();
        subject.hash(&mut hasher);
        ShardId((hasher.finish() % self.redis.shards().get() as u64) as u16)
    }
}

/// The beginning of a name, if something of it can be shown. A name that cannot is no reason to refuse an action.
fn name_of_user(name: &str) -> Option<Text> {
    let shown = without_invisible(name.trim(), USER_NAME.line_breaks);
    let beginning: String = shown.chars().take(USER_NAME.max).collect();
    Text::parse(&beginning, &USER_NAME).ok()
}

fn key(subject: &str) -> String {
    format!("subject:{subject}")
}

impl Plaudit {
    /// The user of a token's subject; `None` if the subject has not acted yet.
    pub async fn find_user(&self, subject: &str) -> DomainResult<Option<UserId>> {
        let user = self.inner.accounts.find(subject).await?;
        // Known to be erased, without a look-up.
        Ok(user.filter(|user| !matches!(self.users().cached(*user), Some(None))))
    }

    /// The subject of a user's tokens; `None` for one that does not exist.
    pub async fn subject_of(&self, user: UserId) -> DomainResult<Option<String>> {
        Ok(self.inner.db.subject_of(user).await?)
    }

    /// Waits until the subject has a user: not at all if this process creates it, else 2 s at most.
    pub async fn user_to_come(&self, subject: &str) -> UserId {
        self.inner.accounts.wait(subject).await
    }

    /// The user of a token's subject, created at its first action. `name`: what the token calls a new user.
    ///
    /// # Errors
    /// [`DomainError::Suspended`].
    pub async fn ensure_user(&self, subject: &str, name: Option<&str>) -> DomainResult<UserId> {
        let (user, standing) = self.ensure_account(subject, name).await?;
        standing.must_be_active()?;
        Ok(user)
    }

    /// The same for what suspended users may do, too.
    pub async fn ensure_user_even_suspended(
        &self,
        subject: &str,
        name: Option<&str>,
    ) -> DomainResult<UserId> {
        Ok(self.ensure_account(subject, name).await?.0)
    }

    /// # Errors
    /// [`DomainError::Suspended`].
    pub async fn must_be_active(&self, user: UserId) -> DomainResult<()> {
        match self.standing(user).await? {
            Some(standing) => standing.must_be_active(),
            None => Ok(()), // erased: there is nothing to act on
        }
    }

    async fn ensure_account(&self, subject: &str, name: Option<&str>) -> DomainResult<(UserId, Standing)> {
        let accounts = &self.inner.accounts;
        if let Some(user) = accounts.find(subject).await? {
            if let Some(standing) = self.standing(user).await? {
                return Ok((user, standing));
            }
            // Erased, and the account is still cached: the subject comes back as a new user.
            accounts.users.invalidate(subject);
        }
        Ok(accounts.create(subject, name).await?)
    }

    /// `None` for an erased user.
    async fn standing(&self, user: UserId) -> DomainResult<Option<Standing>> {
        let standings = &self.inner.accounts.standings;
        if let Some(standing) = standings.get(user) {
            return Ok(Some(standing));
        }
        let look_up = standings.look_up(user);
        let Some(found) = self.users().get_many(&[user]).await?.pop().flatten() else { return Ok(None) };
        let standing = Standing { suspended_until: found.suspended_until };
        look_up.keep(standing);
        Ok(Some(standing))
    }
}

impl Standing {
    fn must_be_active(self) -> DomainResult<()> {
        match self.suspended_until {
            Some(until) if until > Utc::now() => Err(DomainError::Suspended { until }),
            _ => Ok(()),
        }
    }
}
