//! Moderation of comments and of their edits: the queue of those that wait, and decisions with the totals that they
//! change.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use sqlx::FromRow;

use super::{
    Db, Tx,
    comments::{CommentHeader, raw},
    notifications::CommentNotification,
    threads::CommentState,
};
use crate::{
    catalogue::{Counter, Deltas, Entity, EntityKind},
    primitives::{CommentId, Id, NoteId, PageRequest, Slice},
    store::StoreResult,
};

/// Which text of a comment is judged: every text has its own number, so a decision on an older text has no effect.
pub type SubmissionNumber = i64;

/// A text that waits for a decision: of a new comment, or the next one of an approved comment.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct QueuedComment {
    #[sqlx(rename = "comment_id")]
    pub id: CommentId,
    pub submission: SubmissionNumber,
    pub body: String,
    pub images: Vec<String>,
    /// Attempt number, starting at 1.
    pub tries: i32,
}

/// What a decision says about a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Approved,
    Rejected,
    /// It waits for a person.
    Undecided,
}

/// A verdict on a comment, with its author and reason.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub comment: CommentId,
    /// What was judged.
    pub submission: SubmissionNumber,
    pub verdict: Verdict,
    pub reason: &'a str,
    /// A moderator's name, or the user who decided.
    pub by: &'a str,
}

/// A decision on a text that waited for it.
#[derive(Clone, Copy, Debug)]
struct DecidedComment<'a> {
    header: CommentHeader,
    decision: Decision<'a>,
}

impl DecidedComment<'_> {
    /// It is the next text of a comment that everybody sees already.
    fn is_edit(&self) -> bool {
        self.header.state == CommentState::Approved
    }
}

/// What decisions change beyond the comments themselves; the caller adds it to the totals.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DecisionEffects {
    pub moved: Deltas,
    /// Entities whose text changed: the decided comments and their parents.
    pub touched: Vec<Entity>,
}

/// Length and age of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct QueueState {
    pub waiting: i64,
    pub undecided: i64,
    /// Age of the oldest comment that waits for a moderator, not for a person.
    pub oldest: Duration,
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

impl Db {
    /// Leases the comments that are due, the oldest first: no other call returns them until the lease ends, or until
    /// their text changes.
    pub async fn lease_queued_comments(&self, most: i64, lease: Duration) -> StoreResult<Vec<QueuedComment>> {
        let query = sqlx::query_scalar(
            "WITH due AS (SELECT comment_id FROM comment_queue
                          WHERE undecided_why IS NULL AND due_at <= now()
                          ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
             UPDATE comment_queue AS q SET tries = q.tries + 1, due_at = now() + $2 * interval '1 ms'
             FROM due WHERE q.comment_id = due.comment_id RETURNING q.comment_id",
        )
        .bind(most)
        .bind(lease.as_millis() as i64);
        let leased: Vec<i64> = self.run(query.fetch_all(&self.pool())).await?;
        if leased.is_empty() {
            return Ok(Vec::new());
        }
        // A statement of its own: a text and its number have to be of one moment, and an update goes on with newer rows
        // than those that the statement sees elsewhere.
        let query = sqlx::query_as(
            "SELECT q.comment_id, q.submission, q.tries, coalesce(e.body, b.body) AS body,
                    coalesce(e.images, b.images) AS images
             FROM comment_queue AS q JOIN comment_body AS b ON b.id = q.comment_id
             LEFT JOIN comment_edit AS e ON e.comment_id = q.comment_id
             WHERE q.comment_id = ANY($1) ORDER BY q.comment_id",
        )
        .bind(leased);
        self.run(query.fetch_all(&self.pool())).await
    }

    /// Makes a text due again after `pause`, because no decision could be made.
    pub async fn requeue_comment(
        &self,
        comment: CommentId,
        submission: SubmissionNumber,
        pause: Duration,
    ) -> StoreResult<()> {
        let query = sqlx::query(
            "UPDATE comment_queue SET due_at = now() + $3 * interval '1 ms'
             WHERE comment_id = $1 AND submission = $2",
        )
        .bind(comment.get())
        .bind(submission)
        .bind(pause.as_millis() as i64);
        self.run(query.execute(&self.pool())).await.map(drop)
    }

    /// Comments that wait for a person, the oldest first, each with the reason why no moderator could decide.
    /// `page.after` is the last comment of the page before.
    pub async fn undecided_comments(
        &self,
        page: &PageRequest<Id>,
    ) -> StoreResult<Slice<(CommentId, String)>> {
        let query = sqlx::query_as(
            "SELECT comment_id, undecided_why FROM comment_queue
             WHERE undecided_why IS NOT NULL AND comment_id > $1 ORDER BY comment_id LIMIT $2",
        )
        .bind(page.after.map_or(0, Id::get))
        .bind(page.rows());
        Ok(page.slice(self.run(query.fetch_all(&self.pool())).await?))
    }

    pub async fn queue_state(&self) -> StoreResult<QueueState> {
        let query = sqlx::query_as(
            "SELECT count(*) FILTER (WHERE undecided_why IS NULL), count(*) FILTER (WHERE undecided_why IS NOT NULL),
                    coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE undecided_why IS NULL)), 0)::bigint
             FROM comment_queue",
        );
        let (waiting, undecided, oldest): (i64, i64, i64) = self.run(query.fetch_one(&self.pool())).await?;
        Ok(QueueState { waiting, undecided, oldest: Duration::from_secs(oldest.max(0) as u64) })
    }
}

impl Tx {
    /// Decides the texts that still wait, and records the decisions. Writes the inbox entries of what is approved and
    /// returns how totals change. Skips texts that were decided, replaced or removed before, and comments whose note was
    /// removed. Call [`Tx::lock_removals_shared`] first.
    pub async fn decide(&mut self, decisions: &[Decision<'_>]) -> StoreResult<DecisionEffects> {
        let comments: Vec<CommentId> = decisions.iter().map(|decision| decision.comment).collect();
        let headers = self.comment_headers(&comments).await?;
        let notifications = self.notifications(&comments).await?;
        self.lock_totals_of(&headers, &notifications).await?;
        let decided = self.lock_waiting(decisions).await?;
        self.record_decisions(&decided).await?;
        self.settle_decided_edits(&decided).await?;
        // What a hidden user wrote counts and tells nobody until the user is restored.
        let told =
            decided.iter().filter(|of| of.decision.verdict == Verdict::Approved && !of.header.is_hidden);
        let approved: Vec<CommentHeader> =
            told.clone().filter(|of| !of.is_edit()).map(|of| of.header).collect();
        let told: Vec<CommentHeader> = told.map(|of| of.header).collect();
        let parents: Vec<CommentId> = approved.iter().filter_map(|header| header.parent).collect();
        self.set_placeholders(&parents, true).await?;
        let comments = decided.iter().map(|of| of.header.id).chain(parents).map(Entity::from);
        // The note's position of comments rises with an edit, too.
        let edited = decided.iter().filter(|of| of.is_edit()).map(|of| of.header.note.into());
        let touched = comments.chain(edited).collect();
        let mut effects = DecisionEffects { moved: Deltas::new(), touched };
        for header in &approved {
            count_comment(header, 1, &mut effects.moved);
        }
        for recipient in self.deliver(&told, &notifications).await? {
            let inbox = Entity::new(EntityKind::Inbox, recipient.0);
            effects.moved.entry(inbox).or_default().add(Counter::InboxReplies, 1);
        }
        Ok(effects)
    }

    async fn settle_decided_edits(&mut self, decided: &[DecidedComment<'_>]) -> StoreResult<()> {
        let edits = || decided.iter().filter(|of| of.is_edit()).map(|of| (of.header.id, &of.decision));
        let approved = edits().filter(|(_, decision)| decision.verdict == Verdict::Approved);
        let rejected = edits().filter(|(_, decision)| decision.verdict == Verdict::Rejected);
        let approved: Vec<CommentId> = approved.map(|(comment, _)| comment).collect();
        let rejected: Vec<(CommentId, &str)> =
            rejected.map(|(comment, decision)| (comment, decision.reason)).collect();
        self.settle_edits(&approved, &rejected).await
    }

    /// Locks comments and returns the decisions on texts that wait for one: the first on each.
    async fn lock_waiting<'a>(&mut self, decisions: &[Decision<'a>]) -> StoreResult<Vec<DecidedComment<'a>>> {
        let comments: Vec<CommentId> = decisions.iter().map(|decision| decision.comment).collect();
        let headers = self.lock_comments(&comments).await?;
        let notes: Vec<NoteId> = headers.iter().map(|header| header.note).collect();
        let notes = self.present_notes(&notes).await?;
        let waiting = self.submissions(&comments).await?;
        let is_there = |header: &CommentHeader| !header.is_removed && notes.contains(&header.note);
        let mut open: BTreeMap<CommentId, CommentHeader> =
            headers.into_iter().filter(is_there).map(|header| (header.id, header)).collect();
        let decided = decisions.iter().filter_map(|decision| {
            let is_waiting = waiting.get(&decision.comment) == Some(&decision.submission);
            let header = is_waiting.then(|| open.remove(&decision.comment))??;
            Some(DecidedComment { header, decision: *decision })
        });
        Ok(decided.collect())
    }

    /// The text of a comment that waits for a decision; `None` if none does.
    pub async fn submission(&mut self, comment: CommentId) -> StoreResult<Option<SubmissionNumber>> {
        Ok(self.submissions(&[comment]).await?.remove(&comment))
    }

    async fn submissions(
        &mut self,
        comments: &[CommentId],
    ) -> StoreResult<BTreeMap<CommentId, SubmissionNumber>> {
        let query =
            sqlx::query_as("SELECT comment_id, submission FROM comment_queue WHERE comment_id = ANY($1)")
                .bind(raw(comments));
        let found: Vec<(CommentId, SubmissionNumber)> =
            self.db.run(query.fetch_all(&mut *self.inner)).await?;
        Ok(found.into_iter().collect())
    }

    /// How the last text of a comment was decided; `None` if the comment never existed or was removed.
    pub async fn decision_on(&mut self, comment: CommentId) -> StoreResult<Option<CommentState>> {
        let query = sqlx::query_scalar(
            "SELECT CASE WHEN e.comment_id IS NULL THEN i.state
                         WHEN e.rejected_because IS NULL THEN 'pending' ELSE 'rejected' END
             FROM comment_index AS i LEFT JOIN comment_edit AS e ON e.comment_id = i.id
             WHERE i.id = $1 AND i.removed_at IS NULL",
        )
        .bind(comment.get());
        self.db.run(query.fetch_optional(&mut *self.inner)).await
    }
}

/// Adds the change of totals when a comment becomes visible (`by` 1) or stops being visible (-1).
pub fn count_comment(header: &CommentHeader, by: i64, moved: &mut Deltas) {
    if !header.note_is_hidden {
        moved.entry(header.author.into()).or_default().add(Counter::UserComments, by);
    }
    moved.entry(header.note.into()).or_default().add(Counter::NoteComments, by);
    if let Some(parent) = header.parent {
        moved.entry(parent.into()).or_default().add(Counter::CommentReplies, by);
    }
}

impl Tx {
    /// Locks all totals that showing or removing these comments changes, in the order of the catalogue.
    pub async fn lock_totals_of(
        &mut self,
        headers: &[CommentHeader],
        notifications: &[CommentNotification],
    ) -> StoreResult<()> {
        let mut moved = Deltas::new();
        for header in headers {
            count_comment(header, 1, &mut moved);
        }
        let comments = headers.iter().map(|header| header.id.into());
        let inbox =
            |notification: &CommentNotification| Entity::new(EntityKind::Inbox, notification.recipient.0);
        let inboxes = notifications.iter().map(inbox);
        let entities: BTreeSet<Entity> = moved.into_keys().chain(comments).chain(inboxes).collect();
        self.lock_all_totals(&entities.into_iter().collect::<Vec<_>>()).await
    }
}

impl Db {
    /// Deletes at most `most` decisions that are older than `retention`, without those whose reason is still shown. Returns
    /// their number.
    pub async fn delete_old_decisions(&self, retention: Duration, most: i64) -> StoreResult<u64> {
        let query = sqlx::query(
            "DELETE FROM comment_decision WHERE id = ANY(ARRAY(
                 SELECT id FROM comment_decision WHERE NOT is_shown AND decided_at < now() - $1 * interval '1 ms'
                 ORDER BY decided_at LIMIT $2))",
        )
        .bind(retention.as_millis() as i64)
        .bind(most);
        Ok(self.run(query.execute(&self.pool())).await?.rows_affected())
    }
}

impl Tx {
    async fn record_decisions(&mut self, decided: &[DecidedComment<'_>]) -> StoreResult<()> {
        let decisions: Vec<&Decision<'_>> = decided.iter().map(|of| &of.decision).collect();
        let query = sqlx::query(
            "WITH decided AS (
                 SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS d (id, verdict, reason, by)
             ), recorded AS (
                 INSERT INTO comment_decision (comment_id, verdict, reason, decided_by, is_shown)
                 SELECT id, verdict, reason, by, verdict = 'rejected' FROM decided
                 WHERE verdict <> 'undecided'
                    OR EXISTS (SELECT FROM comment_queue AS q WHERE q.comment_id = id AND q.undecided_why IS NULL)
             ), superseded AS (
                 UPDATE comment_decision AS former SET is_shown = false FROM decided AS d
                 WHERE former.comment_id = d.id AND d.verdict <> 'undecided' AND former.is_shown
             ), undecided AS (
                 UPDATE comment_queue AS q SET undecided_why = d.reason FROM decided AS d
                 WHERE q.comment_id = d.id AND d.verdict = 'undecided' AND q.undecided_why IS NULL
             ), done AS (
                 DELETE FROM comment_queue AS q USING decided AS d
                 WHERE q.comment_id = d.id AND d.verdict <> 'undecided'
             )
             UPDATE comment_index AS i SET state = d.verdict FROM decided AS d
             WHERE i.id = d.id AND d.verdict <> 'undecided' AND i.state = 'pending'",
        )
        .bind(decisions.iter().map(|decision| decision.comment.get()).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.verdict.name()).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.reason).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.by).collect::<Vec<_>>());
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}
