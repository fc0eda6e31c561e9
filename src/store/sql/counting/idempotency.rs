//! Idempotency keys of direct changes, stored in their transactions.

use std::time::Duration;

use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx},
};
use plaudit_catalogue::primitives::{Id, UserId};

/// A key that an earlier transaction has used.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct UsedKey {
    /// The action of the key: the mutation and a digest of its arguments.
    pub operation: String,
    pub changed: bool,
    /// Id of the created entity.
    #[sqlx(rename = "result_id")]
    pub result: Option<Id>,
}

/// Claims the key for this transaction, or returns its earlier use. A key that is older than `life` counts as free.
/// Of two transactions with the same key the second one waits for the first.
pub async fn take_key(
    tx: &mut Tx,
    actor: UserId,
    key: &str,
    operation: &str,
    life: Duration,
) -> StoreResult<Option<UsedKey>> {
    let take = sqlx::query(
        "INSERT INTO idempotency_key AS used (actor_id, key, operation) VALUES ($1, $2, $3)
         ON CONFLICT (actor_id, key) DO UPDATE
             SET operation = excluded.operation, changed = false, result_id = NULL, created_at = now()
             WHERE used.created_at < now() - $4 * interval '1 ms'",
    )
    .bind(actor.get())
    .bind(key)
    .bind(operation)
    .bind(life.as_millis() as i64);
    if tx.db.run(take.execute(&mut *tx.inner)).await?.rows_affected() == 1 {
        return Ok(None);
    }
    let used = sqlx::query_as(
        "SELECT operation, changed, result_id FROM idempotency_key WHERE actor_id = $1 AND key = $2",
    )
    .bind(actor.get())
    .bind(key);
    tx.db.run(used.fetch_one(&mut *tx.inner)).await.map(Some)
}

/// Stores the result of the action that claimed the key. One that has changed nothing ages by `sooner`.
pub async fn keep_result(
    tx: &mut Tx,
    actor: UserId,
    key: &str,
    changed: bool,
    result: Option<Id>,
    sooner: Duration,
) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE idempotency_key SET changed = $3, result_id = $4,
             created_at = CASE WHEN $3 THEN created_at ELSE created_at - $5 * interval '1 ms' END
         WHERE actor_id = $1 AND key = $2",
    )
    .bind(actor.get())
    .bind(key)
    .bind(changed)
    .bind(result.map(Id::get))
    .bind(sooner.as_millis() as i64);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Deletes at most `most` keys that are older than `life`. Returns their number.
pub async fn delete_old_keys(db: &Db, life: Duration, most: i64) -> StoreResult<u64> {
    let query = sqlx::query(
        "DELETE FROM idempotency_key WHERE ctid = ANY(ARRAY(
             SELECT ctid FROM idempotency_key WHERE created_at < now() - $1 * interval '1 ms'
             ORDER BY created_at LIMIT $2))",
    )
    .bind(life.as_millis() as i64)
    .bind(most);
    Ok(db.run(query.execute(&db.pool())).await?.rows_affected())
}
