//! Schema migrations: a database gets the set of migrations of this build, or is refused.
//!
//! Until 0.1.0 migrations are edited in place, so a database of another build may hold another set.

use sqlx::{ConnectOptions, Connection, PgConnection, migrate::MigrateError};

use super::server::{SqlServer, in_time};
use crate::{StoreError, sql::Db};

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// Error codes `duplicate_table` and `duplicate_function`.
const DUPLICATES: [&str; 2] = ["42P07", "42723"];

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The database has tables of other migrations. Nothing was changed.
    #[error("its tables are of another version of Plaudit ({0})")]
    OtherMigrations(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far the database is from the migrations of this build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MigrationState {
    /// It has no table of Plaudit.
    Empty,
    /// This many are to be run.
    Pending(usize),
    Current,
}

/// The name of the record, and of all tables that the migrations create.
pub(crate) fn tables() -> Vec<String> {
    let named = MIGRATIONS.iter().flat_map(|migration| created_by(migration.sql.as_str()));
    std::iter::once(RECORD).chain(named).map(str::to_owned).collect()
}

const RECORD: &str = "_sqlx_migrations";

fn created_by(sql: &str) -> impl Iterator<Item = &str> {
    let tables = sql.lines().filter_map(|line| line.strip_prefix("CREATE TABLE "));
    tables.filter_map(|rest| rest.split([' ', '(']).next())
}

impl SqlServer {
    /// How far the database is from the migrations of this build. Changes nothing.
    ///
    /// # Errors
    /// [`SchemaError::OtherMigrations`] if `migration::migrate` could not bring it up to date.
    pub async fn migration_state(&self) -> Result<MigrationState, SchemaError> {
        let found = in_time(async {
            let mut connection = self.pipeline_options().connect().await?;
            let found = ExistingSchema::read(&mut connection).await?;
            connection.close().await?;
            Ok(found)
        });
        found.await?.state()
    }
}

/// What the database has.
struct ExistingSchema {
    /// The tables of Plaudit that exist.
    tables: Vec<String>,
    /// Version, checksum, and whether it was run to its end.
    applied: Vec<(i64, Vec<u8>, bool)>,
}

impl ExistingSchema {
    /// As they are at one moment: another process may be running migrations.
    async fn read(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        let mut moment = connection.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        let exist =
            "SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                     WHERE n.nspname = current_schema() AND c.relname = ANY($1)";
        let tables: Vec<String> = sqlx::query_scalar(exist).bind(tables()).fetch_all(&mut *moment).await?;
        let mut applied = Vec::new();
        if tables.iter().any(|table| table == RECORD) {
            let query = "SELECT version, checksum, success FROM _sqlx_migrations ORDER BY version";
            applied = sqlx::query_as(query).fetch_all(&mut *moment).await?;
        }
        moment.rollback().await?;
        Ok(Self { tables, applied })
    }

    fn state(&self) -> Result<MigrationState, SchemaError> {
        let mut pending: Vec<_> = MIGRATIONS.iter().collect();
        for (version, checksum, is_done) in &self.applied {
            if !is_done {
                return Err(MigrateError::Dirty(*version).into());
            }
            let Some(at) = pending.iter().position(|migration| migration.version == *version) else {
                return Err(MigrateError::VersionMissing(*version).into());
            };
            let migration = pending.remove(at);
            if *migration.checksum != **checksum {
                return Err(MigrateError::VersionMismatch(*version).into());
            }
            if let Some(table) = created_by(migration.sql.as_str()).find(|table| !self.has(table)) {
                let text = format!("migration {version} was run, and its table {table} is missing");
                return Err(SchemaError::OtherMigrations(text));
            }
        }
        let too_early = |migration: &&sqlx::migrate::Migration| {
            created_by(migration.sql.as_str()).find(|table| self.has(table)).map(str::to_owned)
        };
        if let Some(table) = pending.iter().find_map(too_early) {
            let text = format!("the table {table} exists, and no record of the migration that creates it");
            return Err(SchemaError::OtherMigrations(text));
        }
        Ok(match (self.applied.len(), pending.len()) {
            (0, _) => MigrationState::Empty,
            (_, 0) => MigrationState::Current,
            (_, pending) => MigrationState::Pending(pending),
        })
    }

    fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|name| name == table)
    }
}

/// Brings the schema up to date. Safe to run from several processes at once.
///
/// # Errors
/// [`SchemaError::OtherMigrations`] for a database with tables of other migrations.
pub async fn migrate(db: &Db) -> Result<(), SchemaError> {
    MIGRATIONS.run(&db.pool()).await.map_err(SchemaError::from)
}

impl From<MigrateError> for SchemaError {
    fn from(error: MigrateError) -> Self {
        let is_of_others = match &error {
            MigrateError::VersionMismatch(_) | MigrateError::VersionMissing(_) | MigrateError::Dirty(_) => {
                true
            }
            // Tables without the record of migrations.
            MigrateError::ExecuteMigration(sqlx::Error::Database(refused), _) => {
                refused.code().is_some_and(|code| DUPLICATES.contains(&&*code))
            }
            _ => false,
        };
        let text = error.to_string();
        match error {
            _ if is_of_others => Self::OtherMigrations(text),
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                Self::Store(StoreError::from(error))
            }
            _ => Self::Store(StoreError::Unexpected(text)),
        }
    }
}
