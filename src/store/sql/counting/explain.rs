//! One entity in PostgreSQL, for `plaudit explain`: removal, invalidations, activity and edge rows.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::FromRow;

use super::edges::entity_table;
use crate::{
    StoreResult,
    sql::{Db, from_catalogue},
};
use plaudit_catalogue::{
    EdgeKind, Entity,
    primitives::{Id, UserId},
};

/// An invalidation that is not applied yet.
#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingInvalidation {
    pub reason: String,
    pub created_at: DateTime<Utc>,
    /// Time from which the shard's owner applies it.
    pub due_at: DateTime<Utc>,
}

/// A row of `activity`.
#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivityRow {
    pub at: DateTime<Utc>,
    pub kind: String,
    /// As the key of the user: user_5.
    pub actor: String,
    pub is_on: bool,
    pub total_after: i64,
}

/// The row of an edge.
#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EdgeRowState {
    pub is_on: bool,
    pub included: bool,
    pub created_at: DateTime<Utc>,
    pub changed_at: DateTime<Utc>,
}

/// When it was removed; `None` if it is not removed, or never existed.
pub async fn removed_at(db: &Db, entity: Entity) -> StoreResult<Option<DateTime<Utc>>> {
    let text = format!("SELECT removed_at FROM {} WHERE id = $1", entity_table(entity.kind));
    let query = sqlx::query_scalar(from_catalogue(text)).bind(entity.id.get());
    Ok(db.run(query.fetch_optional(&db.pool())).await?.flatten())
}

/// The invalidations of an entity that are not applied yet.
pub async fn pending_invalidations(db: &Db, entity: Entity) -> StoreResult<Vec<PendingInvalidation>> {
    let query = sqlx::query_as(
        "SELECT reason, created_at, due_at FROM invalidation WHERE $1 = ANY(string_to_array(names, ' '))
         ORDER BY created_at LIMIT 20",
    )
    .bind(entity.to_string());
    db.run(query.fetch_all(&db.pool())).await
}

/// The newest rows of `activity` with this target, of all kinds of edges.
pub async fn last_steps(db: &Db, target: Entity, most: i64) -> StoreResult<Vec<ActivityRow>> {
    let kinds = EdgeKind::ALL.iter().filter(|kind| kind.target() == target.kind);
    let (numbers, names): (Vec<i16>, Vec<&str>) = kinds.map(|kind| (kind.number(), kind.name())).unzip();
    let query = sqlx::query_as(
        "SELECT wanted.name AS kind, step.*
         FROM unnest($1::smallint[], $2::text[]) AS wanted (number, name) CROSS JOIN LATERAL (
             SELECT at, 'user_' || actor_id AS actor, is_on, total_after FROM activity
             WHERE kind = wanted.number AND target_id = $3 ORDER BY at DESC LIMIT $4) AS step
         ORDER BY at DESC LIMIT $4",
    )
    .bind(numbers)
    .bind(names)
    .bind(target.id.get())
    .bind(most);
    db.run(query.fetch_all(&db.pool())).await
}

pub async fn edge_row(
    db: &Db,
    kind: EdgeKind,
    actor: UserId,
    target: Id,
) -> StoreResult<Option<EdgeRowState>> {
    let text = format!(
        "SELECT is_on, included, created_at, changed_at FROM {} WHERE actor_id = $1 AND target_id = $2",
        kind.name()
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(actor.get()).bind(target.get());
    db.run(query.fetch_optional(&db.pool())).await
}
