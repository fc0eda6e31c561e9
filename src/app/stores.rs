//! Opening the stores: starts embedded servers, checks Redis and PostgreSQL, and migrates the schema.

use std::time::Duration;

use backon::{ConstantBuilder, Retryable};

use super::AppError;
use plaudit_embedded_stores::{DataDir, DataDirLock, EmbeddedServers, Options};
use url::Url;

use crate::{
    primitives::ShardCount,
    settings::{
        DatabaseSettings, PlaceSettings, ProcessRole, RedisSettings, ReplicaSettings, Settings, StoreUrl,
    },
    store::{
        StoreError, StoreResult,
        redis::{CertificateFiles, Deployment, Redis},
        sql::{Db, LEASE_CONNECTIONS, SqlServer, migration::SchemaError},
    },
};

/// The oldest supported version: older ones lack statements that Plaudit uses.
const OLDEST_POSTGRES: u32 = 15;
/// Connections of the pipeline in addition to those of requests, whatever the number of shards: their transactions wait
/// for each other in PostgreSQL more than for a connection. One of them listens.
const PIPELINE_CONNECTIONS: u32 = 16;

/// Connections of a command, or of the start.
const COMMAND_CONNECTIONS: u32 = 2;
/// Connections to a node of Redis: for commands, changes and logs, and one while scripts are loaded.
const NODE_CONNECTIONS: u32 = 4;

/// Both stores, checked, with an up-to-date schema.
pub struct Stores {
    pub redis: Redis,
    /// For requests.
    pub db: Db,
    /// For the pipeline.
    pub pipeline_db: Db,
    pub embedded: Option<Embedded>,
    pub data_dir: DataDir,
    /// To both stores, at most.
    pub connections: u32,
}

/// The embedded servers; they end when this is dropped.
pub struct Embedded {
    servers: EmbeddedServers,
    _lock: DataDirLock,
}

impl Stores {
    /// Starts the embedded servers that the settings require, checks both stores and migrates the schema.
    pub async fn open(settings: &Settings) -> Result<Self, AppError> {
        let data_dir = DataDir::open(&settings.place.data_dir)?;
        let embedded = start_embedded(settings, &data_dir).await?;
        let mut stores = Self::connect(settings, data_dir).await?;
        stores.embedded = embedded;
        Ok(stores)
    }

    /// Connects again, with the present number of shards. Embedded servers stay.
    pub async fn connect_again(&mut self, settings: &Settings) -> Result<(), AppError> {
        let mut again = Self::connect(settings, self.data_dir.clone()).await?;
        again.embedded = self.embedded.take();
        *self = again;
        Ok(())
    }

    async fn connect(settings: &Settings, data_dir: DataDir) -> Result<Self, AppError> {
        let redis_url = url(settings.redis.redis_url.as_ref(), || data_dir.redis_url());
        let server = DatabaseServer::of(&settings.database, || Ok(data_dir.database_url()))?;
        let server = server.with_replica(&settings.replica)?;

        let mend = other_schema_mend(settings.database.database_url.as_ref(), &data_dir);
        let streams_events = settings.pipeline.streams_events();
        let first = server.migrated(&mend).await?;
        first.set_stream(streams_events).await?;
        let shards = first.installation(settings.pipeline.virtual_shards).await?.shards;
        if settings.runs(ProcessRole::Api) {
            server.check_pooler().await?;
        }
        let redis = open_redis(&settings.redis, &redis_url, shards)?;
        check_redis(&redis, &redis_url, settings.redis.redis_allow_unsafe).await?;
        let requests = settings.database.database_connections;
        let db = server.sql.for_requests(requests).with_events(streams_events);
        let pipeline_db = server.sql.for_pipeline(PIPELINE_CONNECTIONS - LEASE_CONNECTIONS);
        let pipeline_db = pipeline_db.with_events(streams_events).beside(&db);
        let connections = requests + PIPELINE_CONNECTIONS + NODE_CONNECTIONS * redis.nodes_in_use().await?;
        Ok(Self { redis, db, pipeline_db, embedded: None, data_dir, connections })
    }

    /// Stops the embedded servers, if there are any.
    pub async fn close(self) {
        if let Some(embedded) = self.embedded {
            let _ = tokio::task::spawn_blocking(move || embedded.servers.stop()).await;
        }
    }
}

async fn start_embedded(settings: &Settings, data_dir: &DataDir) -> Result<Option<Embedded>, AppError> {
    let options = Options {
        redis: settings.redis.redis_url.is_none(),
        postgres: settings.database.database_url.is_none(),
        fsync: settings.redis.appendfsync,
        durable: true,
    };
    if !options.redis && !options.postgres {
        return Ok(None);
    }
    let (data_dir, listen) = (data_dir.clone(), settings.server.listen.to_string());
    let started = tokio::task::spawn_blocking(move || {
        let lock = DataDirLock::take(&data_dir, &listen)?;
        let servers = EmbeddedServers::start(&lock, options)?;
        Ok::<_, AppError>(Embedded { servers, _lock: lock })
    });
    started.await.map_err(std::io::Error::other)?.map(Some)
}

/// PostgreSQL as the settings name it.
struct DatabaseServer {
    sql: SqlServer,
    /// Of PostgreSQL itself.
    address: String,
    /// The setting that names PostgreSQL itself.
    setting: &'static str,
    /// Of the pooler, if there is one.
    pooler: String,
}

impl DatabaseServer {
    /// `embedded`: the URL if the settings name none.
    fn of(
        settings: &DatabaseSettings,
        embedded: impl FnOnce() -> Result<String, AppError>,
    ) -> Result<Self, AppError> {
        let (pooler, url) = (settings.database_url.as_ref(), settings.database_direct_url.as_ref());
        let (setting, pooler, direct) = match (url, pooler) {
            (Some(direct), pooler) => ("database_direct_url", pooler, direct.as_str().to_owned()),
            (None, Some(url)) => ("database_url", None, url.as_str().to_owned()),
            (None, None) => ("database_url", None, embedded()?),
        };
        let address = address(&direct);
        match SqlServer::new(&direct, pooler.map(StoreUrl::as_str), settings.database_schema.clone()) {
            Ok(sql) => {
                let pooler = pooler.map(|url| self::address(url.as_str())).unwrap_or_default();
                Ok(Self { sql, address, setting, pooler })
            }
            Err(error) => Err(AppError::Database { address, reason: error.to_string(), setting }),
        }
    }

    /// With the standby that the settings name for reads, if they do.
    fn with_replica(self, settings: &ReplicaSettings) -> Result<Self, AppError> {
        let Some(url) = &settings.database_replica_url else { return Ok(self) };
        let fails = |error: StoreError| AppError::Database {
            address: address(url.as_str()),
            reason: error.to_string(),
            setting: "database_replica_url",
        };
        Ok(Self { sql: self.sql.with_replica(url.as_str()).map_err(fails)?, ..self })
    }

    fn unusable(&self, reason: String) -> AppError {
        AppError::Database { address: self.address.clone(), reason, setting: self.setting }
    }

    /// Checks the sessions that a pooler gives to requests, if there is one.
    async fn check_pooler(&self) -> Result<(), AppError> {
        let fails = |error: StoreError| AppError::Database {
            address: self.pooler.clone(),
            reason: error.to_string(),
            setting: "database_url",
        };
        until_reachable(|| self.sql.check_pooler()).await.map_err(fails)
    }

    /// Checks PostgreSQL, and brings the schema up to date. `mend`: what to do about another schema.
    async fn migrated(&self, mend: &str) -> Result<Db, AppError> {
        let fails = |error: StoreError| self.unusable(error.to_string());
        let version = until_reachable(|| self.sql.probe()).await.map_err(fails)?;
        if version < OLDEST_POSTGRES {
            let reason = format!("PostgreSQL {version} is too old: Plaudit needs {OLDEST_POSTGRES} or newer");
            return Err(self.unusable(reason));
        }
        self.sql.check_direct().await.map_err(fails)?;
        self.sql.ensure_schema().await.map_err(fails)?;
        let db = self.sql.for_pipeline(COMMAND_CONNECTIONS);
        db.migrate().await.map_err(|error| self.unusable(schema_problem(&error, mend)))?;
        Ok(db)
    }
}

fn open_redis(settings: &RedisSettings, url: &str, shards: ShardCount) -> Result<Redis, AppError> {
    let files = CertificateFiles {
        ca: settings.redis_ca.as_deref(),
        client_certificate: settings.redis_client_certificate.as_deref(),
        client_key: settings.redis_client_key.as_deref(),
    };
    let deployment = Deployment::parse(url, files);
    deployment.and_then(|deployment| Redis::of(deployment, shards)).map_err(|error| redis_error(url, error))
}

/// The advice for a database with another schema: until 0.1.0 no version reads the data of another one.
fn other_schema_mend(database_url: Option<&StoreUrl>, data_dir: &DataDir) -> String {
    match database_url {
        Some(_) => "create an empty database and name it with --database-url".to_owned(),
        None => format!("remove the data directory {}, and all data with it", data_dir.path().display()),
    }
}

fn schema_problem(error: &SchemaError, mend: &str) -> String {
    match error {
        SchemaError::OtherMigrations(_) => format!("{error}; {mend}"),
        SchemaError::Store(_) => error.to_string(),
    }
}

async fn check_redis(redis: &Redis, url: &str, allow_unsafe: bool) -> Result<(), AppError> {
    let check = until_reachable(|| redis.check_process()).await.map_err(|error| redis_error(url, error))?;
    if let Some(reason) = check.unusable.into_iter().next() {
        return Err(AppError::Redis { address: address(url), reason });
    }
    for advice in check.advice {
        tracing::warn!("{advice}");
    }
    for reason in check.unsafe_settings {
        if allow_unsafe {
            tracing::warn!("{reason} (allowed by redis_allow_unsafe)");
        } else {
            let reason = format!("{reason}, or allow it with --redis-allow-unsafe");
            return Err(AppError::Redis { address: address(url), reason });
        }
    }
    Ok(())
}

/// Retries a few times, with pauses of up to a second, because the store may be starting.
async fn until_reachable<T, F>(call: impl FnMut() -> F) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    let pauses = ConstantBuilder::default().with_delay(Duration::from_millis(250)).with_max_times(3);
    call.retry(pauses).when(StoreError::is_transient).await
}

fn redis_error(url: &str, error: StoreError) -> AppError {
    AppError::Redis { address: address(url), reason: format!("{error}{}", mend_of_scheme(url, &error)) }
}

/// A server that speaks TLS, and a client that does not, understand nothing of each other, nor the reverse.
fn mend_of_scheme(url: &str, error: &StoreError) -> &'static str {
    let is_misunderstanding = match error {
        StoreError::RedisUnreachable(error) => !error.is_connection_refusal(),
        StoreError::Unexpected(_) => true,
        _ => false,
    };
    match url.split_once("://") {
        Some(("redis", _)) if is_misunderstanding => "; if it speaks TLS there, write rediss:// in redis_url",
        Some(("rediss", _)) if is_misunderstanding => {
            "; if it does not speak TLS there, write redis:// in redis_url"
        }
        _ => "",
    }
}

fn url(external: Option<&StoreUrl>, embedded: impl FnOnce() -> String) -> String {
    external.map_or_else(embedded, |url| url.as_str().to_owned())
}

/// A URL without its user and password, and without its parameters, which may be passwords, too.
fn address(url: &str) -> String {
    // A URL with several hosts is none by the standard.
    if let Some((scheme, rest)) = url.split_once("://")
        && scheme.contains('+')
        && rest.contains(',')
    {
        return format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, hosts)| hosts));
    }
    let Ok(mut url) = Url::parse(url) else { return "a URL that cannot be read".to_owned() };
    let _ = url.set_username(""); // fails without a host, where there is none
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// The data directory of a server that runs on this machine.
///
/// # Errors
/// [`AppError::NotRunning`] if no server runs.
pub fn beside_running_server(place: &PlaceSettings) -> Result<DataDir, AppError> {
    let not_running = || AppError::NotRunning { data_dir: place.data_dir.display().to_string() };
    if !place.data_dir.exists() {
        return Err(not_running());
    }
    let data_dir = DataDir::open(&place.data_dir)?;
    if data_dir.is_running() { Ok(data_dir) } else { Err(not_running()) }
}

/// The database of a command that works beside a running server, with an up-to-date schema.
pub async fn open_database(place: &PlaceSettings, database: &DatabaseSettings) -> Result<Db, AppError> {
    let embedded = || Ok(beside_running_server(place)?.database_url());
    let server = DatabaseServer::of(database, embedded)?;
    let db = server.migrated("use the version of Plaudit that serves it").await?;
    let streams_events = db.stream_is_on().await?;
    Ok(db.with_events(streams_events))
}

/// As [`open_database`], for a command that only reads: from the standby that the settings name, once it has all that is
/// persisted now.
pub async fn open_replica(
    place: &PlaceSettings,
    database: &DatabaseSettings,
    replica: &ReplicaSettings,
) -> Result<Db, AppError> {
    let embedded = || Ok(beside_running_server(place)?.database_url());
    let server = DatabaseServer::of(database, embedded)?.with_replica(replica)?;
    let db = server.migrated("use the version of Plaudit that serves it").await?;
    Ok(db.replica_of_now().await?)
}

/// Both stores for a command that works beside a running server, or on your own stores that a server has used.
pub async fn open_stores(
    place: &PlaceSettings,
    redis: &RedisSettings,
    database: &DatabaseSettings,
) -> Result<(Redis, Db), AppError> {
    let db = open_database(place, database).await?;
    let shards = db.shard_count().await?.ok_or(AppError::NeverStarted)?;
    let url = match &redis.redis_url {
        Some(url) => url.as_str().to_owned(),
        None => beside_running_server(place)?.redis_url(),
    };
    // Redis is not checked here: `plaudit explain` shows PostgreSQL's side without it.
    Ok((open_redis(redis, &url, shards)?, db))
}

/// Redis beside a running server, or your own, in a layout that need not be the present one.
///
/// # Errors
/// Redis does not answer.
pub async fn open_redis_in_layout(
    place: &PlaceSettings,
    settings: &RedisSettings,
    shards: ShardCount,
) -> Result<Redis, AppError> {
    let url = match &settings.redis_url {
        Some(url) => url.as_str().to_owned(),
        None => beside_running_server(place)?.redis_url(),
    };
    let redis = open_redis(settings, &url, shards)?;
    until_reachable(|| redis.ping()).await.map_err(|error| redis_error(&url, error))?;
    Ok(redis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_a_message_has_no_password() {
        assert_eq!(address("postgres://app:secret@db:5432/app"), "postgres://db:5432/app");
        assert_eq!(address("redis+unix:///run/redis.sock"), "redis+unix:///run/redis.sock");
        assert_eq!(address("redis+cluster://me:sec@ret@a:1,b:2"), "redis+cluster://a:1,b:2");
        assert_eq!(address("unix:///run/redis.sock?pass=secret"), "unix:///run/redis.sock");
        assert_eq!(address("postgres:///app?password=secr@et"), "postgres:///app");
    }
}
