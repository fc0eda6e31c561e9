//! Redis and PostgreSQL as a test sees them: run by the test itself, or embedded in a server.

use std::{path::Path, sync::Arc};

use plaudit::embedded::{AppendFsync, DataDir, DataDirLock, EmbeddedServers, Options};
use redis::{AsyncCommands, aio::MultiplexedConnection};
use sqlx::{PgPool, postgres::PgPoolOptions};

use super::Place;

/// Addresses of both stores, and the servers themselves when this test runs them.
pub struct Stores {
    data_dir: DataDir,
    redis_url: String,
    database_url: String,
    redis_server: Option<EmbeddedServers>,
    postgres_server: Option<EmbeddedServers>,
    lock: Option<DataDirLock>,
    // Dropped last.
    _place: Option<Arc<Place>>,
}

/// One number from three sides.
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
        let data_dir = DataDir::open(place.path().join("data")).unwrap();
        let lock = data_dir.lock("a test").unwrap();
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
            database_url: data_dir.database_url(),
            redis_server: None,
            postgres_server: None,
            lock: None,
            _place: None,
        }
    }

    pub fn start_redis(&mut self, fsync: AppendFsync) {
        let options = Options { postgres: false, fsync, ..Options::default() };
        self.redis_server = Some(EmbeddedServers::start(self.lock.as_ref().unwrap(), options).unwrap());
    }

    pub fn start_postgres(&mut self) {
        let options = Options { redis: false, ..Options::default() };
        self.postgres_server = Some(EmbeddedServers::start(self.lock.as_ref().unwrap(), options).unwrap());
    }

    pub fn stop_redis(&mut self) {
        self.redis_server.take().unwrap().stop();
    }

    pub fn stop_postgres(&mut self) {
        self.postgres_server.take().unwrap().stop();
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
        let client = redis::Client::open(self.redis_url.as_str()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    pub async fn sql(&self) -> PgPool {
        PgPoolOptions::new().max_connections(2).connect(&self.database_url).await.unwrap()
    }

    /// Creates a user; the subject is unique.
    pub async fn new_user(&self) -> i64 {
        let subject = format!("test {}", uuid::Uuid::new_v4());
        let insert = "INSERT INTO app_user (subject, name) VALUES ($1, 'Test User') RETURNING id";
        sqlx::query_scalar(insert).bind(subject).fetch_one(&self.sql().await).await.unwrap()
    }

    /// Creates a note by a new author.
    pub async fn new_note(&self) -> i64 {
        let author = self.new_user().await;
        let insert =
            "INSERT INTO note (author_id, title, body) VALUES ($1, 'A test', 'Some text') RETURNING id";
        sqlx::query_scalar(insert).bind(author).fetch_one(&self.sql().await).await.unwrap()
    }

    /// Likes of a note: rows, total, and what Redis holds.
    pub async fn likes(&self, note: i64) -> Totals {
        let sql = self.sql().await;
        let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
        let total = "SELECT likes FROM note_counts WHERE id = $1";
        Totals {
            rows: sqlx::query_scalar(rows).bind(note).fetch_one(&sql).await.unwrap(),
            total: sqlx::query_scalar(total).bind(note).fetch_one(&sql).await.unwrap(),
            redis: self.redis().await.hget(format!("{{{}}}:c:note:{note}", note % 2), "likes").await.unwrap(),
        }
    }

    /// Whether nothing is pending: every log is folded, persisted and cleaned to its end.
    pub async fn are_at_rest(&self) -> bool {
        let sql = self.sql().await;
        let mut redis = self.redis().await;
        let persisted: Vec<(i64, i64)> =
            sqlx::query_as("SELECT generation, number FROM shard ORDER BY id").fetch_all(&sql).await.unwrap();
        let stale: i64 = sqlx::query_scalar("SELECT count(*) FROM stale_base").fetch_one(&sql).await.unwrap();
        let (mut rest, shards) = (stale == 0, persisted.len());
        for (source, (generation, number)) in persisted.iter().enumerate() {
            let persisted = format!("{generation}-{number}");
            let newest: Vec<(String, Vec<String>)> = redis::cmd("XREVRANGE")
                .arg(format!("{{{source}}}:log"))
                .arg("+")
                .arg("-")
                .arg("COUNT")
                .arg(1)
                .query_async(&mut redis)
                .await
                .unwrap();
            rest &= newest.first().is_some_and(|(id, _)| *id == persisted);
            for target in 0..shards {
                let fields = [format!("w:{source}"), format!("k:{source}")];
                let positions: Vec<Option<String>> =
                    redis.hmget(format!("{{{target}}}:meta"), &fields[..]).await.unwrap();
                rest &= positions.iter().all(|position| position.as_deref() == Some(persisted.as_str()));
            }
        }
        rest && !self.has_marks(shards).await
    }

    /// Whether a counter still counts something as pending.
    async fn has_marks(&self, shards: usize) -> bool {
        let mut redis = self.redis().await;
        for shard in 0..shards {
            let counters: Vec<String> = redis.keys(format!("{{{shard}}}:c:*")).await.unwrap();
            for counter in counters {
                let marks: Option<i64> = redis.hget(&counter, "marks").await.unwrap();
                if marks.unwrap_or_default() != 0 {
                    return true;
                }
            }
        }
        false
    }
}
