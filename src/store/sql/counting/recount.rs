//! Recounts: the definition of each counter by rows, and the comparison of totals with rows.
//!
//! A total changes only in the transaction that changes its rows. One statement sees one moment, so within it every
//! total equals its rows, unless it has drifted. The comparison needs no locks. A repair locks the total and recounts
//! it.

use std::{collections::BTreeMap, time::Duration};

use sqlx::{Row, postgres::PgRow};

use super::{carried::carried_sql, counts::raw, edges::entity_table, rows};
use crate::{
    StoreError, StoreResult,
    sql::{Db, Tx, from_catalogue},
};
use plaudit_catalogue::{Counter, Counts, Deltas, Entity, EntityKind, InboxKind, Rows, primitives::Id};

/// Time limit of one recount.
const LONGEST: Duration = Duration::from_secs(10);

/// The correct value of a total without what it carries, as SQL. In it `t` is the entity's row and `c` its row of
/// totals, which may be missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recount {
    /// The number of rows, or their sum.
    Rows(String),
    /// The counter has no rows: the valid value that is nearest to the total.
    Bounds(String),
}

/// Totals and recounts of one entity, at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntityRecount {
    pub id: Id,
    /// Whether the entity exists or was removed.
    pub exists: bool,
    /// `None` without a row of totals.
    pub totals: Option<Counts>,
    /// The correct totals.
    pub rows: Counts,
    /// What of them has no rows.
    pub carried: Counts,
    /// Counters that are frozen, because the entity was removed: their correct values are unknown.
    frozen: u32,
}

impl Recount {
    /// The one definition of each counter.
    pub fn of(counter: Counter) -> Self {
        use Counter::*;
        match counter {
            InboxReplies | InboxLikes | InboxFollowers | InboxMessages => Self::Rows(unread(counter)),
            // Views have no rows.
            NoteViews => Self::Bounds(format!("greatest(c.views - {}, 0)", carried_sql(counter))),
            // Positions only rise, and no comment has a higher one.
            NoteCommentPosition => Self::Bounds(
                "greatest(c.comment_position,
                          coalesce((SELECT max(position) FROM comment_change WHERE note_id = t.id), 0))"
                    .to_owned(),
            ),
            _ => Self::Rows(counted(counter)),
        }
    }

    pub fn sql(&self) -> &str {
        match self {
            Self::Rows(sql) | Self::Bounds(sql) => sql,
        }
    }
}

/// What the rows of all tables that move the counter count.
fn counted(counter: Counter) -> String {
    let of_table = |rows: Rows| {
        let moves = rows.moves().into_iter().filter(move |m| m.counter == counter);
        moves.map(move |m| {
            // An owner's share of a target that was removed or hidden was subtracted then.
            let target = if m.is_of_owner { rows::with_target(&rows) } else { String::new() };
            let [of, condition, number] = rows::move_of(&rows, m);
            format!(
                "(SELECT coalesce(sum({number}), 0)::bigint FROM {table} AS r{target}
                  WHERE {of} = t.id AND {condition})",
                table = rows.table,
            )
        })
    };
    Rows::all().flat_map(of_table).collect::<Vec<_>>().join(" + ")
}

/// Unread events of a badge: of entries that are not read, and of entries that retention has deleted.
fn unread(badge: Counter) -> String {
    format!(
        "(SELECT coalesce(sum(r.unread), 0) FROM inbox_entry AS r
          WHERE r.recipient_id = t.id AND r.kind IN ({kinds}) AND r.id > coalesce(c.{badge}_read_to, 0))
         + coalesce(c.{badge}_unlisted, 0)",
        kinds = kinds_of(badge),
        badge = badge.name(),
    )
}

/// Numbers of the kinds that a badge counts, as an SQL list.
pub(crate) fn kinds_of(badge: Counter) -> String {
    let kinds = InboxKind::all().filter(|kind| kind.badge() == Some(badge));
    kinds.map(|kind| kind.number().to_string()).collect::<Vec<_>>().join(", ")
}

/// Condition under which a counter follows its rows. Otherwise it is frozen.
fn moves_while(counter: Counter) -> &'static str {
    match counter {
        // Replies still count after the removal of their parent comment, but not after the removal of the note.
        Counter::CommentReplies => {
            "EXISTS (SELECT FROM note AS whole WHERE whole.id = t.note_id AND whole.removed_at IS NULL)"
        }
        _ => "t.removed_at IS NULL",
    }
}

impl EntityRecount {
    /// The correct total; `None` for a frozen counter.
    pub fn rows(&self, counter: Counter) -> Option<i64> {
        (self.frozen & (1 << counter.index()) == 0).then(|| self.rows.get(counter))
    }

    /// Counters with wrong totals. Does not include totals of an entity that never existed.
    pub fn drifted(&self, kind: EntityKind) -> impl Iterator<Item = Counter> + '_ {
        let totals = self.totals.unwrap_or_default();
        let (exists, counters) = (self.exists, kind.counters().iter().copied());
        let drifted =
            move |counter: &Counter| self.rows(*counter).is_some_and(|rows| rows != totals.get(*counter));
        counters.filter(move |_| exists).filter(drifted)
    }
}

/// Whether a recount took too long: one of fewer entities may succeed.
pub fn took_too_long(error: &StoreError) -> bool {
    matches!(error, StoreError::SqlBusy(why) if why.contains("statement timeout"))
}

/// Totals and recounts of these entities, read in one statement and so of one moment.
///
/// # Errors
/// [`took_too_long`] is true for the error of a timeout.
pub async fn recount(db: &Db, kind: EntityKind, ids: &[Id]) -> StoreResult<Vec<EntityRecount>> {
    let mut tx = db.begin().await?;
    recount_in(&mut tx, kind, ids).await
}

/// The next ids of a kind, of entities and of rows of totals.
pub async fn ids_after(db: &Db, kind: EntityKind, after: i64, most: usize) -> StoreResult<Vec<Id>> {
    let text = format!(
        "SELECT id FROM (SELECT id FROM {entities} WHERE id > $1 ORDER BY id LIMIT $2) AS entity
         UNION SELECT id FROM (SELECT id FROM {kind}_counts WHERE id > $1 ORDER BY id LIMIT $2) AS total
         ORDER BY id LIMIT $2",
        entities = entity_table(kind),
        kind = kind.name(),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(after).bind(most as i64);
    db.run(query.fetch_all(&db.pool())).await
}

/// The highest id of a kind; 0 if there is none. Ids are dense, so it is about the number of entities.
pub async fn highest_id(db: &Db, kind: EntityKind) -> StoreResult<i64> {
    let text = format!("SELECT coalesce(max(id), 0) FROM {}", entity_table(kind));
    db.run(sqlx::query_scalar(from_catalogue(text)).fetch_one(&db.pool())).await
}

/// Like [`recount`], but within a transaction. Lock the totals first: then neither they nor their rows change
/// until the transaction ends.
pub async fn recount_in(tx: &mut Tx, kind: EntityKind, ids: &[Id]) -> StoreResult<Vec<EntityRecount>> {
    // Shorter than the client's time limit, so that the server cancels the statement and the connection survives.
    let longest = LONGEST.min(tx.db.timeout() * 4 / 5);
    let bound = format!("SET LOCAL statement_timeout = {}", longest.as_millis());
    tx.db.run(sqlx::query(from_catalogue(bound)).execute(&mut *tx.inner)).await?;
    let query = sqlx::query(from_catalogue(text(kind))).bind(raw(ids));
    let rows = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    rows.iter().map(|row| recounted(kind, row)).collect()
}

/// Inserts a row of zeros for entities without totals.
pub async fn add_missing_totals(tx: &mut Tx, kind: EntityKind, ids: &[Id]) -> StoreResult<()> {
    let text = format!(
        "INSERT INTO {kind}_counts ({columns}) SELECT {columns} FROM {entities} WHERE id = ANY($1)
         ON CONFLICT DO NOTHING",
        kind = kind.name(),
        columns = if kind == EntityKind::Note { "id, author_id, group_id" } else { "id" },
        entities = entity_table(kind),
    );
    tx.db.run(sqlx::query(from_catalogue(text)).bind(raw(ids)).execute(&mut *tx.inner)).await.map(drop)
}

/// Deletes totals of entities that never existed: otherwise a new entity with such an id would start with them.
pub async fn delete_orphaned_totals(tx: &mut Tx, kind: EntityKind, ids: &[Id]) -> StoreResult<()> {
    let text = format!(
        "DELETE FROM {kind}_counts AS c WHERE id = ANY($1) AND NOT EXISTS (SELECT FROM {entities} AS t WHERE t.id = c.id)",
        kind = kind.name(),
        entities = entity_table(kind),
    );
    tx.db.run(sqlx::query(from_catalogue(text)).bind(raw(ids)).execute(&mut *tx.inner)).await.map(drop)
}

/// The deltas that correct totals.
pub fn corrections(kind: EntityKind, recounted: &[EntityRecount]) -> Deltas {
    let mut deltas = BTreeMap::new();
    for entity in recounted {
        let mut by = Counts::default();
        for counter in entity.drifted(kind) {
            by.add(counter, entity.rows.get(counter) - entity.totals.unwrap_or_default().get(counter));
        }
        if !by.is_zero() {
            deltas.insert(Entity::new(kind, entity.id), by);
        }
    }
    deltas
}

fn text(kind: EntityKind) -> String {
    let column = |counter: &Counter| {
        let name = counter.name();
        let must_be = Recount::of(*counter);
        let carried = carried_sql(*counter);
        format!("c.{name}, CASE WHEN {} THEN {} END, {carried}", moves_while(*counter), must_be.sql())
    };
    format!(
        "SELECT wanted.id, t.id IS NOT NULL, c.id IS NOT NULL, {columns}
         FROM unnest($1::bigint[]) AS wanted (id)
         LEFT JOIN {entities} AS t ON t.id = wanted.id
         LEFT JOIN {kind}_counts AS c ON c.id = wanted.id
         ORDER BY wanted.id",
        columns = kind.counters().iter().map(column).collect::<Vec<_>>().join(", "),
        entities = entity_table(kind),
        kind = kind.name(),
    )
}

fn recounted(kind: EntityKind, row: &PgRow) -> StoreResult<EntityRecount> {
    let (mut totals, mut rows, mut carried, mut frozen) =
        (Counts::default(), Counts::default(), Counts::default(), 0);
    for counter in kind.counters() {
        let column = 3 + 3 * counter.index();
        totals.add(*counter, row.try_get::<Option<i64>, _>(column)?.unwrap_or(0));
        carried.add(*counter, row.try_get(column + 2)?);
        match row.try_get::<Option<i64>, _>(column + 1)? {
            Some(value) => rows.add(*counter, value + carried.get(*counter)),
            None => frozen |= 1 << counter.index(),
        }
    }
    let has_totals: bool = row.try_get(2)?;
    Ok(EntityRecount {
        id: row.try_get(0)?,
        exists: row.try_get(1)?,
        totals: has_totals.then_some(totals),
        rows,
        carried,
        frozen,
    })
}

#[cfg(test)]
mod tests {
    use plaudit_catalogue::EdgeKind;

    use super::*;

    #[test]
    fn every_counter_that_an_edge_moves_is_counted_from_all_such_edges() {
        for kind in EdgeKind::ALL {
            for moved in kind.moves() {
                let recount = Recount::of(moved.counter);
                assert!(matches!(recount, Recount::Rows(_)), "{:?}", moved.counter);
                assert!(recount.sql().contains(&format!(" {} AS r", kind.name())), "{:?}", moved.counter);
            }
        }
    }

    #[test]
    fn every_badge_counts_the_entries_of_all_edges_that_raise_it() {
        for (_, badge) in EdgeKind::ALL.iter().filter_map(|kind| kind.notifies()) {
            assert!(matches!(Recount::of(badge), Recount::Rows(_)), "{badge:?}");
        }
    }

    #[test]
    fn every_counter_has_a_recount() {
        for counter in EntityKind::ALL.iter().flat_map(|kind| kind.counters()) {
            assert!(!Recount::of(*counter).sql().is_empty(), "{counter:?}");
        }
    }
}
