//! Rows and the counters that they move, by what [`Rows`] says of their table: how rows count, and how totals move when
//! rows change. A total then is what its recount says, because both are made from one definition.

use super::{
    counts::{self, raw},
    edges::{entity_table, is_shown},
};
use crate::{
    StoreResult,
    sql::{Tx, from_catalogue},
};
use plaudit_catalogue::{
    Counter, Deltas, Entity, EntityKind, RowMove, Rows, counter_of_owner,
    primitives::{Id, UserId},
};

/// A removal of a note or a comment, of which only the first counts.
pub const REMOVE: &str = "removed_at = coalesce(removed_at, now())";
/// The removal of a comment with its note: it is no placeholder, either.
pub const REMOVE_WITH_NOTE: &str = "removed_at = coalesce(removed_at, now()), is_placeholder = false";
/// The removal of a comment of an erased user.
pub const REMOVE_AND_FORGET: &str = "removed_at = coalesce(removed_at, now()), rating_at_writing = NULL";
/// A rating or an edge does not count any more.
pub const EXCLUDE: &str = "included = false";
/// Whether the author of a comment's note is hidden: not, or so.
pub const ON_HIDDEN_NOTE: [&str; 2] = ["note_is_hidden = false", "note_is_hidden = true"];
/// A note leaves its group.
pub const LEAVE_GROUP: &str = "group_id = NULL, featured_at = NULL";
/// A note is featured in its group, or not any more.
pub const FEATURE: &str = "featured_at = now()";
pub const UNFEATURE: &str = "featured_at = NULL";

/// Some rows of a table.
pub struct RowKeys {
    pub rows: Rows,
    /// The user of each; none of things, whose ids suffice.
    pub users: Vec<UserId>,
    pub keys: Vec<Id>,
}

impl RowKeys {
    pub const fn of_things(rows: Rows, keys: Vec<Id>) -> Self {
        Self { rows, users: Vec::new(), keys }
    }

    /// The rows, if they are things.
    pub fn things(&self) -> impl Iterator<Item = Entity> {
        let kind = self.rows.thing;
        self.keys.iter().filter_map(move |id| Some(Entity::new(kind?, *id)))
    }
}

/// SQL: joins the target of `r` as `o`.
pub(crate) fn with_target(rows: &Rows) -> String {
    let join = |(column, kind)| format!(" LEFT JOIN {} AS o ON o.id = r.{column}", entity_table(kind));
    rows.target.map(join).unwrap_or_default()
}

/// SQL: whose counter a row moves, the condition under which it does, and the number.
pub(super) fn move_of(rows: &Rows, RowMove { of, is_of_owner, by, only, .. }: RowMove) -> [String; 3] {
    let counted = format!("{} AND {only}", rows.counted);
    match rows.target.filter(|_| is_of_owner) {
        Some((_, kind)) => [format!("o.{of}"), format!("{counted} AND o.{}", is_shown(kind)), by.to_owned()],
        None => [format!("r.{of}"), counted, by.to_owned()],
    }
}

/// Locks the totals that these rows may move, in the order of the catalogue. Batches and changes of comments lock
/// totals before rows; a transaction that changes a note locks the note before totals.
pub async fn lock(tx: &mut Tx, rows: &RowKeys) -> StoreResult<()> {
    if rows.rows.thing == Some(EntityKind::Note) {
        let text = "SELECT FROM note WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
        tx.db.run(sqlx::query(text).bind(raw(&rows.keys)).execute(&mut *tx.inner)).await?;
    }
    let moved = run(tx, rows, None).await?;
    counts::lock_all_totals(tx, &moved.into_keys().chain(rows.things()).collect::<Vec<_>>()).await
}

/// What rows count now, such as new ones: they counted nothing before.
pub async fn counted(tx: &mut Tx, rows: &RowKeys) -> StoreResult<Deltas> {
    let mut moved = run(tx, rows, None).await?;
    moved.retain(|_, by| !by.is_zero());
    Ok(moved)
}

/// Locks the totals that rows may move, sets columns of the rows, and returns how the totals move.
pub async fn change(tx: &mut Tx, rows: &RowKeys, set: &str) -> StoreResult<Deltas> {
    lock(tx, rows).await?;
    let mut moved = run(tx, rows, Some(set)).await?;
    moved.retain(|_, by| !by.is_zero());
    Ok(moved)
}

/// Removes comments with what is in other tables, and returns how totals move.
pub async fn remove(tx: &mut Tx, rows: &RowKeys, set: &str) -> StoreResult<Deltas> {
    let moved = change(tx, rows, set).await?;
    tx.db.run(sqlx::query(rows.rows.on_removal).bind(raw(&rows.keys)).execute(&mut *tx.inner)).await?;
    Ok(moved)
}

/// Deletes what other tables still have of things that were removed.
pub async fn forget(tx: &mut Tx, rows: &RowKeys) -> StoreResult<()> {
    let Some(text) = rows.rows.on_erasure else { return Ok(()) };
    tx.db.run(sqlx::query(text).bind(raw(&rows.keys)).execute(&mut *tx.inner)).await.map(drop)
}

/// Sums what rows count: as they are, or after a change without what they counted before.
async fn run(tx: &mut Tx, rows: &RowKeys, set: Option<&str>) -> StoreResult<Deltas> {
    if rows.keys.is_empty() {
        return Ok(Deltas::new());
    }
    let Rows { table, user, key, thing, .. } = rows.rows;
    let which = match thing {
        Some(_) => "r.id = ANY($2)".to_owned(),
        None => format!("(r.{user}, r.{key}) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))"),
    };
    let (after, source) = match set {
        None => (String::new(), "SELECT 1 AS sign, * FROM before"),
        Some(set) => (
            format!(", after AS (UPDATE {table} AS r SET {set} WHERE {which} RETURNING r.*)"),
            "SELECT 1 AS sign, * FROM after UNION ALL SELECT -1, * FROM before",
        ),
    };
    let moves = moves(&rows.rows);
    let values: Vec<_> =
        moves.iter().enumerate().map(|(place, (_, of))| format!("({place}, {of})")).collect();
    let totals = |kind: EntityKind| format!(" LEFT JOIN {}_counts AS c ON c.id = r.id", kind.name());
    let text = format!(
        "WITH before AS (SELECT r.* FROM {table} AS r WHERE {which}){after}
         SELECT place, m.id, sum(sign * by)::bigint FROM ({source}) AS r{target}{totals}
         CROSS JOIN LATERAL (VALUES {values}) AS m (place, id, by)
         WHERE m.id IS NOT NULL GROUP BY place, m.id",
        target = with_target(&rows.rows),
        totals = thing.map(totals).unwrap_or_default(),
        values = values.join(", "),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(rows.users.iter().map(|user| user.get()).collect::<Vec<_>>())
        .bind(raw(&rows.keys));
    let found: Vec<(i32, Id, i64)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let mut moved = Deltas::new();
    for (place, id, by) in found {
        let counter = moves[place as usize].0;
        moved.entry(Entity::new(counter.kind(), id)).or_default().add(counter, by);
    }
    Ok(moved)
}

/// The counters that a row moves: SQL of whose they are, and of the number. A thing that is shown also counts for
/// its owner what it received.
fn moves(rows: &Rows) -> Vec<(Counter, String)> {
    let own = rows.moves().into_iter().map(|m| {
        let [of, counted, number] = move_of(rows, m);
        let target = if m.ends_with_target { " AND o.removed_at IS NULL" } else { "" };
        (m.counter, format!("{of}, CASE WHEN {counted}{target} THEN {number} ELSE 0 END"))
    });
    let totals = rows.thing.map_or(&[][..], EntityKind::counters);
    let received = totals.iter().filter_map(|total| {
        let number = format!("CASE WHEN {} THEN c.{} ELSE 0 END", rows.counted, total.name());
        Some((counter_of_owner(*total)?, format!("r.{}, {number}", rows.user)))
    });
    own.chain(received).collect()
}
