//! The ledger of coins.

use super::Tx;
use crate::{primitives::UserId, store::StoreResult};

/// One line of the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    pub user: UserId,
    /// Not zero. A negative amount takes coins away.
    pub amount: i64,
    pub balance_after: i64,
    pub reason: &'a str,
    pub granted_by: UserId,
}

impl Tx {
    pub async fn add_grant(&mut self, grant: Grant<'_>) -> StoreResult<()> {
        let query = sqlx::query(
            "INSERT INTO coin_ledger (user_id, amount, balance_after, reason, granted_by)
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(grant.user.get())
        .bind(grant.amount)
        .bind(grant.balance_after)
        .bind(grant.reason)
        .bind(grant.granted_by.get());
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}
