//! Transaction: its statements have time limits; dropping it rolls back. Its commit writes the events of the stream.

use sqlx::{Postgres, Transaction};

use super::new_event::{NewEvent, write_events};
use crate::{StoreResult, sql::Db};

const BEGIN: &str = "BEGIN";
/// In one round trip.
const BEGIN_ON_TIMELINE: &str = "BEGIN; SELECT begin_timeline()";

/// A transaction. Its statements have the time limits of the [`Db`] that began it. Dropping it rolls it back.
pub struct Tx {
    pub(crate) inner: Transaction<'static, Postgres>,
    /// Boxed, so that a transaction is cheap to move.
    pub(crate) db: Box<Db>,
    /// What it makes happen: written last, by the commit.
    pub(crate) events: Vec<NewEvent>,
}

impl Db {
    /// Begins in a task of its own, which is never cancelled. If a caller left while PostgreSQL began the transaction,
    /// sqlx 0.9.0 would give the connection back to the pool with the transaction open: statements of others would
    /// become part of it and be rolled back with it (<https://github.com/launchbadge/sqlx/issues/4393>).
    pub async fn begin(&self) -> StoreResult<Tx> {
        let pool = self.pool();
        let begin = if self.outlives_timelines() { BEGIN_ON_TIMELINE } else { BEGIN };
        let begun = async move {
            let beginning = tokio::spawn(async move { pool.begin_with(begin).await });
            beginning.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
        };
        let inner = self.run(begun).await?;
        Ok(Tx { inner, db: Box::new(self.clone()), events: Vec::new() })
    }
}

impl Tx {
    /// Writes the events, and commits.
    ///
    /// # Errors
    /// After any error the commit may or may not have happened.
    pub async fn commit(mut self) -> StoreResult<()> {
        write_events(&self.db, &mut self.inner, &self.events).await?;
        self.db.run(self.inner.commit()).await
    }
}
