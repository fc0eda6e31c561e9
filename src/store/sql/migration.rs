//! Schema migrations.

use super::Db;
use crate::store::{StoreError, StoreResult};

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!();

impl Db {
    /// Brings the schema up to date. Safe to run from several processes at once.
    pub async fn migrate(&self) -> StoreResult<()> {
        MIGRATIONS.run(&self.pool()).await.map_err(|error| StoreError::Unexpected(error.to_string()))
    }
}
