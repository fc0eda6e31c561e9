//! Backfills: the recount of rows after a removal or a hiding, in the background, page by page.

use sqlx::FromRow;

use crate::{
    StoreError, StoreResult,
    sql::{Db, Tx, columns::numbers_of, from_catalogue},
};
use plaudit_catalogue::{
    Entity,
    primitives::{CommentId, NoteId, ShardCount, ShardId, UserId},
};

/// What a backfill does with its subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackfillKind {
    /// Nothing of a user counts or is shown any more.
    Hide,
    /// It counts and is shown again.
    Restore,
    /// A note's comments are removed with it; a group's notes and members leave it.
    Remove,
    /// Everything of a user is hidden, and then deleted.
    Erase,
}

/// Progress of a backfill of one subject.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct Backfill {
    pub subject: Entity,
    pub kind: BackfillKind,
    /// For users: what is in progress.
    #[sqlx(try_from = "i16")]
    pub stage: usize,
    /// All ids up to this one are done in the present stage. Of comments on several notes: the note, and the comment in
    /// `within`.
    #[sqlx(rename = "after_id")]
    pub after: i64,
    #[sqlx(rename = "within_id")]
    pub within: i64,
    /// Rows done, and the number of rows at the start.
    pub done: i64,
    pub total: i64,
    pub is_finished: bool,
}

impl BackfillKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Hide => "hide",
            Self::Restore => "restore",
            Self::Remove => "remove",
            Self::Erase => "erase",
        }
    }

    fn from_name(name: &str) -> StoreResult<Self> {
        let all = [Self::Hide, Self::Restore, Self::Remove, Self::Erase];
        let kind = all.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| StoreError::Unexpected(format!("unknown kind of backfill {name:?}")))
    }
}

plaudit_catalogue::stored_as! {
    BackfillKind as String => |name: String| Ok(BackfillKind::from_name(&name)?);
}

/// Adds a backfill of a subject. An existing one starts over.
pub async fn add_backfill(
    tx: &mut Tx,
    shards: ShardCount,
    subject: Entity,
    kind: BackfillKind,
    total: i64,
    ordered_by: UserId,
) -> StoreResult<()> {
    add_backfills(tx, shards, kind, &[(subject, total)], Some(ordered_by)).await
}

/// Adds backfills of subjects, each with its rows; `ordered_by`: `None` for a service. Existing ones start over.
pub async fn add_backfills(
    tx: &mut Tx,
    shards: ShardCount,
    kind: BackfillKind,
    subjects: &[(Entity, i64)],
    ordered_by: Option<UserId>,
) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO backfill (subject, shard, kind, total, ordered_by)
         SELECT subject, shard, $3, total, $5
         FROM unnest($1::text[], $2::smallint[], $4::bigint[]) AS new (subject, shard, total)
         ON CONFLICT (subject) DO UPDATE
             SET kind = excluded.kind, total = excluded.total, ordered_by = excluded.ordered_by,
                 stage = 0, after_id = 0, within_id = 0, done = 0, started_at = now(), finished_at = NULL",
    )
    .bind(subjects.iter().map(|(subject, _)| subject.to_string()).collect::<Vec<_>>())
    .bind(subjects.iter().map(|(subject, _)| shards.shard_of(subject.id).0 as i16).collect::<Vec<_>>())
    .bind(kind.name())
    .bind(subjects.iter().map(|(_, total)| *total).collect::<Vec<_>>())
    .bind(ordered_by.map(UserId::get));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

const COLUMNS: &str =
    "subject, kind, stage, after_id, within_id, done, total, finished_at IS NOT NULL AS is_finished";

/// Whether one of these shards has a backfill that is not finished.
pub async fn has_backfills(db: &Db, shards: &[ShardId]) -> StoreResult<bool> {
    let query = sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM backfill WHERE shard = ANY($1) AND finished_at IS NULL)",
    )
    .bind(numbers_of(shards));
    db.run(query.fetch_one(&db.pool())).await
}

/// The newest backfill of a subject.
pub async fn backfill_of(db: &Db, subject: Entity) -> StoreResult<Option<Backfill>> {
    let text = format!("SELECT {COLUMNS} FROM backfill WHERE subject = $1");
    let query = sqlx::query_as(from_catalogue(text)).bind(subject.to_string());
    db.run(query.fetch_optional(&db.pool())).await
}

/// Locks the oldest unfinished backfill of these shards.
pub async fn next_backfill(tx: &mut Tx, shards: &[ShardId]) -> StoreResult<Option<Backfill>> {
    let text = format!(
        "SELECT {COLUMNS} FROM backfill WHERE shard = ANY($1) AND finished_at IS NULL
         ORDER BY started_at LIMIT 1 FOR UPDATE SKIP LOCKED"
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(numbers_of(shards));
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Saves the progress of a backfill.
pub async fn save_backfill(tx: &mut Tx, backfill: &Backfill) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE backfill SET stage = $2, after_id = $3, within_id = $4, done = $5,
             finished_at = CASE WHEN $6 THEN now() END WHERE subject = $1",
    )
    .bind(backfill.subject.to_string())
    .bind(backfill.stage as i16)
    .bind(backfill.after)
    .bind(backfill.within)
    .bind(backfill.done)
    .bind(backfill.is_finished);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// How many comments are removed with each of these notes; those without one are missing.
pub async fn count_comments_of(tx: &mut Tx, notes: &[NoteId]) -> StoreResult<Vec<(NoteId, i64)>> {
    let query = sqlx::query_as(
        "SELECT note_id, count(*) FROM comment_index
         WHERE note_id = ANY($1) AND (removed_at IS NULL OR is_placeholder) GROUP BY note_id",
    )
    .bind(notes.iter().map(|note| note.get()).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// A comment, or a placeholder, that was removed with its note.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct RemovedComment {
    pub id: CommentId,
    pub author: UserId,
    /// It counted for its author.
    pub included: bool,
}

/// Removes the next comments of a note and their texts, by rising id.
pub async fn remove_comments_after(
    tx: &mut Tx,
    note: NoteId,
    after: i64,
    most: usize,
) -> StoreResult<Vec<RemovedComment>> {
    let query = sqlx::query_as(
        "WITH page AS (SELECT id, is_counted AND NOT note_is_hidden AS included FROM comment_index
                       WHERE note_id = $1 AND id > $2 AND (removed_at IS NULL OR is_placeholder)
                       ORDER BY id LIMIT $3 FOR NO KEY UPDATE),
         unqueued AS (DELETE FROM submission AS s USING page WHERE s.kind = 'comment' AND s.target_id = page.id),
         decided AS (UPDATE decision AS d SET is_shown = false
                     FROM page WHERE d.kind = 'comment' AND d.target_id = page.id AND d.is_shown),
         unedited AS (DELETE FROM edit AS e USING page WHERE e.kind = 'comment' AND e.target_id = page.id),
         text AS (UPDATE comment_body AS b SET body = '', images = '{}', mentions = '{}'
                  FROM page WHERE b.id = page.id)
         UPDATE comment_index AS c SET removed_at = coalesce(removed_at, now()), is_placeholder = false
         FROM page WHERE c.id = page.id RETURNING c.id, c.author_id AS author, page.included",
    )
    .bind(note.get())
    .bind(after)
    .bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}
