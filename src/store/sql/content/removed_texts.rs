//! Texts of removed notes and groups: they are kept for a while, and then emptied. Texts of removed comments go
//! at once.

use std::time::Duration;

use crate::{
    StoreResult,
    sql::{Db, from_catalogue},
};

/// Empties at most `most` texts of notes that were removed longer ago than `retention`, and deletes the
/// decisions on them. Returns their number.
pub async fn empty_removed_notes(db: &Db, retention: Duration, most: i64) -> StoreResult<u64> {
    let decided = ", decided AS (DELETE FROM note_decision AS d USING page WHERE d.note_id = page.id)";
    empty_removed(db, "note", ["title", "body"], decided, retention, most).await
}

/// The same for groups.
pub async fn empty_removed_groups(db: &Db, retention: Duration, most: i64) -> StoreResult<u64> {
    empty_removed(db, "app_group", ["name", "description"], "", retention, most).await
}

async fn empty_removed(
    db: &Db,
    table: &'static str,
    [head, text]: [&'static str; 2],
    also: &'static str,
    retention: Duration,
    most: i64,
) -> StoreResult<u64> {
    let statement = format!(
        "WITH page AS (
             SELECT id FROM {table}
             WHERE removed_at IS NOT NULL AND ({head} <> '' OR {text} <> '')
               AND removed_at < now() - $1 * interval '1 ms'
             ORDER BY removed_at LIMIT $2
         ){also}
         UPDATE {table} SET {head} = '', {text} = '' WHERE id = ANY(ARRAY(SELECT id FROM page))"
    );
    let query = sqlx::query(from_catalogue(statement)).bind(retention.as_millis() as i64).bind(most);
    Ok(db.run(query.execute(&db.pool())).await?.rows_affected())
}
