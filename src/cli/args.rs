//! Arguments that several commands share.

use clap::{Args, ValueEnum};

use crate::app::{self, AppError};
use plaudit_catalogue::settings::{DatabaseSettings, LocationSettings, LogSettings, RedisSettings};
use plaudit_store::{redis::Redis, sql::Db};

/// Output format of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    Table,
    Json,
}

/// Where PostgreSQL is, for a command that needs nothing else.
#[derive(Args, Clone, Debug)]
pub struct DatabaseArgs {
    #[command(flatten)]
    pub location: LocationSettings,
    #[command(flatten)]
    pub database: DatabaseSettings,
    #[command(flatten)]
    pub log: LogSettings,
}

/// Where both stores are.
#[derive(Args, Clone, Debug)]
pub struct StoresArgs {
    #[command(flatten)]
    pub location: LocationSettings,
    #[command(flatten)]
    pub redis: RedisSettings,
    #[command(flatten)]
    pub database: DatabaseSettings,
    #[command(flatten)]
    pub log: LogSettings,
}

impl DatabaseArgs {
    pub async fn open(&self) -> Result<Db, AppError> {
        app::open_database(&self.location, &self.database).await
    }
}

impl StoresArgs {
    pub async fn open(&self) -> Result<(Redis, Db), AppError> {
        app::open_stores(&self.location, &self.redis, &self.database).await
    }

    /// The same, also while Redis does not answer.
    pub async fn open_also_without_redis(&self) -> Result<(Redis, Db), AppError> {
        app::open_stores_also_without_redis(&self.location, &self.redis, &self.database).await
    }
}
