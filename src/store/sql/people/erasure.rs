//! Erasing a user: the row keeps the id alone, and everything of the user is deleted, a page at a time. Before that it
//! was hidden ([`super::hiding`]), so it counts nowhere and no total moves; only followers follow one user less.
//!
//! Call `shards::lock_removals` first. The persister writes no row of an erased user, so nothing comes back.

use chrono::NaiveDate;
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{
        Db, Tx,
        counting::{
            activity::partition,
            backfills::{self, BackfillKind},
            carried,
            edges::{entity_table, owner_column},
        },
        from_catalogue,
        ownership::shards,
        people::hiding,
        stream::{
            events::{self, NewEvent},
            retention,
        },
    },
};
use plaudit_catalogue::{
    EdgeKind, EventKind, Rows,
    primitives::{Id, ShardCount, ShardId, UserId},
};

/// Pages of a table (8 KiB each) that one statement reads, in about 20 ms.
pub(crate) const BLOCKS: i64 = 2_000;

/// An edge that was erased.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct ErasedEdge {
    pub actor: UserId,
    pub target: Id,
    /// The target's owner.
    pub owner: UserId,
    /// Totals included it.
    pub included: bool,
    /// The position at which the owner was notified of it; 0 if never.
    pub told: i64,
}

/// The erased ones of the next `most` users by id, and the last one looked at; `None` after the last one.
pub async fn erased_users_after(db: &Db, after: i64, most: i64) -> StoreResult<Option<(i64, Vec<UserId>)>> {
    let query = sqlx::query_as(
        "WITH page AS (SELECT id, removed_at FROM app_user WHERE id > $1 ORDER BY id LIMIT $2)
         SELECT max(id), coalesce(array_agg(id ORDER BY id) FILTER (WHERE removed_at IS NOT NULL), '{}') FROM page",
    );
    let query = query.bind(after).bind(most);
    let (last, erased): (Option<i64>, Vec<i64>) = db.run(query.fetch_one(&db.pool())).await?;
    let erased = erased.into_iter().filter_map(|id| Id::try_from(id).ok()).map(UserId).collect();
    Ok(last.map(|last| (last, erased)))
}

/// Empties the row of a user, who is hidden with it, and orders the rest for the background. Returns
/// whether anything changed; `None` if there never was such a user.
pub async fn erase_user(
    tx: &mut Tx,
    shards: ShardCount,
    user: UserId,
    ordered_by: UserId,
) -> StoreResult<Option<bool>> {
    let query =
        sqlx::query_scalar("SELECT subject FROM app_user WHERE id = $1 FOR NO KEY UPDATE").bind(user.get());
    let found: Option<Option<String>> = tx.db.run(query.fetch_optional(&mut *tx.inner)).await?;
    let Some(subject) = found else { return Ok(None) };
    // Erased users have none.
    let Some(subject) = subject else { return Ok(Some(false)) };
    // Counted before the lock, which blocks batches. Only the progress depends on it.
    let rows = hiding::count_rows_of(tx, user).await?;
    shards::lock_removals(tx).await?;
    let query = sqlx::query(
        "UPDATE app_user SET removed_at = now(), hidden_at = coalesce(hidden_at, now()), subject = NULL, name = '',
             avatar_url = NULL, profile_as_of = 'infinity', suspended_until = NULL, suspension_reason = NULL
         WHERE id = $1",
    )
    .bind(user.get());
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    carried::erase_carried(tx, user).await?;
    retention::keep_digest(tx, &subject).await?;
    let erasure = NewEvent::now(EventKind::Erasure, Some(ordered_by), user.0);
    events::record(tx, NewEvent { subject: Some(subject), ..erasure });
    // Each row is hidden, and then deleted.
    backfills::add_backfill(tx, shards, user.into(), BackfillKind::Erase, 2 * rows, ordered_by).await?;
    Ok(Some(true))
}

/// Deletes edges of a user.
pub async fn erase_edges(
    tx: &mut Tx,
    rows: &Rows,
    kind: EdgeKind,
    user: UserId,
    most: usize,
) -> StoreResult<Vec<ErasedEdge>> {
    let text = format!(
        "WITH gone AS ({} RETURNING actor_id AS actor, target_id AS target, included, told)
         SELECT gone.*, coalesce(t.{owner}, target) AS owner
         FROM gone LEFT JOIN {targets} AS t ON t.id = target",
        deletion(rows),
        targets = entity_table(kind.target()),
        owner = owner_column(kind.target()),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(user.get()).bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Deletes rows of a user. Returns their number.
pub async fn delete_rows(tx: &mut Tx, rows: &Rows, user: UserId, most: usize) -> StoreResult<usize> {
    // The ledger of coins lets nobody else delete from it.
    let allow = sqlx::query("SET LOCAL plaudit.erasing = 'on'");
    tx.db.run(allow.execute(&mut *tx.inner)).await?;
    let query = sqlx::query(from_catalogue(deletion(rows))).bind(user.get()).bind(most as i64);
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected() as usize)
}

/// SQL: deletes the next rows of a user. Those that do not count go first, in a query of their own: the indexes of
/// edges by target are of these and of the others.
fn deletion(rows: &Rows) -> String {
    let Rows { table, user, key, counted, .. } = rows;
    let next =
        |not| format!("(SELECT {key} FROM {table} AS r WHERE {user} = $1 AND {not} {counted} LIMIT $2)");
    format!(
        "DELETE FROM {table} WHERE {user} = $1 AND {key} = ANY(ARRAY({} UNION ALL {} LIMIT $2))",
        next("NOT"),
        next("")
    )
}

/// Drops the dead events of a user's edges.
pub async fn erase_dead_events(tx: &mut Tx, shard: ShardId, user: UserId) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE dead_event SET decided_at = now(), payload = '', actor_id = NULL
         WHERE shard = $1 AND actor_id = $2 AND decided_at IS NULL",
    )
    .bind(shard.0 as i16)
    .bind(user.get());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Whether a table has blocks from this one on.
pub(crate) async fn has_block(tx: &mut Tx, table: &str, block: i64) -> StoreResult<bool> {
    let text =
        format!("SELECT pg_relation_size('{table}') / current_setting('block_size')::bigint > {block}");
    tx.db.run(sqlx::query_scalar(from_catalogue(text)).fetch_one(&mut *tx.inner)).await
}

/// Takes the actor out of the steps of a day, in the blocks from `block` on. Returns where the next page begins;
/// `None` after the last one.
pub async fn erase_activity(
    tx: &mut Tx,
    day: NaiveDate,
    block: i64,
    actor: UserId,
) -> StoreResult<Option<i64>> {
    let (day, end) = (partition(day), block + BLOCKS);
    let text = format!(
        "UPDATE {day} SET actor_id = 0
         WHERE actor_id = $1 AND ctid >= '({block},0)'::tid AND ctid < '({end},0)'::tid"
    );
    let query = sqlx::query(from_catalogue(text)).bind(actor.get());
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    Ok(has_block(tx, &day, end).await?.then_some(end))
}

/// The erased ones of these users.
pub async fn erased_among(tx: &mut Tx, users: &[Id]) -> StoreResult<Vec<Id>> {
    let query = sqlx::query_scalar("SELECT id FROM app_user WHERE id = ANY($1) AND removed_at IS NOT NULL")
        .bind(users.iter().map(|user| user.get()).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}
