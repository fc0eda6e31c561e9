//! PostgreSQL as the settings name it: what the start requires of it, and what `plaudit check` therefore looks at.

use plaudit_embedded_stores::DataDir;

use super::{
    AppError,
    address::{address, advice_on_login, until_reachable},
};
use plaudit_catalogue::settings::{DatabaseSettings, ReplicaSettings, StoreUrl};
use plaudit_store::{
    StoreError,
    sql::{
        Db, Probe, SqlServer,
        connection::{
            capacity::Capacity,
            migration::{self, MigrationState, SchemaError},
            schema::SchemaState,
        },
    },
};

/// The oldest supported version: older ones lack statements that Plaudit uses.
const OLDEST_POSTGRES: u32 = 15;
/// Connections of a command, or of the start.
const COMMAND_CONNECTIONS: u32 = 2;

/// PostgreSQL as the settings name it.
pub struct DatabaseServer {
    pub sql: SqlServer,
    /// Of PostgreSQL itself, with its password.
    url: String,
    /// The setting that names PostgreSQL itself.
    setting: &'static str,
    /// Of the pooler, if there is one; with its password.
    pooler: String,
}

impl DatabaseServer {
    /// `embedded`: the URL if the settings name none.
    pub fn of(
        settings: &DatabaseSettings,
        embedded: impl FnOnce() -> Result<String, AppError>,
    ) -> Result<Self, AppError> {
        let (pooler, url) = (settings.database_url.as_ref(), settings.database_direct_url.as_ref());
        let (setting, pooler, direct) = match (url, pooler) {
            (Some(direct), pooler) => ("database_direct_url", pooler, direct.as_str().to_owned()),
            (None, Some(url)) => ("database_url", None, url.as_str().to_owned()),
            (None, None) => ("database_url", None, embedded()?),
        };
        let pooler = pooler.map(StoreUrl::as_str);
        match SqlServer::new(&direct, pooler, settings.database_schema.clone()) {
            Ok(sql) => Ok(Self { sql, url: direct, setting, pooler: pooler.unwrap_or_default().to_owned() }),
            Err(error) => Err(unusable(&direct, &error, setting)),
        }
    }

    /// With the standby that the settings name for reads, if they do.
    pub fn with_replica(self, settings: &ReplicaSettings) -> Result<Self, AppError> {
        let Some(url) = &settings.database_replica_url else { return Ok(self) };
        let fails = |error: StoreError| unusable(url.as_str(), &error, "database_replica_url");
        Ok(Self { sql: self.sql.with_replica(url.as_str()).map_err(fails)?, ..self })
    }

    /// Of PostgreSQL itself, without a password.
    pub fn address(&self) -> String {
        address(&self.url)
    }

    fn unusable(&self, reason: String) -> AppError {
        AppError::Database { address: self.address(), reason, setting: self.setting }
    }

    /// What PostgreSQL gives: see [`SqlServer::capacity`].
    pub async fn capacity(&self, marks: &[&str]) -> Result<Capacity, AppError> {
        self.sql.capacity(marks).await.map_err(|error| self.unusable(error.to_string()))
    }

    /// Checks the sessions that a pooler gives to requests, if there is one.
    pub async fn check_pooler(&self) -> Result<(), AppError> {
        let fails = |error: StoreError| unusable(&self.pooler, &error, "database_url");
        until_reachable(|| self.sql.check_pooler()).await.map_err(fails)
    }

    /// Checks that PostgreSQL itself is there, in a version that can be used.
    pub async fn probe(&self) -> Result<Probe, AppError> {
        let fails = |error: StoreError| unusable(&self.url, &error, self.setting);
        let probe = until_reachable(|| self.sql.probe()).await.map_err(fails)?;
        let version = probe.version;
        if version < OLDEST_POSTGRES {
            let reason = format!("PostgreSQL {version} is too old: Plaudit needs {OLDEST_POSTGRES} or newer");
            return Err(self.unusable(reason));
        }
        self.sql.check_direct().await.map_err(fails)?;
        Ok(probe)
    }

    /// Checks that the user may do in the schema what Plaudit does. Changes nothing.
    pub async fn schema_state(&self) -> Result<SchemaState, AppError> {
        self.sql.schema_state().await.map_err(|error| self.unusable(error.to_string()))
    }

    /// Checks that the tables are this build's, or that it can migrate them. Changes nothing. `advice`: what to do
    /// about other tables.
    pub async fn migration_state(&self, advice: &str) -> Result<MigrationState, AppError> {
        let state = self.sql.migration_state().await;
        state.map_err(|error| self.unusable(schema_problem(&error, advice)))
    }

    /// Checks PostgreSQL, and brings the schema up to date. `advice`: what to do about another schema.
    pub async fn migrated(&self, advice: &str) -> Result<Db, AppError> {
        let probe = self.probe().await?;
        if let Some(warning) = probe.clock.advice("PostgreSQL") {
            tracing::warn!("{warning}");
        }
        self.sql.ensure_schema().await.map_err(|error| self.unusable(error.to_string()))?;
        self.migration_state(advice).await?;
        let db = self.sql.for_pipeline(COMMAND_CONNECTIONS);
        migration::migrate(&db).await.map_err(|error| self.unusable(schema_problem(&error, advice)))?;
        Ok(db)
    }
}

fn unusable(url: &str, error: &StoreError, setting: &'static str) -> AppError {
    AppError::Database {
        address: address(url),
        reason: format!("{error}{}", advice_on_login(url, error)),
        setting,
    }
}

/// The advice for a database with another schema: until 0.1.0 no version reads the data of another one.
pub fn other_schema_advice(database_url: Option<&StoreUrl>, data_dir: &DataDir) -> String {
    match database_url {
        Some(_) => "create an empty database and name it with --database-url".to_owned(),
        None => format!("remove the data directory {}, and all data with it", data_dir.path().display()),
    }
}

fn schema_problem(error: &SchemaError, advice: &str) -> String {
    match error {
        SchemaError::OtherMigrations(_) => format!("{error}; {advice}"),
        SchemaError::Store(_) => error.to_string(),
    }
}
