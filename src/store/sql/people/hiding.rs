//! What the hiding and restoring of a user changes, a page at a time: rows of each table that says how
//! ([`Rows::hiding`]), and comments of others on the user's notes. Every row says whether it counts, so totals move
//! only for the rows that a page changes.
//!
//! Call `shards::lock_removals` first: nothing that counts these rows runs beside it.

use crate::{
    StoreResult,
    sql::{
        Tx,
        content::notes::after_note,
        counting::rows::{RowKeys, with_target},
        from_catalogue,
    },
};
use plaudit_catalogue::{
    Entity, EntityKind, Rows,
    primitives::{Id, UserId},
};

/// Every row.
pub const ALL: &str = "true";
/// Notes that not everybody sees and that are not removed.
pub const UNPUBLISHED_NOTES: &str = "NOT r.is_shown AND r.removed_at IS NULL";

/// Number of rows that hiding or restoring a user goes through.
pub async fn count_rows_of(tx: &mut Tx, user: UserId) -> StoreResult<i64> {
    let of_table = |rows: Rows| {
        let count = |[which, _]: [&str; 2]| format!("(SELECT count(*) FROM {})", rows_of(&rows, which));
        Some(rows.hiding?.map(count).join(" + "))
    };
    let text = format!("SELECT {}", Rows::all().filter_map(of_table).collect::<Vec<_>>().join(" + "));
    let query = sqlx::query_scalar(from_catalogue(text)).bind(user.get());
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// SQL: those rows of user `$1` that meet a condition.
fn rows_of(rows: &Rows, condition: &str) -> String {
    let Rows { table, user, .. } = rows;
    format!("{table} AS r{} WHERE r.{user} = $1 AND {condition}", with_target(rows))
}

/// SQL: the condition on rows that are behind key `$2`, and their order. Notes are read along their lists, from the
/// oldest to the newest, because no index has a user's notes by id.
pub(super) fn behind(rows: &Rows) -> (String, String) {
    if rows.thing == Some(EntityKind::Note) {
        (after_note("r"), "r.created_at, r.id".to_owned())
    } else {
        (format!("r.{} > $2", rows.key), format!("r.{}", rows.key))
    }
}

/// The next rows of a user that meet a condition.
pub async fn rows_after(
    tx: &mut Tx,
    rows: Rows,
    user: UserId,
    after: i64,
    condition: &str,
    most: usize,
) -> StoreResult<RowKeys> {
    let (behind, order) = behind(&rows);
    let text = format!(
        "SELECT r.{key} FROM {rows} AND {behind} ORDER BY {order} LIMIT $3",
        key = rows.key,
        rows = rows_of(&rows, condition),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(user.get()).bind(after).bind(most as i64);
    let keys: Vec<Id> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(RowKeys { rows, users: vec![user; keys.len()], keys })
}

/// The next comments on an author's notes that are not yet marked as comments on a hidden note (`hide`), or still are:
/// after a note's comment, by rising age of the note, then by id.
pub async fn comments_on_notes(
    tx: &mut Tx,
    author: UserId,
    (note, comment): (i64, i64),
    hide: bool,
    most: usize,
) -> StoreResult<Vec<(Id, Id)>> {
    let was = "removed_at IS NULL AND note_is_hidden <> $4";
    let notes = if hide { "NOT n.is_shown AND n.removed_at IS NULL AND n.is_hidden" } else { "n.is_shown" };
    let text = format!(
        "SELECT note_id, id FROM (
             (SELECT note_id, id, '-infinity'::timestamptz AS note_created_at FROM comment_index
              WHERE note_id = $2 AND id > $3 AND {was} ORDER BY id LIMIT $5)
             UNION ALL
             (SELECT n.id, c.id, n.created_at FROM note AS n CROSS JOIN LATERAL (
                  SELECT id FROM comment_index WHERE note_id = n.id AND {was} ORDER BY id LIMIT $5) AS c
              WHERE n.author_id = $1 AND {notes} AND {after}
              ORDER BY n.created_at, n.id, c.id LIMIT $5)
             LIMIT $5
         ) AS page ORDER BY note_created_at, note_id, id",
        after = after_note("n"),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(author.get())
        .bind(note)
        .bind(comment)
        .bind(hide)
        .bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Makes comments among these entities placeholders that are removed or hidden and have replies, and no others.
/// Call it after the totals have moved.
pub async fn settle_placeholders(tx: &mut Tx, entities: &[Entity]) -> StoreResult<()> {
    let comments = entities.iter().filter(|entity| entity.kind == EntityKind::Comment);
    let comments: Vec<i64> = comments.map(|comment| comment.id.get()).collect();
    if comments.is_empty() {
        return Ok(());
    }
    let query = sqlx::query(
        "UPDATE comment_index AS c SET is_placeholder = NOT c.is_placeholder
         FROM comment_counts AS counts, note AS n
         WHERE c.id = ANY($1) AND counts.id = c.id AND n.id = c.note_id AND n.removed_at IS NULL
           AND c.is_placeholder <> ((c.removed_at IS NOT NULL OR c.is_hidden) AND counts.replies > 0)",
    )
    .bind(comments);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
