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
    /// `None`: now.
    pub created_at: Option<DateTime<Utc>>,
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

/// Adds lines, in their order. The caller moves the totals.
pub async fn add_grants(tx: &mut Tx, grants: &[Grant<'_>]) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO coin_ledger (user_id, amount, balance_after, reason, granted_by, created_at)
         SELECT recipient, amount, balance_after, reason, granter, coalesce(at, now())
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::timestamptz[])
             WITH ORDINALITY AS line (recipient, amount, balance_after, reason, granter, at, place)
         ORDER BY place",
    )
    .bind(grants.iter().map(|grant| grant.user.get()).collect::<Vec<_>>())
    .bind(grants.iter().map(|grant| grant.amount).collect::<Vec<_>>())
    .bind(grants.iter().map(|grant| grant.balance_after).collect::<Vec<_>>())
    .bind(grants.iter().map(|grant| grant.reason).collect::<Vec<_>>())
    .bind(grants.iter().map(|grant| grant.granted_by.get()).collect::<Vec<_>>())
    .bind(grants.iter().map(|grant| grant.created_at).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
