//! Comments.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{Row, postgres::PgRow};

use super::{Db, users::id};
use crate::{
    primitives::{CommentId, NoteId, PageRequest, Slice, UserId},
    store::StoreResult,
};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommentRow {
    pub id: CommentId,
    pub note: NoteId,
    pub author: UserId,
    pub body: String,
    pub created_at: DateTime<Utc>,
}

impl Db {
    /// Comments that do not exist, or are removed, are missing.
    pub async fn comments(&self, ids: &[CommentId]) -> StoreResult<Vec<CommentRow>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        let query = sqlx::query(
            "SELECT i.id, i.note_id, i.author_id, b.body, i.created_at
             FROM comment_index AS i JOIN comment_body AS b USING (id)
             WHERE i.id = ANY($1) AND i.removed_at IS NULL",
        )
        .bind(ids);
        self.run(query.fetch_all(&self.pool())).await?.iter().map(comment).collect()
    }

    /// A note's newest top-level comments.
    pub async fn comments_of_note(&self, note: NoteId, page: PageRequest) -> StoreResult<Slice<CommentRow>> {
        let query = sqlx::query(
            "SELECT i.id, i.note_id, i.author_id, b.body, i.created_at
             FROM comment_index AS i JOIN comment_body AS b USING (id)
             WHERE i.note_id = $1 AND i.parent_id IS NULL AND i.removed_at IS NULL AND i.id < $2
             ORDER BY i.id DESC LIMIT $3",
        )
        .bind(note.get())
        .bind(page.below())
        .bind(page.rows());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        Ok(page.slice(rows.iter().map(comment).collect::<StoreResult<_>>()?))
    }
}

fn comment(row: &PgRow) -> StoreResult<CommentRow> {
    Ok(CommentRow {
        id: CommentId(id(row, 0)?),
        note: NoteId(id(row, 1)?),
        author: UserId(id(row, 2)?),
        body: row.try_get(3)?,
        created_at: row.try_get(4)?,
    })
}
