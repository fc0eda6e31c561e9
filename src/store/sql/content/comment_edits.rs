//! Editing comments: the text that everybody sees, the one that waits for its approval, and the exchange of the two.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Row, postgres::PgRow};

use super::submissions::{self, Judged};
use crate::{
    StoreResult,
    sql::{Tx, columns::users_of},
};
use plaudit_catalogue::primitives::{CommentId, UserId};

/// The parts of a comment that its author writes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WrittenText {
    pub body: String,
    pub images: Vec<String>,
    pub mentions: Vec<UserId>,
}

/// The next text of an approved comment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PendingEdit {
    pub text: WrittenText,
    /// Reason of the rejection; `None` while it waits for a decision.
    pub rejected_because: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// The texts of one comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommentTexts {
    /// What its readers see.
    pub shown: WrittenText,
    /// What waits, or was rejected.
    pub edit: Option<WrittenText>,
}

/// The texts of a comment. Lock the comment first.
pub async fn comment_texts(tx: &mut Tx, comment: CommentId) -> StoreResult<CommentTexts> {
    let query = sqlx::query_as("SELECT body, images, mentions FROM comment_body WHERE id = $1");
    let shown = tx.db.run(query.bind(comment.get()).fetch_one(&mut *tx.inner)).await?;
    let query = sqlx::query_as("SELECT body, images, mentions FROM comment_edit WHERE comment_id = $1");
    let edit = tx.db.run(query.bind(comment.get()).fetch_optional(&mut *tx.inner)).await?;
    Ok(CommentTexts { shown, edit })
}

/// Replaces the text of a comment that was not approved, which then waits for a decision again. Lock the comment
/// first.
pub async fn replace_unapproved_text(tx: &mut Tx, comment: CommentId, text: &WrittenText) -> StoreResult<()> {
    let query = sqlx::query(
        "WITH text AS (UPDATE comment_body SET body = $2, images = $3, mentions = $4 WHERE id = $1)
         UPDATE comment_index SET state = 'pending' WHERE id = $1",
    );
    let query = query.bind(comment.get()).bind(&text.body).bind(&text.images).bind(text.mentioned());
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    submissions::queue_texts(tx, Judged::Comment, &[comment.0]).await
}

/// Keeps the next text of an approved comment until it is decided, in place of an earlier one. Lock the comment
/// first.
pub async fn keep_edit(tx: &mut Tx, comment: CommentId, text: &WrittenText) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO comment_edit (comment_id, body, images, mentions) VALUES ($1, $2, $3, $4)
         ON CONFLICT (comment_id) DO UPDATE
         SET body = $2, images = $3, mentions = $4, rejected_because = NULL, created_at = now()",
    );
    let query = query.bind(comment.get()).bind(&text.body).bind(&text.images).bind(text.mentioned());
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    submissions::queue_texts(tx, Judged::Comment, &[comment.0]).await
}

/// Shows the approved edits in place of the old texts, and notes the reasons of the rejected ones.
pub(crate) async fn settle_edits(
    tx: &mut Tx,
    approved: &[CommentId],
    rejected: &[(CommentId, &str)],
) -> StoreResult<()> {
    let query = sqlx::query(
        "WITH approved AS (
             DELETE FROM comment_edit WHERE comment_id = ANY($1)
             RETURNING comment_id, body, images, mentions
         ), text AS (
             UPDATE comment_body AS b SET body = a.body, images = a.images, mentions = a.mentions
             FROM approved AS a WHERE b.id = a.comment_id
         ), shown AS (
             UPDATE comment_index AS i SET edited_at = now() FROM approved AS a WHERE i.id = a.comment_id
         )
         UPDATE comment_edit AS e SET rejected_because = d.reason
         FROM unnest($2::bigint[], $3::text[]) AS d (id, reason) WHERE e.comment_id = d.id",
    )
    .bind(approved.iter().map(|comment| comment.get()).collect::<Vec<_>>())
    .bind(rejected.iter().map(|(comment, _)| comment.get()).collect::<Vec<_>>())
    .bind(rejected.iter().map(|(_, reason)| *reason).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

impl WrittenText {
    fn mentioned(&self) -> Vec<i64> {
        self.mentions.iter().map(|user| user.get()).collect()
    }

    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        self.body.len() + self.images.iter().map(String::len).sum::<usize>()
    }
}

impl FromRow<'_, PgRow> for WrittenText {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let mentions = users_of(row.try_get("mentions")?);
        Ok(Self { body: row.try_get("body")?, images: row.try_get("images")?, mentions })
    }
}

impl PendingEdit {
    /// From the columns `edit_…` of an outer join.
    pub(crate) fn from_join(row: &PgRow) -> sqlx::Result<Option<Self>> {
        let Some(created_at) = row.try_get("edit_created_at")? else { return Ok(None) };
        let mentions = users_of(row.try_get("edit_mentions")?);
        let (body, images) = (row.try_get("edit_body")?, row.try_get("edit_images")?);
        let rejected_because = row.try_get("edit_rejected_because")?;
        Ok(Some(Self { text: WrittenText { body, images, mentions }, rejected_because, created_at }))
    }
}
