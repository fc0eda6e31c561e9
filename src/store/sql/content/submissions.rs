//! Texts that are judged before everybody sees them: the queue of those that wait, and the record of decisions.
//!
//! Comments and notes have tables of the same shape: `…_queue`, `…_decision` and `…_edit`.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx, counting::counts::raw, from_catalogue},
};
use plaudit_catalogue::primitives::{Id, PageRequest, Slice};

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
    History,
}

/// Which text is judged: every text has its own number, so a decision on an older text has no effect.
pub type SubmissionNumber = i64;

/// A text that waits for a decision: of a new note or comment, or the next one of an approved one.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct QueuedText {
    pub id: Id,
    pub submission: SubmissionNumber,
    pub text: String,
    pub images: Vec<String>,
    /// Attempt number, starting at 1.
    pub tries: i32,
}

/// What a decision says about a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Approved,
    Rejected,
    /// It waits for a person.
    Undecided,
}

/// A verdict on a text of a note or comment, with its author and reason.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub id: Id,
    /// What was judged.
    pub submission: SubmissionNumber,
    pub verdict: Verdict,
    pub reason: &'a str,
    /// A moderator's name, or the user who decided.
    pub by: &'a str,
}

/// Length and age of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueState {
    pub waiting: i64,
    pub undecided: i64,
    /// Age of the oldest text that waits for a moderator, not for a person.
    pub oldest: Duration,
    /// Which texts wait for a person: another number for other ones, also if they are as many.
    pub undecided_mark: i64,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Undecided => "undecided",
        }
    }
}

impl Judged {
    pub const ALL: [Self; 2] = [Self::Note, Self::Comment];

    /// The beginning of the names of its tables, and of their columns with its id.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Comment => "comment",
        }
    }

    /// The table with its state.
    const fn table(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Comment => "comment_index",
        }
    }

    /// Its texts as they are judged: expressions over its row `i` and its next text `e`, and a join that they need.
    const fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Note => {
                ("coalesce(e.title, i.title) || E'\\n\\n' || coalesce(e.body, i.body)", "'{}'::text[]", "")
            }
            Self::Comment => (
                "coalesce(e.body, b.body)",
                "coalesce(e.images, b.images)",
                "JOIN comment_body AS b ON b.id = i.id",
            ),
        }
    }

    /// Further `SET` clauses for a row `i` that the decision `d` changes. A note whose author is hidden appears once
    /// the author is restored. A note that was backdated when it was written does not enter the feed as news now.
    const fn and_state(self) -> &'static str {
        match self {
            Self::Note => {
                ", shown_xact = CASE WHEN i.shown_xact IS NOT NULL THEN pg_current_xact_id()::text::bigint END,
                   is_hidden = d.verdict = 'approved'
                       AND EXISTS (SELECT FROM app_user AS u WHERE u.id = i.author_id AND u.hidden_at IS NOT NULL)"
            }
            Self::Comment => "",
        }
    }
}

/// Leases the texts that are due, the oldest first: no other call returns them until the lease ends, or until they
/// change.
pub async fn lease_queued(db: &Db, kind: Judged, most: i64, lease: Duration) -> StoreResult<Vec<QueuedText>> {
    let text = format!(
        "WITH due AS (SELECT {kind}_id AS id FROM {kind}_queue
                      WHERE undecided_why IS NULL AND due_at <= now()
                      ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
         UPDATE {kind}_queue AS q SET tries = q.tries + 1, due_at = now() + $2 * interval '1 ms'
         FROM due WHERE q.{kind}_id = due.id RETURNING q.{kind}_id",
        kind = kind.name(),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(most).bind(lease.as_millis() as i64);
    let leased: Vec<i64> = db.run(query.fetch_all(&db.pool())).await?;
    if leased.is_empty() {
        return Ok(Vec::new());
    }
    // A statement of its own: a text and its number have to be of one moment, and an update goes on with newer rows
    // than those that the statement sees elsewhere.
    let (words, images, join) = kind.texts();
    let text = format!(
        "SELECT i.id, q.submission, q.tries, {words} AS text, {images} AS images
         FROM {kind}_queue AS q JOIN {table} AS i ON i.id = q.{kind}_id {join}
         LEFT JOIN {kind}_edit AS e ON e.{kind}_id = q.{kind}_id
         WHERE q.{kind}_id = ANY($1) ORDER BY q.{kind}_id",
        kind = kind.name(),
        table = kind.table(),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(leased);
    db.run(query.fetch_all(&db.pool())).await
}

/// Makes a text due again after `pause`, because no decision could be made.
pub async fn requeue(
    db: &Db,
    kind: Judged,
    id: Id,
    submission: SubmissionNumber,
    pause: Duration,
) -> StoreResult<()> {
    let text = format!(
        "UPDATE {kind}_queue SET due_at = now() + $3 * interval '1 ms'
         WHERE {kind}_id = $1 AND submission = $2",
        kind = kind.name(),
    );
    let query = sqlx::query(from_catalogue(text)).bind(id.get()).bind(submission);
    db.run(query.bind(pause.as_millis() as i64).execute(&db.pool())).await.map(drop)
}

/// What waits for a person, the oldest first, each with the reason why no moderator could decide. `page.after` is
/// the last one of the page before.
pub async fn undecided(db: &Db, kind: Judged, page: &PageRequest<Id>) -> StoreResult<Slice<(Id, String)>> {
    let text = format!(
        "SELECT {kind}_id, undecided_why FROM {kind}_queue
         WHERE undecided_why IS NOT NULL AND {kind}_id > $1 ORDER BY {kind}_id LIMIT $2",
        kind = kind.name(),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(page.after.map_or(0, Id::get)).bind(page.rows());
    Ok(page.slice(db.run(query.fetch_all(&db.pool())).await?))
}

/// Of notes and comments together.
pub async fn queue_state(db: &Db) -> StoreResult<QueueState> {
    let query = sqlx::query_as(
        "SELECT count(*) FILTER (WHERE undecided_why IS NULL), count(*) FILTER (WHERE undecided_why IS NOT NULL),
                coalesce(extract(epoch FROM now() - min(created_at)
                  FILTER (WHERE undecided_why IS NULL)), 0)::bigint,
                coalesce(sum(mark) FILTER (WHERE undecided_why IS NOT NULL), 0)::bigint
         FROM (SELECT undecided_why, created_at, submission AS mark FROM comment_queue
               UNION ALL SELECT undecided_why, created_at, -submission FROM note_queue) AS queue",
    );
    let (waiting, undecided, oldest, undecided_mark): (i64, i64, i64, i64) =
        db.run(query.fetch_one(&db.pool())).await?;
    let oldest = Duration::from_secs(oldest.max(0) as u64);
    Ok(QueueState { waiting, undecided, oldest, undecided_mark })
}

/// Deletes at most `most` decisions that are older than `retention`, without those whose reason is still
/// shown. Returns their number.
pub async fn delete_old_decisions(db: &Db, kind: Judged, retention: Duration, most: i64) -> StoreResult<u64> {
    let text = format!(
        "DELETE FROM {kind}_decision WHERE id = ANY(ARRAY(
             SELECT id FROM {kind}_decision WHERE NOT is_shown AND decided_at < now() - $1 * interval '1 ms'
             ORDER BY decided_at LIMIT $2))",
        kind = kind.name(),
    );
    let query = sqlx::query(from_catalogue(text)).bind(retention.as_millis() as i64).bind(most);
    Ok(db.run(query.execute(&db.pool())).await?.rows_affected())
}

/// Puts texts into the queue under new numbers, in place of older ones. Lock their notes or comments first.
pub(crate) async fn queue_texts(tx: &mut Tx, kind: Judged, ids: &[Id]) -> StoreResult<()> {
    let text = format!(
        "INSERT INTO {kind}_queue ({kind}_id) SELECT unnest($1::bigint[])
         ON CONFLICT ({kind}_id) DO UPDATE
         SET submission = DEFAULT, tries = 0, due_at = now(), undecided_why = NULL, created_at = now()",
        kind = kind.name(),
    );
    let query = sqlx::query(from_catalogue(text)).bind(raw(ids));
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Drops the next texts of approved notes or comments, and their places in the queue: they went back to what
/// everybody sees. Lock the notes or comments first.
pub async fn withdraw_edits(tx: &mut Tx, kind: Judged, ids: &[Id]) -> StoreResult<()> {
    let text = format!(
        "WITH edit AS (DELETE FROM {kind}_edit WHERE {kind}_id = ANY($1))
         DELETE FROM {kind}_queue WHERE {kind}_id = ANY($1)",
        kind = kind.name(),
    );
    let query = sqlx::query(from_catalogue(text)).bind(raw(ids));
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
    let text = format!(
        "SELECT {kind}_id, submission FROM {kind}_queue WHERE {kind}_id = ANY($1)",
        kind = kind.name(),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(raw(ids));
    let found: Vec<(Id, SubmissionNumber)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(found.into_iter().collect())
}

/// How the last text was decided; `None` if the note or comment never existed or was removed.
pub async fn decision_on(tx: &mut Tx, kind: Judged, id: Id) -> StoreResult<Option<ModerationState>> {
    let text = format!(
        "SELECT CASE WHEN e.{kind}_id IS NULL THEN i.state
                     WHEN e.rejected_because IS NULL THEN 'pending' ELSE 'rejected' END
         FROM {table} AS i LEFT JOIN {kind}_edit AS e ON e.{kind}_id = i.id
         WHERE i.id = $1 AND i.removed_at IS NULL",
        kind = kind.name(),
        table = kind.table(),
    );
    let query = sqlx::query_scalar(from_catalogue(text)).bind(id.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Records decisions on texts that wait, takes them out of the queue, and sets the states of what was not approved
/// yet. Lock the notes or comments first.
pub(crate) async fn record_decisions(
    tx: &mut Tx,
    kind: Judged,
    decisions: &[&Decision<'_>],
) -> StoreResult<()> {
    let text = format!(
        "WITH decided AS (
             SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS d (id, verdict, reason, by)
         ), recorded AS (
             INSERT INTO {kind}_decision ({kind}_id, verdict, reason, decided_by, is_shown)
             SELECT id, verdict, reason, by, verdict = 'rejected' FROM decided
             WHERE verdict <> 'undecided'
                OR EXISTS (SELECT FROM {kind}_queue AS q WHERE q.{kind}_id = id AND q.undecided_why IS NULL)
         ), superseded AS (
             UPDATE {kind}_decision AS former SET is_shown = false FROM decided AS d
             WHERE former.{kind}_id = d.id AND d.verdict <> 'undecided' AND former.is_shown
         ), undecided AS (
             UPDATE {kind}_queue AS q SET undecided_why = d.reason FROM decided AS d
             WHERE q.{kind}_id = d.id AND d.verdict = 'undecided' AND q.undecided_why IS NULL
         ), done AS (
             DELETE FROM {kind}_queue AS q USING decided AS d
             WHERE q.{kind}_id = d.id AND d.verdict <> 'undecided'
         )
         UPDATE {table} AS i SET state = d.verdict {and} FROM decided AS d
         WHERE i.id = d.id AND d.verdict <> 'undecided' AND i.state = 'pending'",
        kind = kind.name(),
        table = kind.table(),
        and = kind.and_state(),
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(decisions.iter().map(|decision| decision.id.get()).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.verdict.name()).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.reason).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.by).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

plaudit_catalogue::stored_as! {
    ModerationState as String => |name: String| match name.as_str() {
        "pending" => Ok(ModerationState::Pending),
        "approved" => Ok(ModerationState::Approved),
        "rejected" => Ok(ModerationState::Rejected),
        _ => Err(format!("unknown state {name:?}").into()),
    };
}
