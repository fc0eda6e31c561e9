//! Transaction: its statements have time limits; dropping it rolls back.

use sqlx::{Postgres, Transaction};

use super::Db;
use crate::store::StoreResult;

/// A transaction. Its statements have the time limits of the [`Db`] that began it. Dropping it rolls it back.
pub struct Tx {
    pub(super) inner: Transaction<'static, Postgres>,
    pub(super) db: Db,
}

impl Db {
    pub async fn begin(&self) -> StoreResult<Tx> {
        let pool = self.pool();
        let inner = self.run(pool.begin()).await?;
        Ok(Tx { inner, db: self.clone() })
    }
}

impl Tx {
    /// # Errors
    /// After any error the commit may or may not have happened.
    pub async fn commit(self) -> StoreResult<()> {
        self.db.run(self.inner.commit()).await
    }
}
