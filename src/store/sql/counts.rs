//! Totals: read together with how far the logs are persisted, lock, add.

use std::collections::BTreeMap;

use sqlx::{
    Postgres, Row,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::{
    Db, Tx, from_catalogue,
    shards::{TIMELINE, offsets},
};
use crate::{
    catalogue::{Counter, Counts, Deltas, Entity, EntityKind},
    primitives::{Id, Offset},
    store::StoreResult,
};

/// Totals of some entities and the state of the logs, from one statement and therefore of one moment.
#[derive(Clone, Debug)]
pub struct CountsSnapshot {
    /// Entities that do not exist are missing.
    pub totals: BTreeMap<Id, Counts>,
    pub persisted: Vec<Offset>,
    pub timeline: String,
}

impl Db {
    pub async fn read_totals(&self, kind: EntityKind, ids: &[Id]) -> StoreResult<CountsSnapshot> {
        let text = format!(
            "SELECT wanted.id, log.generations, log.numbers, {TIMELINE} AS timeline, c.id AS found, {}
             FROM unnest($1::bigint[]) AS wanted (id)
             CROSS JOIN (SELECT array_agg(generation ORDER BY id) AS generations,
                                array_agg(number ORDER BY id) AS numbers FROM shard) AS log
             LEFT JOIN {}_counts AS c ON c.id = wanted.id",
            columns(kind, "c."),
            kind.name(),
        );
        let query = sqlx::query(from_catalogue(text)).bind(raw(ids));
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        let mut snapshot =
            CountsSnapshot { totals: BTreeMap::new(), persisted: Vec::new(), timeline: String::new() };
        for row in &rows {
            if snapshot.persisted.is_empty() {
                snapshot.persisted =
                    offsets(&row.try_get::<Vec<i64>, _>(1)?, &row.try_get::<Vec<i64>, _>(2)?);
                snapshot.timeline = row.try_get(3)?;
            }
            if row.try_get::<Option<i64>, _>(4)?.is_some() {
                snapshot.totals.insert(row.try_get(0)?, counts(kind, row, 5)?);
            }
        }
        Ok(snapshot)
    }
}

impl Tx {
    /// Locks the totals of entities in id order (two batches that share entities must not deadlock) and reads
    /// them. Entities that do not exist are missing.
    pub async fn lock_totals(&mut self, kind: EntityKind, ids: &[Id]) -> StoreResult<BTreeMap<Id, Counts>> {
        let text = format!(
            "SELECT id, {} FROM {}_counts WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
            columns(kind, ""),
            kind.name(),
        );
        let query = sqlx::query(from_catalogue(text)).bind(raw(ids));
        let rows = self.db.run(query.fetch_all(&mut *self.inner)).await?;
        let mut totals = BTreeMap::new();
        for row in &rows {
            totals.insert(row.try_get(0)?, counts(kind, row, 1)?);
        }
        Ok(totals)
    }

    /// Adds differences to the totals of one kind of entity. Differences of other kinds are left out.
    pub async fn add_totals(&mut self, kind: EntityKind, deltas: &Deltas) -> StoreResult<()> {
        let moved: Vec<_> = deltas
            .iter()
            .filter(|(entity, delta)| entity.kind == kind && !delta.is_zero())
            .map(|(entity, delta)| (entity.id, *delta))
            .collect();
        if moved.is_empty() {
            return Ok(());
        }
        self.add_in_order(kind, &moved).await
    }

    /// Adds differences to the totals of entities of one kind. The differences are in id order, and
    /// [`Tx::advance_offset`] sees to it that the rows are taken in that order.
    pub async fn add_in_order(&mut self, kind: EntityKind, moved: &[(Id, Counts)]) -> StoreResult<()> {
        if moved.is_empty() {
            return Ok(());
        }
        let counters = moving(kind, moved);
        let query =
            bind_differences(sqlx::query(from_catalogue(addition(kind, &counters))), &counters, moved);
        self.db.run(query.execute(&mut *self.inner)).await?;
        self.rescore(kind, moved).await
    }

    /// Does the same, and reads what the totals are then: locking, moving and reading in one go.
    pub async fn add_and_read_totals(
        &mut self,
        kind: EntityKind,
        moved: &[(Id, Counts)],
    ) -> StoreResult<BTreeMap<Id, Counts>> {
        if moved.is_empty() {
            return Ok(BTreeMap::new());
        }
        let counters = moving(kind, moved);
        let text = format!("{} RETURNING c.id, {}", addition(kind, &counters), columns(kind, "c."));
        let query = bind_differences(sqlx::query(from_catalogue(text)), &counters, moved);
        let rows = self.db.run(query.fetch_all(&mut *self.inner)).await?;
        self.rescore(kind, moved).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, counts(kind, row, 1)?))).collect()
    }
}

/// The counters that move, or else the first one: totals that stay are locked all the same. A column that does not
/// move costs as much as one that does.
fn moving(kind: EntityKind, moved: &[(Id, Counts)]) -> Vec<Counter> {
    let moves = |counter: &Counter| moved.iter().any(|(_, delta)| delta.get(*counter) != 0);
    let moving: Vec<Counter> = kind.counters().iter().copied().filter(moves).collect();
    if moving.is_empty() { vec![kind.counters()[0]] } else { moving }
}

fn addition(kind: EntityKind, counters: &[Counter]) -> String {
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

fn bind_differences<'q>(
    query: Query<'q, Postgres, PgArguments>,
    counters: &[Counter],
    moved: &[(Id, Counts)],
) -> Query<'q, Postgres, PgArguments> {
    let ids: Vec<i64> = moved.iter().map(|(id, _)| id.get()).collect();
    counters.iter().fold(query.bind(ids), |query, counter| {
        query.bind(moved.iter().map(|(_, delta)| delta.get(*counter)).collect::<Vec<_>>())
    })
}

impl Tx {
    async fn rescore(&mut self, kind: EntityKind, moved: &[(Id, Counts)]) -> StoreResult<()> {
        match kind {
            EntityKind::Comment => {
                self.rescore_comments(&moved.iter().map(|(id, _)| *id).collect::<Vec<_>>()).await
            }
            _ => Ok(()),
        }
    }

    /// Comments are ranked by their totals, so the score moves with them.
    async fn rescore_comments(&mut self, comments: &[Id]) -> StoreResult<()> {
        let query = sqlx::query(
            "UPDATE comment_index AS i SET hot_score = comment_hot_score(c.likes, c.replies, i.created_at)
             FROM comment_counts AS c WHERE c.id = i.id AND i.id = ANY($1)",
        )
        .bind(raw(comments));
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }

    /// Locks totals of entities of all kinds, in the order of the catalogue.
    pub async fn lock_all_totals(&mut self, entities: &[Entity]) -> StoreResult<()> {
        for kind in EntityKind::ALL {
            let mut ids: Vec<Id> =
                entities.iter().filter(|entity| entity.kind == *kind).map(|entity| entity.id).collect();
            ids.sort_unstable();
            if !ids.is_empty() {
                self.lock_totals(*kind, &ids).await?;
            }
        }
        Ok(())
    }

    /// Locks and moves totals of entities of all kinds, in the order of the catalogue. Returns what they were.
    pub async fn move_totals(&mut self, deltas: &Deltas) -> StoreResult<BTreeMap<Entity, Counts>> {
        let mut before = BTreeMap::new();
        for kind in EntityKind::ALL {
            let ids: Vec<Id> =
                deltas.keys().filter(|entity| entity.kind == *kind).map(|entity| entity.id).collect();
            if ids.is_empty() {
                continue;
            }
            let totals = self.lock_totals(*kind, &ids).await?;
            before.extend(totals.into_iter().map(|(id, counts)| (Entity::new(*kind, id), counts)));
            self.add_totals(*kind, deltas).await?;
        }
        Ok(before)
    }
}

fn columns(kind: EntityKind, prefix: &str) -> String {
    let names: Vec<_> = kind.counters().iter().map(|c| format!("{prefix}{}", c.name())).collect();
    names.join(", ")
}

fn counts(kind: EntityKind, row: &PgRow, first: usize) -> StoreResult<Counts> {
    let values = (first..first + kind.counters().len()).map(|column| row.try_get::<i64, _>(column));
    Ok(Counts::from_values(values.collect::<Result<Vec<_>, _>>()?))
}

pub(super) fn raw(ids: &[Id]) -> Vec<i64> {
    ids.iter().map(|id| id.get()).collect()
}
