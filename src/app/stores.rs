//! Opening the stores: starts embedded servers, checks Redis and PostgreSQL, and migrates the schema.

use plaudit_embedded_stores::{DataDir, DataDirLock, EmbeddedServers, Options};

use super::{
    AppError,
    address::until_reachable,
    database::{DatabaseServer, other_schema_advice},
    one_redis,
    redis_server::{check_redis, first_shards, open_redis, redis_error},
};
use plaudit_catalogue::{
    primitives::ShardCount,
    settings::{
        DatabaseSettings, LocationSettings, ProcessRole, RedisSettings, ReplicaSettings, Settings, StoreUrl,
    },
};
use plaudit_store::{
    StoreResult,
    redis::{Redis, nodes::shards_of_nodes},
    sql::{Db, LEASE_CONNECTIONS, connection::replica, ownership::installation, stream::retention},
};

/// Connections of the pipeline in addition to requests' ones, whatever the number of shards: their transactions wait
/// for each other in PostgreSQL more than for a connection. One of them listens.
const PIPELINE_CONNECTIONS: u32 = 16;

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
        let options = embedded_options(settings);
        let is_needed = options.redis || options.postgres;
        let open = if is_needed { DataDir::open } else { DataDir::at };
        let data_dir = open(&settings.location.data_dir)?;
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

        let advice = other_schema_advice(settings.database.database_url.as_ref(), &data_dir);
        let streams_events = settings.pipeline.streams_events();
        let first = server.migrated(&advice).await?;
        retention::set_stream(&first, streams_events).await?;
        let shards =
            installation::installation(&first, first_shards(&settings.pipeline, &redis_url)).await?.shards;
        if settings.runs(ProcessRole::Api) {
            server.check_pooler().await?;
        }
        let redis = open_redis(&settings.redis, &redis_url, shards)?;
        for warning in check_redis(&redis, &redis_url, settings.redis.redis_allow_unsafe).await?.warnings {
            tracing::warn!("{warning}");
        }
        let is_one = until_reachable(|| one_redis::claim(&redis, &first)).await;
        is_one.map_err(|error| redis_error(&redis_url, error))?;
        let requests = settings.database.database_connections;
        let db = server.sql.for_requests(requests).with_events(streams_events);
        let pipeline_db = server.sql.for_pipeline(PIPELINE_CONNECTIONS - LEASE_CONNECTIONS);
        let pipeline_db = pipeline_db.with_events(streams_events).beside(&db);
        let to_redis = NODE_CONNECTIONS * shards_of_nodes::nodes_in_use(&redis).await?;
        let connections = sql_connections(settings).all() + to_redis;
        Ok(Self { redis, db, pipeline_db, embedded: None, data_dir, connections })
    }

    /// Stops the embedded servers, if there are any.
    pub async fn close(self) {
        if let Some(embedded) = self.embedded {
            let _ = tokio::task::spawn_blocking(move || embedded.servers.stop()).await;
        }
    }
}

/// The servers that the settings require to be embedded.
pub fn embedded_options(settings: &Settings) -> Options {
    Options {
        redis: settings.redis.redis_url.is_none(),
        postgres: settings.database.database_url.is_none(),
        fsync: settings.redis.appendfsync,
        ..Options::default()
    }
}

/// Connections to PostgreSQL of a process with these settings, at most. Its start needs no more of them.
pub struct SqlConnections {
    pub requests: u32,
    pub pipeline: u32,
}

impl SqlConnections {
    pub const fn all(&self) -> u32 {
        self.requests + self.pipeline
    }
}

/// The connections of the roles that run here. The other pool connects to nothing.
pub fn sql_connections(settings: &Settings) -> SqlConnections {
    let of = |role, connections| if settings.runs(role) { connections } else { 0 };
    SqlConnections {
        requests: of(ProcessRole::Api, settings.database.database_connections),
        pipeline: of(ProcessRole::Pipeline, PIPELINE_CONNECTIONS),
    }
}

async fn start_embedded(settings: &Settings, data_dir: &DataDir) -> Result<Option<Embedded>, AppError> {
    let options = embedded_options(settings);
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

pub fn url(external: Option<&StoreUrl>, embedded: impl FnOnce() -> String) -> String {
    external.map_or_else(embedded, |url| url.as_str().to_owned())
}

/// The data directory of a server that runs on this machine with this store embedded. The other one may be elsewhere.
///
/// # Errors
/// [`AppError::NotRunning`] if no such server runs.
fn beside_running_server(location: &LocationSettings, store: EmbeddedStore) -> Result<DataDir, AppError> {
    let data_dir = DataDir::at(&location.data_dir)?;
    let (is_running, store, setting) = match store {
        EmbeddedStore::Redis => (data_dir.has_redis(), "Redis", "redis-url"),
        EmbeddedStore::Postgres => (data_dir.has_postgres(), "PostgreSQL", "database-url"),
    };
    if is_running {
        return Ok(data_dir);
    }
    Err(AppError::NotRunning { data_dir: location.data_dir.display().to_string(), store, setting })
}

#[derive(Clone, Copy)]
enum EmbeddedStore {
    Redis,
    Postgres,
}

/// The database of a command that works beside a running server, with an up-to-date schema.
pub async fn open_database(location: &LocationSettings, database: &DatabaseSettings) -> Result<Db, AppError> {
    let embedded = || Ok(beside_running_server(location, EmbeddedStore::Postgres)?.database_url());
    let server = DatabaseServer::of(database, embedded)?;
    let db = server.migrated("use the version of Plaudit that serves it").await?;
    let streams_events = retention::stream_is_on(&db).await?;
    Ok(db.with_events(streams_events))
}

/// As [`open_database`], for a command that only reads: from the standby that the settings name, once it has
/// all that is persisted now.
pub async fn open_replica(
    location: &LocationSettings,
    database: &DatabaseSettings,
    replica: &ReplicaSettings,
) -> Result<Db, AppError> {
    let embedded = || Ok(beside_running_server(location, EmbeddedStore::Postgres)?.database_url());
    let server = DatabaseServer::of(database, embedded)?.with_replica(replica)?;
    let db = server.migrated("use the version of Plaudit that serves it").await?;
    Ok(replica::replica_of_now(&db).await?)
}

/// Both stores for a command that works beside a running server, or on your own stores that a server has used.
///
/// # Errors
/// Redis does not answer, or is not the one that the installation uses.
pub async fn open_stores(
    location: &LocationSettings,
    redis: &RedisSettings,
    database: &DatabaseSettings,
) -> Result<(Redis, Db), AppError> {
    let Opened { redis, db, url, used } = open_and_check(location, redis, database).await?;
    used.map_err(|error| redis_error(&url, error))?;
    Ok((redis, db))
}

/// As [`open_stores`], for a command that also works while Redis does not answer.
///
/// # Errors
/// Redis is not the one that the installation uses.
pub async fn open_stores_also_without_redis(
    location: &LocationSettings,
    redis: &RedisSettings,
    database: &DatabaseSettings,
) -> Result<(Redis, Db), AppError> {
    let Opened { redis, db, url, used } = open_and_check(location, redis, database).await?;
    match used {
        Err(error) if !error.is_transient() => Err(redis_error(&url, error)),
        _ => Ok((redis, db)),
    }
}

struct Opened {
    redis: Redis,
    db: Db,
    /// Of Redis.
    url: String,
    /// Whether the installation uses this Redis.
    used: StoreResult<()>,
}

async fn open_and_check(
    location: &LocationSettings,
    redis: &RedisSettings,
    database: &DatabaseSettings,
) -> Result<Opened, AppError> {
    let db = open_database(location, database).await?;
    let shards = installation::shard_count(&db).await?.ok_or(AppError::NeverStarted)?;
    let url = redis_url_beside_server(location, redis)?;
    let redis = open_redis(redis, &url, shards)?;
    let used = until_reachable(|| one_redis::check_command(&redis, &db)).await;
    Ok(Opened { redis, db, url, used })
}

fn redis_url_beside_server(location: &LocationSettings, redis: &RedisSettings) -> Result<String, AppError> {
    Ok(match &redis.redis_url {
        Some(url) => url.as_str().to_owned(),
        None => beside_running_server(location, EmbeddedStore::Redis)?.redis_url(),
    })
}

/// Redis beside a running server, or your own, in a layout that need not be the present one.
///
/// # Errors
/// Redis does not answer.
pub async fn open_redis_in_layout(
    location: &LocationSettings,
    settings: &RedisSettings,
    shards: ShardCount,
) -> Result<Redis, AppError> {
    let url = redis_url_beside_server(location, settings)?;
    let redis = open_redis(settings, &url, shards)?;
    until_reachable(|| redis.ping()).await.map_err(|error| redis_error(&url, error))?;
    Ok(redis)
}
