//! Texts of removed notes and groups: they are kept for a while, and then emptied. Texts of removed comments go
//! at once.

use std::time::Duration;

use crate::{
    StoreResult,
    sql::{
        Tx,
        counting::{
            counts::raw,
            rows::{self, RowKeys},
        },
        from_catalogue,
    },
};
use plaudit_catalogue::{Rows, primitives::UserId};

/// Whose texts are emptied: of what was removed before so much time, or of a user.
#[derive(Clone, Copy)]
pub enum Removed {
    Before(Duration),
    Of(UserId),
}

/// Empties at most `most` texts of removed things. Returns their number.
pub async fn empty_removed(tx: &mut Tx, rows: Rows, of: Removed, most: usize) -> StoreResult<usize> {
    let Rows { table, user, .. } = rows;
    let Some([has_text, emptied]) = rows.texts else { return Ok(0) };
    let (which, of) = match of {
        Removed::Before(age) => (
            "removed_at < now() - $1 * interval '1 ms' ORDER BY removed_at".to_owned(),
            age.as_millis() as i64,
        ),
        Removed::Of(owner) => (format!("{user} = $1"), owner.get()),
    };
    let text =
        format!("SELECT id FROM {table} WHERE removed_at IS NOT NULL AND ({has_text}) AND {which} LIMIT $2");
    let query = sqlx::query_scalar(from_catalogue(text)).bind(of).bind(most as i64);
    let found = RowKeys::of_things(rows, tx.db.run(query.fetch_all(&mut *tx.inner)).await?);
    let text = format!("UPDATE {table} SET {emptied} WHERE id = ANY($1)");
    tx.db.run(sqlx::query(from_catalogue(text)).bind(raw(&found.keys)).execute(&mut *tx.inner)).await?;
    rows::forget(tx, &found).await?;
    Ok(found.keys.len())
}
