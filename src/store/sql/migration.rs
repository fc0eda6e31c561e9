//! Schema migrations: a database gets the set of migrations of this build, or is refused.
//!
//! Until 0.1.0 migrations are edited in place, so a database of another build may hold another set.

use sqlx::migrate::MigrateError;

use super::Db;
use crate::store::StoreError;

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!();

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

impl Db {
    /// Brings the schema up to date. Safe to run from several processes at once.
    ///
    /// # Errors
    /// [`SchemaError::OtherMigrations`] for a database with tables of other migrations.
    pub async fn migrate(&self) -> Result<(), SchemaError> {
        MIGRATIONS.run(&self.pool()).await.map_err(SchemaError::from)
    }
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
