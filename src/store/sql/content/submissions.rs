//! Texts of notes and comments that wait for a decision.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx, counting::counts::raw, from_catalogue},
};
use plaudit_catalogue::{Entity, EntityKind, primitives::Id};

/// What is judged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Judged {
    Note,
    Comment,
}

/// Whether a note or a comment may be shown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModerationState {
    /// Not decided yet: only its author and moderators see it.
    Pending,
    #[default]
    Approved,
    /// Only its author and moderators see it.
    Rejected,
}

/// How new notes or comments come here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// They wait for a decision.
    Judged,
    /// They are approved.
    News,
    /// They are approved, and from the past: no live list names them.
    Past,
}

/// Which text is judged: every text has its own number, so a decision on an older text has no effect.
pub type SubmissionNumber = i64;

/// A text that waits for a decision: of a new note or comment, or the next one of an approved one.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct QueuedText {
    pub kind: Judged,
    pub id: Id,
    pub submission: SubmissionNumber,
    pub text: String,
    pub images: Vec<String>,
    /// Attempt number, starting at 1.
    pub tries: i32,
}

impl Judged {
    pub const ALL: [Self; 2] = [Self::Note, Self::Comment];

    /// `None` for anything but a note or a comment.
    pub fn of(kind: EntityKind) -> Option<Self> {
        Self::ALL.into_iter().find(|judged| judged.kind() == kind)
    }

    pub const fn kind(self) -> EntityKind {
        match self {
            Self::Note => EntityKind::Note,
            Self::Comment => EntityKind::Comment,
        }
    }

    /// As it is stored.
    pub const fn name(self) -> &'static str {
        self.kind().name()
    }

    pub const fn entity(self, id: Id) -> Entity {
        Entity::new(self.kind(), id)
    }

    /// The table with its state.
    pub(crate) const fn table(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Comment => "comment_index",
        }
    }
}

/// Leases the texts that are due, the oldest first: no other call returns them until the lease ends, or until they
/// change.
pub async fn lease_queued(db: &Db, most: i64, lease: Duration) -> StoreResult<Vec<QueuedText>> {
    let query = sqlx::query_scalar(
        "WITH due AS (SELECT number FROM submission WHERE undecided_why IS NULL AND due_at <= now()
                      ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
         UPDATE submission AS s SET tries = s.tries + 1, due_at = now() + $2 * interval '1 ms'
         FROM due WHERE s.number = due.number RETURNING s.number",
    );
    let query = query.bind(most).bind(lease.as_millis() as i64);
    let leased: Vec<SubmissionNumber> = db.run(query.fetch_all(&db.pool())).await?;
    if leased.is_empty() {
        return Ok(Vec::new());
    }
    // A statement of its own: a text and its number have to be of one moment, and an update goes on with newer rows
    // than those that the statement sees elsewhere. A text that was replaced meanwhile has another number, and is due.
    let query = sqlx::query_as(
        "SELECT s.kind, s.target_id AS id, s.number AS submission, s.tries,
                concat_ws(E'\\n\\n', nullif(coalesce(e.title, n.title), ''),
                          nullif(coalesce(e.body, n.body, b.body), '')) AS text,
                coalesce(e.images, b.images, '{}') AS images
         FROM submission AS s
         LEFT JOIN note AS n ON s.kind = 'note' AND n.id = s.target_id
         LEFT JOIN comment_body AS b ON s.kind = 'comment' AND b.id = s.target_id
         LEFT JOIN edit AS e ON e.kind = s.kind AND e.target_id = s.target_id
         WHERE s.number = ANY($1) ORDER BY s.number",
    );
    db.run(query.bind(leased).fetch_all(&db.pool())).await
}

/// Makes a text due again after `pause`, because no decision could be made.
pub async fn requeue(db: &Db, submission: SubmissionNumber, pause: Duration) -> StoreResult<()> {
    let query = sqlx::query("UPDATE submission SET due_at = now() + $2 * interval '1 ms' WHERE number = $1")
        .bind(submission)
        .bind(pause.as_millis() as i64);
    db.run(query.execute(&db.pool())).await.map(drop)
}

/// Puts texts into the queue under new numbers, in place of older ones. Lock their notes or comments first.
pub(crate) async fn queue_texts(tx: &mut Tx, kind: Judged, ids: &[Id]) -> StoreResult<()> {
    let query = sqlx::query(
        "INSERT INTO submission (kind, target_id) SELECT $1, unnest($2::bigint[])
         ON CONFLICT (kind, target_id) DO UPDATE
         SET number = DEFAULT, tries = 0, due_at = now(), undecided_why = NULL, created_at = now()",
    );
    let query = query.bind(kind.name()).bind(raw(ids));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Drops the next texts of approved notes or comments, and their places in the queue: they went back to what
/// everybody sees. Lock the notes or comments first.
pub(crate) async fn withdraw_edits(tx: &mut Tx, kind: Judged, ids: &[Id]) -> StoreResult<()> {
    let query = sqlx::query(
        "WITH dropped AS (DELETE FROM edit WHERE kind = $1 AND target_id = ANY($2))
         DELETE FROM submission WHERE kind = $1 AND target_id = ANY($2)",
    );
    let query = query.bind(kind.name()).bind(raw(ids));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// The text of a note or comment that waits for a decision; `None` if none does.
pub async fn submission(tx: &mut Tx, kind: Judged, id: Id) -> StoreResult<Option<SubmissionNumber>> {
    Ok(submissions(tx, kind, &[id]).await?.remove(&id))
}

pub(crate) async fn submissions(
    tx: &mut Tx,
    kind: Judged,
    ids: &[Id],
) -> StoreResult<BTreeMap<Id, SubmissionNumber>> {
    let query =
        sqlx::query_as("SELECT target_id, number FROM submission WHERE kind = $1 AND target_id = ANY($2)");
    let query = query.bind(kind.name()).bind(raw(ids));
    let found: Vec<(Id, SubmissionNumber)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(found.into_iter().collect())
}

/// How the last text was decided; `None` if the note or comment never existed or was removed.
pub async fn decision_on(tx: &mut Tx, kind: Judged, id: Id) -> StoreResult<Option<ModerationState>> {
    let text = format!(
        "SELECT CASE WHEN e.kind IS NULL THEN i.state WHEN e.rejected_because IS NULL THEN 'pending' ELSE 'rejected' END
         FROM {table} AS i LEFT JOIN edit AS e ON e.kind = $1 AND e.target_id = i.id
         WHERE i.id = $2 AND i.removed_at IS NULL",
        table = kind.table(),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(kind.name()).bind(id.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

plaudit_catalogue::stored_as! {
    Judged as String => |name: String| {
        Judged::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("unknown kind {name:?}").into())
    };
    ModerationState as String => |name: String| match name.as_str() {
        "pending" => Ok(ModerationState::Pending),
        "approved" => Ok(ModerationState::Approved),
        "rejected" => Ok(ModerationState::Rejected),
        _ => Err(format!("unknown state {name:?}").into()),
    };
}
