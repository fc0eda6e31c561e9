//! Writing comments and removing them.

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use super::submissions::{Arrival, ModerationState};
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
    /// `None`: now.
    pub created_at: Option<DateTime<Utc>>,
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
}

const HEADERS: &str = "SELECT id, note_id, author_id, parent_id, reply_to_id, state,
                              removed_at IS NOT NULL AS is_removed, is_hidden, is_counted
                       FROM comment_index WHERE id = ANY($1) ORDER BY id";

/// The header of a comment, without a lock, so its state and removal may change. `None` if it never existed.
pub async fn comment_header(tx: &mut Tx, comment: CommentId) -> StoreResult<Option<CommentHeader>> {
    let query = sqlx::query_as(HEADERS).bind(raw(&[comment]));
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Headers with locks; those that never existed are missing. Lock the totals that will change first: batches lock
/// totals, then comments.
pub async fn lock_comments(tx: &mut Tx, comments: &[CommentId]) -> StoreResult<Vec<CommentHeader>> {
    let query = sqlx::query_as(from_catalogue(format!("{HEADERS} FOR NO KEY UPDATE"))).bind(raw(comments));
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

pub(crate) fn raw(comments: &[CommentId]) -> Vec<i64> {
    comments.iter().map(|comment| comment.get()).collect()
}

/// Adds comments. Those that are judged have their authors' present ratings of the notes beside them; the others are
/// approved. Left out are those whose author was erased, whose note was removed, or whose key is taken. Call
/// `shards::lock_removals_shared` first, so that their authors and the authors of the notes are not being hidden.
pub async fn add_comments(
    tx: &mut Tx,
    comments: &[NewComment<'_>],
    arrival: Arrival,
) -> StoreResult<Vec<CommentId>> {
    if comments.is_empty() {
        return Ok(Vec::new());
    }
    // An array of arrays must have equal lengths, so images and mentions are one text per comment: addresses have no
    // line breaks. Ids are taken first, because a comment may have no key to find its text by. `IS TRUE` makes
    // PostgreSQL hash what was written: a join would be a loop in a loop, since sessions hash no joins.
    let query = sqlx::query_scalar(
        "WITH new AS MATERIALIZED (
             SELECT nextval(sequence.ids) AS id, line.*, coalesce(line.created_at, now()) AS moment
             FROM (SELECT pg_get_serial_sequence('comment_index', 'id')::regclass AS ids OFFSET 0) AS sequence,
                  (SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[],
                                        $7::text[], $8::text[], $9::timestamptz[])
                       WITH ORDINALITY AS line (key, note, author, parent, reply_to, body, images, mentions, created_at,
                                                place)
                   ORDER BY place) AS line
         ), written AS (
             INSERT INTO comment_index (id, key, note_id, author_id, parent_id, reply_to_id, created_at, state,
                                        hot_score, rating_at_writing, is_hidden, note_is_hidden)
             OVERRIDING SYSTEM VALUE
             SELECT new.id, new.key, n.id, u.id, parent, reply_to, moment,
                    CASE WHEN $10 THEN 'pending' ELSE 'approved' END,
                    comment_hot_score(0, 0, moment),
                    CASE WHEN $10 THEN (SELECT score FROM note_rating WHERE user_id = u.id AND note_id = n.id) END,
                    u.hidden_at IS NOT NULL, n.is_hidden
             FROM new
             JOIN app_user AS u ON u.id = author AND u.removed_at IS NULL
             JOIN note AS n ON n.id = note AND n.removed_at IS NULL
             ORDER BY place ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING
             RETURNING id
         ), text AS (
             INSERT INTO comment_body (id, body, images, mentions)
             SELECT id, body, coalesce(string_to_array(nullif(images, ''), E'\\n'), '{}'),
                    coalesce(string_to_array(nullif(mentions, ''), E'\\n')::bigint[], '{}')
             FROM new WHERE (id IN (SELECT id FROM written)) IS TRUE
         ), queued AS (
             INSERT INTO submission (kind, target_id) SELECT 'comment', id FROM written WHERE $10
         )
         SELECT id FROM written",
    )
    .bind(comments.iter().map(|comment| comment.key).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.note.get()).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.author.get()).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.parent.map(CommentId::get)).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.reply_to.map(CommentId::get)).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.body).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.images.join("\n")).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| lines(comment.mentions)).collect::<Vec<_>>())
    .bind(comments.iter().map(|comment| comment.created_at).collect::<Vec<_>>())
    .bind(arrival == Arrival::Judged);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

fn lines(users: &[UserId]) -> String {
    users.iter().map(UserId::to_string).collect::<Vec<_>>().join("\n")
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
