//! Repairs that reconciliation made, and progress of the nightly run.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx},
};
use plaudit_catalogue::{Entity, EntityKind};

/// A value that was wrong and was corrected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    pub entity: Entity,
    /// Name of the repair; see `DriftKind::repair_name`.
    pub what: &'static str,
    /// Name of the counter, or of the edge kind.
    pub counter: &'static str,
    pub from: Option<i64>,
    pub to: Option<i64>,
}

/// A stored repair.
#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepairRow {
    pub what: String,
    pub counter: String,
    #[sqlx(rename = "from_value")]
    pub from: Option<i64>,
    #[sqlx(rename = "to_value")]
    pub to: Option<i64>,
    pub made_by: String,
    pub made_at: DateTime<Utc>,
}

/// The last nightly run.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct Nightly {
    pub began_at: DateTime<Utc>,
    pub is_finished: bool,
    /// Position: all ids of this kind up to this one are done, and all kinds before it.
    pub kind: EntityKind,
    #[sqlx(rename = "after_id")]
    pub after: i64,
    pub checked: i64,
    pub skipped: i64,
    pub drifted: i64,
    pub repaired: i64,
}

pub async fn add_repairs(tx: &mut Tx, repairs: &[Repair], made_by: &str) -> StoreResult<()> {
    if repairs.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(
        "INSERT INTO repair (entity, what, counter, from_value, to_value, made_by)
         SELECT entity, what, counter, before, after, $6
         FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
         AS repair (entity, what, counter, before, after)",
    )
    .bind(repairs.iter().map(|repair| repair.entity.to_string()).collect::<Vec<_>>())
    .bind(repairs.iter().map(|repair| repair.what).collect::<Vec<_>>())
    .bind(repairs.iter().map(|repair| repair.counter).collect::<Vec<_>>())
    .bind(repairs.iter().map(|repair| repair.from).collect::<Vec<_>>())
    .bind(repairs.iter().map(|repair| repair.to).collect::<Vec<_>>())
    .bind(made_by);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// The newest repairs of an entity.
pub async fn repairs_of(db: &Db, entity: Entity, most: i64) -> StoreResult<Vec<RepairRow>> {
    let query = sqlx::query_as(
        "SELECT what, counter, from_value, to_value, made_by, made_at FROM repair
         WHERE entity = $1 ORDER BY id DESC LIMIT $2",
    )
    .bind(entity.to_string())
    .bind(most);
    db.run(query.fetch_all(&db.pool())).await
}

/// Deletes at most `most` repairs that are older than `life`. Returns their number.
pub async fn delete_old_repairs(db: &Db, life: Duration, most: i64) -> StoreResult<u64> {
    let query = sqlx::query(
        "DELETE FROM repair WHERE id = ANY(ARRAY(
             SELECT id FROM repair WHERE made_at < now() - $1 * interval '1 ms' ORDER BY made_at LIMIT $2))",
    )
    .bind(life.as_millis() as i64)
    .bind(most);
    Ok(db.run(query.execute(&db.pool())).await?.rows_affected())
}

pub async fn nightly(db: &Db) -> StoreResult<Nightly> {
    let query = sqlx::query_as(
        "SELECT began_at, finished_at IS NOT NULL AS is_finished, kind, after_id, checked, skipped, drifted,
                repaired
         FROM nightly_reconcile",
    );
    db.run(query.fetch_one(&db.pool())).await
}

pub async fn keep_nightly(db: &Db, run: &Nightly) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE nightly_reconcile SET began_at = $1, finished_at = CASE WHEN $2 THEN now() END, kind = $3,
             after_id = $4, checked = $5, skipped = $6, drifted = $7, repaired = $8",
    )
    .bind(run.began_at)
    .bind(run.is_finished)
    .bind(run.kind.name())
    .bind(run.after)
    .bind(run.checked)
    .bind(run.skipped)
    .bind(run.drifted)
    .bind(run.repaired);
    db.run(query.execute(&db.pool())).await.map(drop)
}
