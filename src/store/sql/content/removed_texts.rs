//! Texts of removed notes and groups: they are kept for a while, and then emptied. Texts of removed comments go
//! at once.

use std::time::Duration;

use crate::{
    StoreResult,
    sql::{Db, from_catalogue},
};

/// Of what has such texts: the table, both texts, what else is emptied with them, and what is deleted.
pub const TABLES: [[&str; 5]; 2] = [
    [
        "note",
        "title",
        "body",
        ", url = NULL",
        ", decided AS (DELETE FROM decision AS d USING page WHERE d.kind = 'note' AND d.target_id = page.id)",
    ],
    ["app_group", "name", "description", "", ""],
];

/// Empties at most `most` texts of what was removed longer ago than `retention`. Returns their number.
pub async fn empty_removed(
    db: &Db,
    [table, head, text, more, also]: [&'static str; 5],
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
         UPDATE {table} SET {head} = '', {text} = ''{more} WHERE id = ANY(ARRAY(SELECT id FROM page))"
    );
    let query = sqlx::query(from_catalogue(statement)).bind(retention.as_millis() as i64).bind(most);
    Ok(db.run(query.execute(&db.pool())).await?.rows_affected())
}
