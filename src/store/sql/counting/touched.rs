//! Entities that changed between two times, as far as rows show it: edges from `activity`, direct changes from new
//! rows. Does not find views, ratings, read marks and removals of comments, because no index has their times.

use std::collections::BTreeSet;

use super::edges::{entity_table, owner_column};
use crate::{
    StoreResult,
    sql::{Db, from_catalogue, times::timestamp},
};
use plaudit_catalogue::{EdgeKind, Entity, EntityKind, UnixMillis, primitives::Id};

/// Kinds and ids of the entities that a row changed.
type Touches = &'static [(EntityKind, &'static str)];

/// Tables whose ids rise with time, the column of the time, and the entities that a row `r` changed: kind and id.
const NEW_ROWS: [(&str, &str, Touches); 3] = [
    (
        "note AS r",
        "created_at",
        &[(EntityKind::Note, "r.id"), (EntityKind::User, "r.author_id"), (EntityKind::Group, "r.group_id")],
    ),
    (
        "decision AS r LEFT JOIN comment_index AS c ON r.kind = 'comment' AND c.id = r.target_id
         JOIN note AS n ON n.id = coalesce(c.note_id, r.target_id)",
        "decided_at",
        &[
            (EntityKind::Comment, "c.id"),
            (EntityKind::Comment, "c.parent_id"),
            (EntityKind::Note, "n.id"),
            (EntityKind::User, "coalesce(c.author_id, n.author_id)"),
            (EntityKind::Inbox, "n.author_id"),
            (EntityKind::Group, "n.group_id"),
        ],
    ),
    ("coin_ledger AS r", "created_at", &[(EntityKind::User, "r.user_id")]),
];
/// Ids per step of the search for new rows, which starts at the newest row.
const STRETCH: i64 = 2_000;

/// Entities that changed in a period (its end excluded).
pub async fn touched_between(db: &Db, from: UnixMillis, to: UnixMillis) -> StoreResult<BTreeSet<Entity>> {
    let mut touched = touched_by_edges(db, from, to).await?;
    for (rows, time, entities) in NEW_ROWS {
        touched.extend(touched_by_new_rows(db, rows, time, entities, (from, to)).await?);
    }
    let backfilled = concat!(
        "SELECT subject FROM backfill WHERE started_at >= ",
        timestamp!("$1"),
        " AND started_at < ",
        timestamp!("$2"),
    );
    let query = sqlx::query_scalar(backfilled).bind(from).bind(to);
    let subjects: Vec<String> = db.run(query.fetch_all(&db.pool())).await?;
    touched.extend(subjects.iter().filter_map(|subject| subject.parse::<Entity>().ok()));
    Ok(touched)
}

async fn touched_by_edges(db: &Db, from: UnixMillis, to: UnixMillis) -> StoreResult<BTreeSet<Entity>> {
    let of_kind = |kind: &EdgeKind| {
        let (edges, target) = (kind.number(), kind.target());
        format!(
            "SELECT '{target}', target_id FROM step WHERE kind = {edges}
             UNION SELECT owned.kind, t.{owner} FROM step JOIN {targets} AS t ON t.id = target_id
             CROSS JOIN (VALUES ('user'), ('inbox')) AS owned (kind) WHERE step.kind = {edges}",
            target = target.name(),
            targets = entity_table(target),
            owner = owner_column(target),
        )
    };
    let text = format!(
        "WITH step AS (SELECT DISTINCT kind, target_id, actor_id FROM activity WHERE at >= {from} AND at < {to})
         SELECT 'user', actor_id FROM step WHERE actor_id > 0 UNION {edges}",
        from = timestamp!("$1"),
        to = timestamp!("$2"),
        edges = EdgeKind::ALL.iter().map(of_kind).collect::<Vec<_>>().join(" UNION "),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(from).bind(to);
    let rows: Vec<(EntityKind, Id)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(rows.into_iter().map(|(kind, id)| Entity::new(kind, id)).collect())
}

/// Walks back from the newest row until all rows of a step are older.
async fn touched_by_new_rows(
    db: &Db,
    rows: &'static str,
    time: &'static str,
    entities: Touches,
    (from, to): (UnixMillis, UnixMillis),
) -> StoreResult<BTreeSet<Entity>> {
    let table = rows.split(' ').next().unwrap_or_default();
    let values: Vec<String> =
        entities.iter().map(|(kind, id)| format!("('{}', {id})", kind.name())).collect();
    let text = format!(
        "SELECT DISTINCT touched.kind, touched.id FROM {rows}
         CROSS JOIN LATERAL (VALUES {values}) AS touched (kind, id)
         WHERE r.id > $1 AND r.id <= $2 AND r.{time} >= {from} AND r.{time} < {to} AND touched.id IS NOT NULL",
        values = values.join(", "),
        from = timestamp!("$3"),
        to = timestamp!("$4"),
    );
    let newest = format!("SELECT coalesce(max(id), 0) FROM {table}");
    let mut end: i64 = db.run(sqlx::query_scalar(from_catalogue(newest)).fetch_one(&db.pool())).await?;
    let is_old = format!(
        "SELECT coalesce(max({time}) < {from}, false) FROM {table} WHERE id > $2 AND id <= $3",
        from = timestamp!("$1"),
    );
    let mut touched = BTreeSet::new();
    while end > 0 {
        let begin = end - STRETCH;
        let query = sqlx::query_as(from_catalogue(text.clone())).bind(begin).bind(end).bind(from).bind(to);
        let rows: Vec<(EntityKind, Id)> = db.run(query.fetch_all(&db.pool())).await?;
        touched.extend(rows.into_iter().map(|(kind, id)| Entity::new(kind, id)));
        let query = sqlx::query_scalar(from_catalogue(is_old.clone())).bind(from).bind(begin).bind(end);
        if db.run(query.fetch_one(&db.pool())).await? {
            break;
        }
        end = begin;
    }
    Ok(touched)
}
