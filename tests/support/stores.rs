//! Redis and PostgreSQL of a test: run by the test itself, or embedded in a server.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use plaudit_embedded_stores::{AppendFsync, DataDir, DataDirLock, EmbeddedServers, Options};
use redis::{AsyncCommands, aio::MultiplexedConnection};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{PgPool, postgres::PgPoolOptions};

use super::{Place, SOON, eventually, key, place::copy_all};

/// Addresses of both stores, and the servers themselves when this test runs them.
pub struct Stores {
    data_dir: DataDir,
    redis_url: String,
    /// Ports of its nodes, if it is a cluster.
    redis_nodes: Vec<u16>,
    database_url: String,
    redis_server: Option<EmbeddedServers>,
    postgres_server: Option<EmbeddedServers>,
    lock: Option<DataDirLock>,
    // Dropped last.
    _place: Option<Arc<Place>>,
}

/// One count in its three places.
#[derive(Debug, PartialEq, Eq)]
pub struct Totals {
    pub rows: i64,
    pub total: i64,
    pub redis: Option<i64>,
}

impl Stores {
    /// Starts stores that this test can stop and start.
    pub async fn start(fsync: AppendFsync) -> Self {
        let place = Arc::new(Place::new());
        let data_dir = DataDir::open(place.data_with_postgres()).unwrap();
        let lock = DataDirLock::take(&data_dir, "a test").unwrap();
        let mut stores = Self::of(&data_dir);
        stores.lock = Some(lock);
        stores._place = Some(place);
        stores.start_postgres();
        stores.start_redis(fsync);
        stores
    }

    pub fn of(data_dir: &DataDir) -> Self {
        Self {
            data_dir: data_dir.clone(),
            redis_url: data_dir.redis_url(),
            redis_nodes: Vec::new(),
            database_url: data_dir.database_url(),
            redis_server: None,
            postgres_server: None,
            lock: None,
            _place: None,
        }
    }

    /// Stores that something else runs: a cluster with these nodes, and a PostgreSQL.
    pub fn elsewhere(redis_url: &str, redis_nodes: Vec<u16>, database_url: &str) -> Self {
        let place = Arc::new(Place::new());
        let mut stores = Self::of(&DataDir::open(place.data()).unwrap());
        stores._place = Some(place);
        stores.redis_url = redis_url.to_owned();
        stores.redis_nodes = redis_nodes;
        stores.database_url = database_url.to_owned();
        stores
    }

    /// The same PostgreSQL with a Redis that something else runs.
    pub fn with_redis(mut self, redis_url: &str) -> Self {
        self.redis_url = redis_url.to_owned();
        self
    }

    pub fn start_redis(&mut self, fsync: AppendFsync) {
        let options = Options { postgres: false, fsync, ..Options::default() };
        self.redis_server = Some(EmbeddedServers::start(self.lock.as_ref().unwrap(), options).unwrap());
    }

    pub fn start_postgres(&mut self) {
        let options = Options { redis: false, ..Options::default() };
        self.postgres_server = Some(EmbeddedServers::start(self.lock.as_ref().unwrap(), options).unwrap());
    }

    /// `kill -9`; the process is restarted.
    pub fn kill_redis(&self) {
        kill(self.redis_server.as_ref().unwrap().redis_pid());
    }

    /// `kill -9` of the postmaster, which is restarted.
    pub fn kill_postgres(&self) {
        kill(self.postgres_server.as_ref().unwrap().postgres_pid());
    }

    /// Waits until both can be reached.
    pub async fn are_up(&self) {
        eventually("the stores are up", SOON, || async {
            for client in self.redis_clients() {
                let mut redis = client.get_multiplexed_async_connection().await.ok()?;
                let _: String = redis::cmd("PING").query_async(&mut redis).await.ok()?;
            }
            PgPoolOptions::new().max_connections(1).connect(&self.database_url).await.ok().map(drop)
        })
        .await;
    }

    pub fn stop_redis(&mut self) {
        self.redis_server.take().unwrap().stop();
    }

    pub fn stop_postgres(&mut self) {
        self.postgres_server.take().unwrap().stop();
    }

    /// SIGSTOP to all processes of a store (`redis` or `postgres`): connections stay open, but get no response.
    pub fn stall(&self, store: &str) {
        self.signal(store, Signal::STOP);
    }

    /// Ends a stall.
    pub fn wake(&self, store: &str) {
        self.signal(store, Signal::CONT);
    }

    /// Signals all processes whose working directory is in the store's directory.
    fn signal(&self, store: &str, signal: Signal) {
        let directory = self.data_dir().join(store).canonicalize().unwrap();
        let mut signalled = 0;
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
            if fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&directory)) {
                signalled += i32::from(kill_process(Pid::from_raw(pid).unwrap(), signal).is_ok());
            }
        }
        assert!(signalled > 0, "nothing runs in {}", directory.display());
    }

    /// Copies the current files of a store (`redis`, or a stopped `postgres`).
    pub fn copy_files(&self, store: &str) -> PathBuf {
        let copy = self.data_dir().join(format!("{store}-copy"));
        copy_all(&self.data_dir().join(store), &copy);
        copy
    }

    /// Replaces the files of a stopped store by a copy.
    pub fn restore_files(&self, store: &str, copy: &Path) {
        let files = self.data_dir().join(store);
        fs::remove_dir_all(&files).unwrap();
        copy_all(copy, &files);
    }

    /// A failover to a standby that had received no more than `copy`: PostgreSQL goes on from there on the next
    /// timeline.
    pub fn fail_postgres_over_to(&mut self, copy: &Path) {
        self.stop_postgres();
        self.restore_files("postgres", copy);
        let files = self.data_dir().join("postgres");
        let settings = files.join("postgresql.auto.conf");
        let mut text = fs::read_to_string(&settings).unwrap();
        // There is no further WAL, so the recovery ends at once and begins a timeline, as a promotion does.
        text.push_str("restore_command = 'false'\n");
        fs::write(&settings, text).unwrap();
        fs::write(files.join("recovery.signal"), "").unwrap();
        self.start_postgres();
    }

    pub fn redis_url(&self) -> &str {
        &self.redis_url
    }

    pub fn database_url(&self) -> &str {
        &self.database_url
    }

    pub fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    pub async fn redis(&self) -> MultiplexedConnection {
        self.redis_clients()[0].get_multiplexed_async_connection().await.unwrap()
    }

    /// A connection to the server or node that has the key.
    pub async fn redis_of(&self, key: &str) -> MultiplexedConnection {
        if self.redis_nodes.is_empty() {
            return self.redis().await;
        }
        eventually("a node has the key", SOON, || async {
            for client in self.redis_clients() {
                let Ok(mut redis) = client.get_multiplexed_async_connection().await else { continue };
                if redis::cmd("EXISTS").arg(key).query_async::<u32>(&mut redis).await.is_ok() {
                    return Some(redis);
                }
            }
            None
        })
        .await
    }

    fn redis_clients(&self) -> Vec<redis::Client> {
        let nodes = self.redis_nodes.iter().map(|port| format!("redis://127.0.0.1:{port}"));
        let urls: Vec<String> = match self.redis_nodes[..] {
            [] => vec![self.redis_url.clone()],
            _ => nodes.collect(),
        };
        urls.into_iter().map(|url| redis::Client::open(url).unwrap()).collect()
    }

    pub async fn sql(&self) -> PgPool {
        PgPoolOptions::new().max_connections(2).connect(&self.database_url).await.unwrap()
    }

    /// Runs a command of Redis and ignores its reply.
    pub async fn command(&self, words: &[&str]) {
        let mut cmd = redis::cmd(words[0]);
        cmd.arg(&words[1..]);
        let _: redis::Value = cmd.query_async(&mut self.redis().await).await.unwrap();
    }

    /// Creates a user; the subject is unique, and the same in all stores for the same id.
    pub async fn new_user(&self) -> i64 {
        let insert = "INSERT INTO app_user (id, subject, name) OVERRIDING SYSTEM VALUE
             SELECT id, 'test ' || id, 'Test User' FROM nextval(pg_get_serial_sequence('app_user', 'id')) AS id
             RETURNING id";
        sqlx::query_scalar(insert).fetch_one(&self.sql().await).await.unwrap()
    }

    /// Creates a user who belongs to the shard; returns the subject.
    pub async fn new_subject_of_shard(&self, shard: i64) -> String {
        loop {
            let id = self.new_user().await;
            if id % 2 == shard {
                let subject = "SELECT subject FROM app_user WHERE id = $1";
                return sqlx::query_scalar(subject).bind(id).fetch_one(&self.sql().await).await.unwrap();
            }
        }
    }

    /// Creates a note that belongs to the shard.
    pub async fn new_note_of_shard(&self, shard: i64) -> i64 {
        loop {
            let id = self.new_note().await;
            if id % 2 == shard {
                return id;
            }
        }
    }

    /// Creates a note by a new author, and updates the author's total.
    pub async fn new_note(&self) -> i64 {
        let author = self.new_user().await;
        let insert = "WITH updated AS (UPDATE user_counts SET notes = notes + 1 WHERE id = $1)
             INSERT INTO note (author_id, title, body) VALUES ($1, 'A test', 'Some text') RETURNING id";
        sqlx::query_scalar(insert).bind(author).fetch_one(&self.sql().await).await.unwrap()
    }

    /// Creates a user of one of so many shards.
    pub async fn new_user_of(&self, shard: i64, shards: i64) -> i64 {
        loop {
            let id = self.new_user().await;
            if id % shards == shard {
                return id;
            }
        }
    }

    /// Creates a note of one of so many shards, whose author is of the same one.
    pub async fn new_note_and_author_of(&self, shard: i64, shards: i64) -> i64 {
        let (author, sql) = (self.new_user_of(shard, shards).await, self.sql().await);
        let insert =
            "INSERT INTO note (author_id, title, body) VALUES ($1, 'A test', 'Some text') RETURNING id";
        loop {
            let id: i64 = sqlx::query_scalar(insert).bind(author).fetch_one(&sql).await.unwrap();
            if id % shards == shard {
                return id;
            }
        }
    }

    /// Deletes all events, in one transaction, as retention does.
    pub async fn delete_events(&self) {
        let mut retention = self.sql().await.begin().await.unwrap();
        let moved =
            "UPDATE event_stream SET position = (SELECT nextval('event_position')), written_at = now()";
        sqlx::query(moved).execute(&mut *retention).await.unwrap();
        sqlx::query("DELETE FROM event").execute(&mut *retention).await.unwrap();
        retention.commit().await.unwrap();
    }

    /// Creates a comment by a new author.
    pub async fn new_comment(&self, note: i64) -> i64 {
        let author = self.new_user().await;
        self.new_comment_by(author, note).await
    }

    /// Creates a comment, and updates the totals of the note and the author.
    pub async fn new_comment_by(&self, author: i64, note: i64) -> i64 {
        let mut tx = self.sql().await.begin().await.unwrap();
        let insert =
            "WITH new AS (INSERT INTO comment_index (note_id, author_id, state) VALUES ($1, $2, 'approved') RETURNING id)
                      INSERT INTO comment_body (id, body) SELECT id, 'Some words' FROM new RETURNING id";
        let id: i64 = sqlx::query_scalar(insert).bind(note).bind(author).fetch_one(&mut *tx).await.unwrap();
        for total in [
            "UPDATE note_counts SET comments = comments + 1 WHERE id = $1 AND $2 > 0",
            "UPDATE user_counts SET comments = comments + 1 WHERE id = $2 AND $1 > 0",
            "INSERT INTO invalidation (shard, names, reason) VALUES
             ($1::bigint % 2, 'note_' || $1, 'a test'), ($2::bigint % 2, 'user_' || $2, 'a test')",
        ] {
            sqlx::query(total).bind(note).bind(author).execute(&mut *tx).await.unwrap();
        }
        tx.commit().await.unwrap();
        id
    }

    /// Creates a group by a new user.
    pub async fn new_group(&self) -> i64 {
        let owner = self.new_user().await;
        let insert =
            "INSERT INTO app_group (owner_id, name, description) VALUES ($1, 'A test', '') RETURNING id";
        sqlx::query_scalar(insert).bind(owner).fetch_one(&self.sql().await).await.unwrap()
    }

    /// The id of the user with this subject.
    pub async fn user_of(&self, subject: &str) -> i64 {
        let id = "SELECT id FROM app_user WHERE subject = $1";
        sqlx::query_scalar(id).bind(subject).fetch_one(&self.sql().await).await.unwrap()
    }

    /// One number from PostgreSQL.
    pub async fn number(&self, query: &str, id: i64) -> i64 {
        let query = sqlx::query_scalar(sqlx::AssertSqlSafe(query.to_owned())).bind(id);
        query.fetch_one(&self.sql().await).await.unwrap()
    }

    /// Likes of a note: rows, total, and count in Redis.
    pub async fn likes(&self, note: i64) -> Totals {
        let sql = self.sql().await;
        let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
        let total = "SELECT likes FROM note_counts WHERE id = $1";
        Totals {
            rows: sqlx::query_scalar(rows).bind(note).fetch_one(&sql).await.unwrap(),
            total: sqlx::query_scalar(total).bind(note).fetch_one(&sql).await.unwrap(),
            redis: self.redis().await.hget(key(note % 2, format!("c:note_{note}")), "likes").await.unwrap(),
        }
    }

    /// Waits until nothing is pending: every log is folded, persisted and retired to its end, and no
    /// invalidation and no backfill is left.
    pub async fn rest(&self) {
        let start = Instant::now();
        loop {
            let pending_work = self.pending_work().await;
            if pending_work.is_empty() {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(240), "not at rest: {pending_work:#?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Descriptions of what is still pending.
    async fn pending_work(&self) -> Vec<String> {
        let sql = self.sql().await;
        let mut pending_work = Vec::new();
        let invalidations: i64 =
            sqlx::query_scalar("SELECT count(*) FROM invalidation").fetch_one(&sql).await.unwrap();
        if invalidations > 0 {
            pending_work.push(format!("{invalidations} invalidations"));
        }
        let backfills = "SELECT count(*) FROM backfill WHERE finished_at IS NULL";
        let backfills: i64 = sqlx::query_scalar(backfills).fetch_one(&sql).await.unwrap();
        if backfills > 0 {
            pending_work.push(format!("{backfills} backfills"));
        }
        let offsets = "SELECT generation || '-' || number FROM shard ORDER BY id";
        let persisted: Vec<String> = sqlx::query_scalar(offsets).fetch_all(&sql).await.unwrap();
        for (source, persisted) in persisted.iter().enumerate() {
            let log = key(source, "log");
            let mut redis = self.redis_of(&log).await;
            let end: Vec<(String, Vec<String>)> = redis.xrevrange_count(log, "+", "-", 1).await.unwrap();
            if end.first().is_none_or(|(id, _)| id != persisted) {
                pending_work.push(format!("log {source} ends at {end:?}, persisted to {persisted}"));
            }
        }
        for target in 0..persisted.len() {
            let mut redis = self.redis_of(&key(target, "meta")).await;
            pending_work.extend(self.pending_work_of_target(&mut redis, target, &persisted).await);
        }
        pending_work
    }

    async fn pending_work_of_target(
        &self,
        redis: &mut MultiplexedConnection,
        target: usize,
        persisted: &[String],
    ) -> Vec<String> {
        let mut pending_work = Vec::new();
        let meta: HashMap<String, String> = redis.hgetall(key(target, "meta")).await.unwrap();
        for (source, persisted) in persisted.iter().enumerate() {
            let retired = (source == target).then(|| "members_retired".to_owned());
            for field in retired.into_iter().chain([format!("folded:{source}")]) {
                if meta.get(&field) != Some(persisted) {
                    pending_work
                        .push(format!("shard {target}: {field} is {:?}, not {persisted}", meta.get(&field)));
                }
            }
        }
        pending_work
    }
}

/// Ignores a process that has ended.
fn kill(pid: Option<u32>) {
    let pid = pid.and_then(|pid| Pid::from_raw(pid as i32));
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::KILL);
    }
}
