//! Totals: reads them together with the persisted offsets of the logs, locks them, and adds to them.

use std::collections::BTreeMap;

use sqlx::{
    Postgres, Row,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use crate::{
    StoreResult,
    sql::{Db, Tx, connection::timeline::TIMELINE, from_catalogue, ownership::shards::offsets},
};
use plaudit_catalogue::{
    Counter, Counts, Deltas, Entity, EntityKind,
    primitives::{Id, Offset},
};

/// Totals of some entities and the persisted offsets of all logs, read in one statement and so of one moment.
#[derive(Clone, Debug)]
pub struct CountsSnapshot {
    /// Entities that do not exist are missing.
    pub totals: BTreeMap<Id, Counts>,
    pub persisted: Vec<Offset>,
    pub timeline: String,
}

pub async fn read_totals(db: &Db, kind: EntityKind, ids: &[Id]) -> StoreResult<CountsSnapshot> {
    let text = format!(
        "SELECT wanted.id, log.generations, log.numbers, {TIMELINE} AS timeline, c.id AS existing_id, {}
         FROM unnest($1::bigint[]) AS wanted (id)
         CROSS JOIN (SELECT array_agg(generation ORDER BY id) AS generations,
                            array_agg(number ORDER BY id) AS numbers FROM shard) AS log
         LEFT JOIN {}_counts AS c ON c.id = wanted.id",
        columns(kind, "c."),
        kind.name(),
    );
    let query = sqlx::query(from_catalogue(text)).bind(raw(ids));
    let rows = db.run(query.fetch_all(&db.pool())).await?;
    let mut snapshot =
        CountsSnapshot { totals: BTreeMap::new(), persisted: Vec::new(), timeline: String::new() };
    for row in &rows {
        if snapshot.persisted.is_empty() {
            snapshot.persisted = offsets(&row.try_get::<Vec<i64>, _>(1)?, &row.try_get::<Vec<i64>, _>(2)?);
            snapshot.timeline = row.try_get(3)?;
        }
        if row.try_get::<Option<i64>, _>(4)?.is_some() {
            snapshot.totals.insert(row.try_get(0)?, counts(kind, row, 5)?);
        }
    }
    Ok(snapshot)
}

/// Locks the totals of entities and reads them. Locks in id order, so that two batches that share entities cannot
/// deadlock. Entities that do not exist are missing.
pub async fn lock_totals(tx: &mut Tx, kind: EntityKind, ids: &[Id]) -> StoreResult<BTreeMap<Id, Counts>> {
    let text = format!(
        "SELECT id, {} FROM {}_counts WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
        columns(kind, ""),
        kind.name(),
    );
    let query = sqlx::query(from_catalogue(text)).bind(raw(ids));
    let rows = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let mut totals = BTreeMap::new();
    for row in &rows {
        totals.insert(row.try_get(0)?, counts(kind, row, 1)?);
    }
    Ok(totals)
}

/// Adds to the totals of one kind of entity, and ignores the deltas of other kinds.
pub async fn add_totals(tx: &mut Tx, kind: EntityKind, deltas: &Deltas) -> StoreResult<()> {
    let moved: Vec<_> = deltas
        .iter()
        .filter(|(entity, delta)| entity.kind == kind && !delta.is_zero())
        .map(|(entity, delta)| (entity.id, *delta))
        .collect();
    if moved.is_empty() {
        return Ok(());
    }
    add_in_order(tx, kind, &moved).await
}

/// Adds to the totals of entities of one kind. The deltas must be in id order; `shards::advance_offsets` ensures that
/// PostgreSQL locks the rows in that order.
pub async fn add_in_order(tx: &mut Tx, kind: EntityKind, moved: &[(Id, Counts)]) -> StoreResult<()> {
    if moved.is_empty() {
        return Ok(());
    }
    let counters = changed_counters(kind, moved);
    let query = bind_deltas(sqlx::query(from_catalogue(update_statement(kind, &counters))), &counters, moved);
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    rescore(tx, kind, moved).await
}

/// Like `counts::add_in_order`, and returns the new totals: one statement locks, adds and reads.
pub async fn add_and_read_totals(
    tx: &mut Tx,
    kind: EntityKind,
    moved: &[(Id, Counts)],
) -> StoreResult<BTreeMap<Id, Counts>> {
    if moved.is_empty() {
        return Ok(BTreeMap::new());
    }
    let counters = changed_counters(kind, moved);
    let text = format!("{} RETURNING c.id, {}", update_statement(kind, &counters), columns(kind, "c."));
    let query = bind_deltas(sqlx::query(from_catalogue(text)), &counters, moved);
    let rows = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    rescore(tx, kind, moved).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, counts(kind, row, 1)?))).collect()
}

/// The counters that any of the deltas changes. If there is none, the first counter, so that the rows are locked all
/// the same. An unchanged column in the statement would cost as much as a changed one.
fn changed_counters(kind: EntityKind, moved: &[(Id, Counts)]) -> Vec<Counter> {
    debug_assert!(moved.is_sorted_by_key(|(id, _)| *id), "rows are locked in the order of ids");
    let is_changed = |counter: &Counter| moved.iter().any(|(_, delta)| delta.get(*counter) != 0);
    let changed: Vec<Counter> = kind.counters().iter().copied().filter(is_changed).collect();
    if changed.is_empty() { vec![kind.counters()[0]] } else { changed }
}

fn update_statement(kind: EntityKind, counters: &[Counter]) -> String {
    let names: Vec<_> = counters.iter().map(|counter| counter.name()).collect();
    let sets: Vec<_> = names.iter().map(|name| format!("{name} = c.{name} + d.{name}")).collect();
    let arrays: Vec<_> = (0..names.len()).map(|i| format!("${}::bigint[]", i + 2)).collect();
    format!(
        "UPDATE {}_counts AS c SET {} FROM unnest($1::bigint[], {}) AS d (id, {}) WHERE c.id = d.id",
        kind.name(),
        sets.join(", "),
        arrays.join(", "),
        names.join(", "),
    )
}

fn bind_deltas<'q>(
    query: Query<'q, Postgres, PgArguments>,
    counters: &[Counter],
    moved: &[(Id, Counts)],
) -> Query<'q, Postgres, PgArguments> {
    let ids: Vec<i64> = moved.iter().map(|(id, _)| id.get()).collect();
    counters.iter().fold(query.bind(ids), |query, counter| {
        query.bind(moved.iter().map(|(_, delta)| delta.get(*counter)).collect::<Vec<_>>())
    })
}

async fn rescore(tx: &mut Tx, kind: EntityKind, moved: &[(Id, Counts)]) -> StoreResult<()> {
    match kind {
        EntityKind::Comment => {
            rescore_comments(tx, &moved.iter().map(|(id, _)| *id).collect::<Vec<_>>()).await
        }
        _ => Ok(()),
    }
}

/// Computes the scores of comments again: they depend on the totals.
async fn rescore_comments(tx: &mut Tx, comments: &[Id]) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE comment_index AS i SET hot_score = comment_hot_score(c.likes, c.replies, i.created_at)
         FROM comment_counts AS c WHERE c.id = i.id AND i.id = ANY($1)",
    )
    .bind(raw(comments));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Locks totals of entities of all kinds, in the order of the catalogue.
pub async fn lock_all_totals(tx: &mut Tx, entities: &[Entity]) -> StoreResult<()> {
    for kind in EntityKind::ALL {
        let mut ids: Vec<Id> =
            entities.iter().filter(|entity| entity.kind == *kind).map(|entity| entity.id).collect();
        ids.sort_unstable();
        if !ids.is_empty() {
            lock_totals(tx, *kind, &ids).await?;
        }
    }
    Ok(())
}

/// Locks totals of entities of all kinds, in the order of the catalogue, and adds to them. Returns the old totals.
pub async fn move_totals(tx: &mut Tx, deltas: &Deltas) -> StoreResult<BTreeMap<Entity, Counts>> {
    let mut before = BTreeMap::new();
    for kind in EntityKind::ALL {
        let ids: Vec<Id> =
            deltas.keys().filter(|entity| entity.kind == *kind).map(|entity| entity.id).collect();
        if ids.is_empty() {
            continue;
        }
        let totals = lock_totals(tx, *kind, &ids).await?;
        before.extend(totals.into_iter().map(|(id, counts)| (Entity::new(*kind, id), counts)));
        add_totals(tx, *kind, deltas).await?;
    }
    Ok(before)
}

fn columns(kind: EntityKind, prefix: &str) -> String {
    let names: Vec<_> = kind.counters().iter().map(|c| format!("{prefix}{}", c.name())).collect();
    names.join(", ")
}

fn counts(kind: EntityKind, row: &PgRow, first: usize) -> StoreResult<Counts> {
    let values = (first..first + kind.counters().len()).map(|column| row.try_get::<i64, _>(column));
    Ok(Counts::from_values(values.collect::<Result<Vec<_>, _>>()?))
}

pub(crate) fn raw(ids: &[Id]) -> Vec<i64> {
    ids.iter().map(|id| id.get()).collect()
}
