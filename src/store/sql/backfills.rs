//! Backfills: the recount of rows after a removal or a hiding, in the background, page by page.

use sqlx::FromRow;

use super::{
    Db, Tx,
    columns::{numbers_of, stored_as},
    edges::{entity_table, owner_column},
    from_catalogue,
};
use crate::{
    catalogue::{EdgeKind, Entity},
    primitives::{CommentId, Id, NoteId, ShardCount, ShardId, UserId},
    store::{StoreError, StoreResult},
};

/// What a backfill does with its subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackfillKind {
    /// Totals no longer include a user's edges.
    Hide,
    /// Totals include them again.
    Restore,
    /// A note's comments are removed with it.
    Remove,
}

/// Progress of a backfill of one subject.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct Backfill {
    pub subject: Entity,
    pub kind: BackfillKind,
    /// For users: position of the edge kind in [`EdgeKind::ALL`].
    #[sqlx(try_from = "i16")]
    pub stage: usize,
    /// All ids up to this one are done in the present stage.
    #[sqlx(rename = "after_id")]
    pub after: i64,
    /// Rows done, and the number of rows at the start.
    pub done: i64,
    pub total: i64,
    pub is_finished: bool,
}

/// An edge that is on, before the backfill changes it.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct BackfillEdge {
    pub target: Id,
    pub owner: UserId,
    pub target_is_present: bool,
    pub included: bool,
}

impl BackfillKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Hide => "hide",
            Self::Restore => "restore",
            Self::Remove => "remove",
        }
    }

    fn from_name(name: &str) -> StoreResult<Self> {
        let all = [Self::Hide, Self::Restore, Self::Remove];
        let kind = all.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| StoreError::Unexpected(format!("unknown kind of backfill {name:?}")))
    }
}

stored_as! {
    BackfillKind as String => |name: String| Ok(BackfillKind::from_name(&name)?);
}

impl Tx {
    /// Adds a backfill of a subject. An existing one starts over.
    pub async fn add_backfill(
        &mut self,
        shards: ShardCount,
        subject: Entity,
        kind: BackfillKind,
        total: i64,
        ordered_by: UserId,
    ) -> StoreResult<()> {
        let query = sqlx::query(
            "INSERT INTO backfill (subject, shard, kind, total, ordered_by) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (subject) DO UPDATE
                 SET kind = excluded.kind, total = excluded.total, ordered_by = excluded.ordered_by,
                     stage = 0, after_id = 0, done = 0, started_at = now(), finished_at = NULL",
        )
        .bind(subject.to_string())
        .bind(shards.shard_of(subject.id).0 as i16)
        .bind(kind.name())
        .bind(total)
        .bind(ordered_by.get());
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}

const COLUMNS: &str = "subject, kind, stage, after_id, done, total, finished_at IS NOT NULL AS is_finished";

impl Db {
    /// Whether one of these shards has a backfill that is not finished.
    pub async fn has_backfills(&self, shards: &[ShardId]) -> StoreResult<bool> {
        let query = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM backfill WHERE shard = ANY($1) AND finished_at IS NULL)",
        )
        .bind(numbers_of(shards));
        self.run(query.fetch_one(&self.pool())).await
    }

    /// The newest backfill of a subject.
    pub async fn backfill_of(&self, subject: Entity) -> StoreResult<Option<Backfill>> {
        let text = format!("SELECT {COLUMNS} FROM backfill WHERE subject = $1");
        let query = sqlx::query_as(from_catalogue(text)).bind(subject.to_string());
        self.run(query.fetch_optional(&self.pool())).await
    }
}

impl Tx {
    /// Locks the oldest unfinished backfill of these shards.
    pub async fn next_backfill(&mut self, shards: &[ShardId]) -> StoreResult<Option<Backfill>> {
        let text = format!(
            "SELECT {COLUMNS} FROM backfill WHERE shard = ANY($1) AND finished_at IS NULL
             ORDER BY started_at LIMIT 1 FOR UPDATE SKIP LOCKED"
        );
        let query = sqlx::query_as(from_catalogue(text)).bind(numbers_of(shards));
        self.db.run(query.fetch_optional(&mut *self.inner)).await
    }

    /// Saves the progress of a backfill.
    pub async fn save_backfill(&mut self, backfill: &Backfill) -> StoreResult<()> {
        let query = sqlx::query(
            "UPDATE backfill SET stage = $2, after_id = $3, done = $4,
                 finished_at = CASE WHEN $5 THEN now() END WHERE subject = $1",
        )
        .bind(backfill.subject.to_string())
        .bind(backfill.stage as i16)
        .bind(backfill.after)
        .bind(backfill.done)
        .bind(backfill.is_finished);
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }

    /// Number of an actor's edges that are on, of all kinds.
    pub async fn count_edges_of(&mut self, actor: UserId) -> StoreResult<i64> {
        let of_kind =
            |kind: &EdgeKind| format!("(SELECT count(*) FROM {} WHERE actor_id = $1 AND is_on)", kind.name());
        let text = format!("SELECT {}", EdgeKind::ALL.iter().map(of_kind).collect::<Vec<_>>().join(" + "));
        let query = sqlx::query_scalar(from_catalogue(text)).bind(actor.get());
        self.db.run(query.fetch_one(&mut *self.inner)).await
    }

    pub async fn count_comments_of(&mut self, note: NoteId) -> StoreResult<i64> {
        let query = sqlx::query_scalar(
            "SELECT count(*) FROM comment_index WHERE note_id = $1 AND (removed_at IS NULL OR is_placeholder)",
        )
        .bind(note.get());
        self.db.run(query.fetch_one(&mut *self.inner)).await
    }

    /// The next edges of an actor that are on, by rising target.
    pub async fn edges_after(
        &mut self,
        kind: EdgeKind,
        actor: UserId,
        after: i64,
        most: usize,
    ) -> StoreResult<Vec<BackfillEdge>> {
        let text = format!(
            "SELECT e.target_id AS target, t.{owner} AS owner, t.removed_at IS NULL AS target_is_present, e.included
             FROM {edges} AS e
             JOIN {targets} AS t ON t.id = e.target_id
             WHERE e.actor_id = $1 AND e.target_id > $2 AND e.is_on ORDER BY e.target_id LIMIT $3",
            owner = owner_column(kind.target()),
            edges = kind.name(),
            targets = entity_table(kind.target()),
        );
        let query = sqlx::query_as(from_catalogue(text)).bind(actor.get()).bind(after).bind(most as i64);
        self.db.run(query.fetch_all(&mut *self.inner)).await
    }

    /// Sets whether the totals include these edges.
    pub async fn set_included(
        &mut self,
        kind: EdgeKind,
        actor: UserId,
        targets: &[Id],
        included: bool,
    ) -> StoreResult<()> {
        let text =
            format!("UPDATE {} SET included = $3 WHERE actor_id = $1 AND target_id = ANY($2)", kind.name());
        let query = sqlx::query(from_catalogue(text))
            .bind(actor.get())
            .bind(super::counts::raw(targets))
            .bind(included);
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}

/// A comment, or a placeholder, that was removed with its note.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Debug)]
pub struct RemovedComment {
    pub id: CommentId,
    pub author: UserId,
    /// It was approved, so totals include it.
    pub included: bool,
}

impl Tx {
    /// Removes the next comments of a note, by rising id.
    pub async fn remove_comments_after(
        &mut self,
        note: NoteId,
        after: i64,
        most: usize,
    ) -> StoreResult<Vec<RemovedComment>> {
        let query = sqlx::query_as(
            "WITH page AS (SELECT id, removed_at IS NULL AND state = 'approved' AS included FROM comment_index
                           WHERE note_id = $1 AND id > $2 AND (removed_at IS NULL OR is_placeholder)
                           ORDER BY id LIMIT $3 FOR NO KEY UPDATE),
             unqueued AS (DELETE FROM comment_queue AS q USING page WHERE q.comment_id = page.id)
             UPDATE comment_index AS c SET removed_at = coalesce(removed_at, now()), is_placeholder = false
             FROM page WHERE c.id = page.id RETURNING c.id, c.author_id AS author, page.included",
        )
        .bind(note.get())
        .bind(after)
        .bind(most as i64);
        self.db.run(query.fetch_all(&mut *self.inner)).await
    }
}
