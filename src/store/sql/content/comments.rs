//! Writing comments and removing them.

use sqlx::FromRow;

use super::submissions::ModerationState;
use crate::{
    StoreResult,
    sql::{Tx, from_catalogue},
};
use plaudit_catalogue::primitives::{CommentId, NoteId, UserId};

/// A comment to write.
#[derive(Clone, Copy, Debug)]
pub struct NewComment<'a> {
    /// The app's own id of it.
    pub key: Option<&'a str>,
    pub note: NoteId,
    pub author: UserId,
    pub parent: Option<CommentId>,
    /// The reply that it answers.
    pub reply_to: Option<CommentId>,
    pub body: &'a str,
    pub images: &'a [String],
    pub mentions: &'a [UserId],
}

/// A comment without its text: its note, parent, author and state, and for whom it counts.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct CommentHeader {
    pub id: CommentId,
    #[sqlx(rename = "note_id")]
    pub note: NoteId,
    #[sqlx(rename = "author_id")]
    pub author: UserId,
    #[sqlx(rename = "parent_id")]
    pub parent: Option<CommentId>,
    #[sqlx(rename = "reply_to_id")]
    pub reply_to: Option<CommentId>,
    pub state: ModerationState,
    pub is_removed: bool,
    /// Its author is hidden.
    pub is_hidden: bool,
    /// It counts for its note and its parent.
    pub is_counted: bool,
    /// The note's author is hidden, so it does not count for its own author.
    pub note_is_hidden: bool,
}

const HEADERS: &str = "SELECT id, note_id, author_id, parent_id, reply_to_id, state,
                              removed_at IS NOT NULL AS is_removed, is_hidden, is_counted, note_is_hidden
                       FROM comment_index WHERE id = ANY($1) ORDER BY id";

/// The header of a comment, without a lock, so its state and removal may change. `None` if it never existed.
pub async fn comment_header(tx: &mut Tx, comment: CommentId) -> StoreResult<Option<CommentHeader>> {
    Ok(comment_headers(tx, &[comment]).await?.pop())
}

/// The same for several comments. Those that never existed are missing.
pub async fn comment_headers(tx: &mut Tx, comments: &[CommentId]) -> StoreResult<Vec<CommentHeader>> {
    let query = sqlx::query_as(HEADERS).bind(raw(comments));
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// The same with locks. Lock the totals that will change first: batches lock totals, then comments.
pub async fn lock_comments(tx: &mut Tx, comments: &[CommentId]) -> StoreResult<Vec<CommentHeader>> {
    let query = sqlx::query_as(from_catalogue(format!("{HEADERS} FOR NO KEY UPDATE"))).bind(raw(comments));
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

pub(crate) fn raw(comments: &[CommentId]) -> Vec<i64> {
    comments.iter().map(|comment| comment.get()).collect()
}

/// Writes a comment that waits for moderation, with its author's present rating of the note; none if the
/// author was erased, or the key is taken. Call `shards::lock_removals_shared` first, so that its author and
/// the note's are not being hidden.
pub async fn add_comment(tx: &mut Tx, comment: NewComment<'_>) -> StoreResult<Option<CommentId>> {
    let query = sqlx::query_scalar(
        "WITH written AS (
             INSERT INTO comment_index (note_id, author_id, parent_id, reply_to_id, hot_score, rating_at_writing,
                                        is_hidden, note_is_hidden, key)
             SELECT $1, id, $3, $4, comment_hot_score(0, 0, now()),
                    (SELECT score FROM note_rating WHERE user_id = $2 AND note_id = $1),
                    hidden_at IS NOT NULL, (SELECT is_hidden FROM note WHERE id = $1), $8
             FROM app_user WHERE id = $2 AND removed_at IS NULL
             ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING
             RETURNING id
         ), text AS (
             INSERT INTO comment_body (id, body, images, mentions) SELECT id, $5, $6, $7 FROM written
         ), queued AS (
             INSERT INTO submission (kind, target_id) SELECT 'comment', id FROM written
         )
         SELECT id FROM written",
    )
    .bind(comment.note.get())
    .bind(comment.author.get())
    .bind(comment.parent.map(CommentId::get))
    .bind(comment.reply_to.map(CommentId::get))
    .bind(comment.body)
    .bind(comment.images)
    .bind(comment.mentions.iter().map(|user| user.get()).collect::<Vec<_>>())
    .bind(comment.key);
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Removes a comment and its text. A placeholder stays in lists.
pub async fn remove_comment(tx: &mut Tx, comment: CommentId, as_placeholder: bool) -> StoreResult<()> {
    let query = sqlx::query(
        "WITH text AS (UPDATE comment_body SET body = '', images = '{}', mentions = '{}' WHERE id = $1),
         dropped AS (DELETE FROM edit WHERE kind = 'comment' AND target_id = $1),
         queued AS (DELETE FROM submission WHERE kind = 'comment' AND target_id = $1),
         decided AS (UPDATE decision SET is_shown = false WHERE kind = 'comment' AND target_id = $1 AND is_shown)
         UPDATE comment_index SET removed_at = now(), is_placeholder = $2 WHERE id = $1",
    )
    .bind(comment.get())
    .bind(as_placeholder);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Number of visible replies to a comment. Lock its totals first.
pub async fn live_replies(tx: &mut Tx, comment: CommentId) -> StoreResult<i64> {
    let query = sqlx::query_scalar("SELECT coalesce((SELECT replies FROM comment_counts WHERE id = $1), 0)")
        .bind(comment.get());
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Sets whether removed and hidden comments stay in lists as placeholders, because they have replies. Other
/// comments do not change.
pub async fn set_placeholders(tx: &mut Tx, comments: &[CommentId], on: bool) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE comment_index SET is_placeholder = $2 WHERE id = ANY($1) AND (removed_at IS NOT NULL OR is_hidden)",
    )
    .bind(raw(comments))
    .bind(on);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
