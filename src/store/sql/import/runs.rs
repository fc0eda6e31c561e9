//! Table `import_run`: how far the lines of each file are in the database.

use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx},
};

/// How far an import is.
#[derive(Clone, FromRow, PartialEq, Eq, Debug, Default)]
pub struct ImportPosition {
    pub line: i64,
    /// Of all lines up to this one.
    pub digest: Vec<u8>,
    /// Lines up to this one that were rejected.
    pub rejected: i64,
    /// Length of the file of rejected lines.
    pub rejects_bytes: i64,
}

/// Where an import of the source was interrupted.
pub async fn import_position(db: &Db, source: &str) -> StoreResult<Option<ImportPosition>> {
    let query = sqlx::query_as(
        "SELECT line, digest, rejected, rejects_bytes FROM import_run WHERE source = $1 AND finished_at IS NULL",
    )
    .bind(source);
    db.run(query.fetch_optional(&db.pool())).await
}

/// Moves the position of an import; `is_finished`: no line is left.
pub async fn move_import(
    tx: &mut Tx,
    source: &str,
    to: &ImportPosition,
    is_finished: bool,
) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO import_run AS r (source, line, digest, rejected, rejects_bytes, finished_at)
         VALUES ($1, $2, $3, $4, $5, CASE WHEN $6 THEN now() END)
         ON CONFLICT (source) DO UPDATE SET
             line = excluded.line, digest = excluded.digest, rejected = excluded.rejected,
             rejects_bytes = excluded.rejects_bytes, finished_at = excluded.finished_at,
             started_at = CASE WHEN r.finished_at IS NULL THEN r.started_at ELSE excluded.started_at END",
    )
    .bind(source)
    .bind(to.line)
    .bind(&to.digest)
    .bind(to.rejected)
    .bind(to.rejects_bytes)
    .bind(is_finished);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Whether anything was ever imported.
pub async fn was_imported(tx: &mut Tx) -> StoreResult<bool> {
    let query = sqlx::query_scalar("SELECT EXISTS (SELECT FROM import_run)");
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}
