//! Backfills: the recount of rows after a removal or a hiding, in the background, page by page.

use sqlx::FromRow;

use super::counts::raw;
use crate::{
    StoreError, StoreResult,
    sql::{Db, Tx, columns::numbers_of, from_catalogue},
};
use plaudit_catalogue::{
    Entity,
    primitives::{Id, NoteId, ShardCount, ShardId, UserId},
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
async fn add_backfills(
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

/// Adds backfills of removed notes, for those that have comments. `ordered_by`: `None` for a service.
pub async fn remove_comments_of(
    tx: &mut Tx,
    shards: ShardCount,
    notes: &[Id],
    ordered_by: Option<UserId>,
) -> StoreResult<()> {
    let query = sqlx::query_as(
        "SELECT note_id, count(*) FROM comment_index
         WHERE note_id = ANY($1) AND (removed_at IS NULL OR is_placeholder) GROUP BY note_id",
    )
    .bind(raw(notes));
    let found: Vec<(NoteId, i64)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let subjects: Vec<(Entity, i64)> = found.into_iter().map(|(note, of_it)| (note.into(), of_it)).collect();
    add_backfills(tx, shards, BackfillKind::Remove, &subjects, ordered_by).await
}

/// The next comments and placeholders of a note, by rising id.
pub async fn comments_after(tx: &mut Tx, note: NoteId, after: i64, most: usize) -> StoreResult<Vec<Id>> {
    let query = sqlx::query_scalar(
        "SELECT id FROM comment_index
         WHERE note_id = $1 AND id > $2 AND (removed_at IS NULL OR is_placeholder) ORDER BY id LIMIT $3",
    );
    let query = query.bind(note.get()).bind(after).bind(most as i64);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}
