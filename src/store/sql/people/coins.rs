//! The ledger of coins.

use chrono::{DateTime, Utc};

use crate::{
    StoreResult,
    sql::{Db, Tx},
};
use plaudit_catalogue::primitives::{Id, PageRequest, Slice, UserId};

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

/// A line of a user's ledger.
#[derive(Clone, PartialEq, Eq, Debug, sqlx::FromRow)]
pub struct CoinEntry {
    pub id: Id,
    pub amount: i64,
    pub balance_after: i64,
    pub reason: String,
    pub created_at: DateTime<Utc>,
}

/// A page of a user's ledger, newest first.
pub async fn coin_entries(db: &Db, user: UserId, page: &PageRequest) -> StoreResult<Slice<CoinEntry>> {
    let query = sqlx::query_as(
        "SELECT id, amount, balance_after, reason, created_at FROM coin_ledger
         WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
    );
    let query = query.bind(user.get()).bind(page.below()).bind(page.rows());
    Ok(page.slice(db.run(query.fetch_all(&db.pool())).await?))
}

pub async fn add_grant(tx: &mut Tx, grant: Grant<'_>) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO coin_ledger (user_id, amount, balance_after, reason, granted_by)
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(grant.user.get())
    .bind(grant.amount)
    .bind(grant.balance_after)
    .bind(grant.reason)
    .bind(grant.granted_by.get());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
