//! Notes.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{Row, postgres::PgRow};

use super::{Db, Tx, users::id};
use crate::{
    primitives::{NoteId, PageRequest, Slice, UserId},
    store::StoreResult,
};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NoteRow {
    pub id: NoteId,
    pub author: UserId,
    pub title: String,
    pub body: String,
    pub created_at: DateTime<Utc>,
}

impl Db {
    /// Notes that do not exist, or are removed, are missing.
    pub async fn notes(&self, ids: &[NoteId]) -> StoreResult<Vec<NoteRow>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        let query = sqlx::query(
            "SELECT id, author_id, title, body, created_at FROM note WHERE id = ANY($1) AND removed_at IS NULL",
        )
        .bind(ids);
        self.run(query.fetch_all(&self.pool())).await?.iter().map(note).collect()
    }

    /// Newest notes.
    pub async fn feed(&self, page: PageRequest) -> StoreResult<Slice<NoteRow>> {
        let query = sqlx::query(
            "SELECT id, author_id, title, body, created_at FROM note
             WHERE removed_at IS NULL AND id < $1 ORDER BY id DESC LIMIT $2",
        )
        .bind(page.before.map_or(i64::MAX, |id| id.get()))
        .bind(page.rows());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        Ok(page.slice(rows.iter().map(note).collect::<StoreResult<_>>()?))
    }
}

/// Those of the notes that exist and are not removed.
pub async fn present_notes(db: &Db, tx: &mut Tx, ids: &[NoteId]) -> StoreResult<Vec<NoteId>> {
    let query = sqlx::query("SELECT id FROM note WHERE id = ANY($1) AND removed_at IS NULL")
        .bind(ids.iter().map(|id| id.get()).collect::<Vec<_>>());
    let rows = db.run(query.fetch_all(&mut **tx)).await?;
    rows.iter().map(|row| Ok(NoteId(id(row, 0)?))).collect()
}

fn note(row: &PgRow) -> StoreResult<NoteRow> {
    Ok(NoteRow {
        id: NoteId(id(row, 0)?),
        author: UserId(id(row, 1)?),
        title: row.try_get(2)?,
        body: row.try_get(3)?,
        created_at: row.try_get(4)?,
    })
}
