//! Moderation of comments: the queue of those that wait, and decisions with the totals and inbox entries they change.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use sqlx::FromRow;

use super::{
    Db, Tx,
    comments::{CommentHeader, raw},
    threads::CommentState,
};
use crate::{
    catalogue::{Counter, Deltas, Entity, EntityKind},
    primitives::{CommentId, Id, NoteId, PageRequest, Slice, UserId},
    store::StoreResult,
};

/// A comment that waits for a decision.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct QueuedComment {
    pub id: CommentId,
    pub body: String,
    pub images: Vec<String>,
    /// Attempt number, starting at 1.
    pub tries: i32,
}

/// Outcome of a decision on a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Approved,
    Rejected,
    /// It waits for a person.
    Undecided,
}

/// A verdict on a comment, by whom and why.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub comment: CommentId,
    pub verdict: Verdict,
    pub reason: &'a str,
    pub by: &'a str,
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
    /// How long the oldest one that is not undecided has waited.
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
    /// Leases the comments that are due, the oldest first: nobody else gets them before the lease has ended.
    pub async fn lease_queued_comments(&self, most: i64, lease: Duration) -> StoreResult<Vec<QueuedComment>> {
        let query = sqlx::query_as(
            "WITH due AS (SELECT comment_id FROM comment_queue
                          WHERE undecided_why IS NULL AND due_at <= now()
                          ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED),
             leased AS (UPDATE comment_queue AS q SET tries = q.tries + 1, due_at = now() + $2 * interval '1 ms'
                        FROM due WHERE q.comment_id = due.comment_id RETURNING q.comment_id, q.tries)
             SELECT b.id, b.body, b.images, leased.tries FROM leased JOIN comment_body AS b ON b.id = leased.comment_id
             ORDER BY b.id",
        )
        .bind(most)
        .bind(lease.as_millis() as i64);
        self.run(query.fetch_all(&self.pool())).await
    }

    /// For a comment that could not be decided: it is due again after `pause`.
    pub async fn requeue_comment(&self, comment: CommentId, pause: Duration) -> StoreResult<()> {
        let query = sqlx::query(
            "UPDATE comment_queue SET due_at = now() + $2 * interval '1 ms' WHERE comment_id = $1",
        )
        .bind(comment.get())
        .bind(pause.as_millis() as i64);
        self.run(query.execute(&self.pool())).await.map(drop)
    }

    /// Comments that wait for a person, the oldest first: `page.after` is the last one of the page before.
    /// Each with why no moderator could decide.
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
    /// Decides the comments that are still pending, and records the decisions. Writes the inbox entries of approved
    /// comments and returns how totals change. Nothing happens to a comment that was decided or removed before, or
    /// whose note was. Call [`Tx::lock_removals_shared`] before.
    pub async fn decide(&mut self, decisions: &[Decision<'_>]) -> StoreResult<DecisionEffects> {
        let comments: Vec<CommentId> = decisions.iter().map(|decision| decision.comment).collect();
        let places = self.comment_headers(&comments).await?;
        let told = self.recipients(&comments).await?;
        self.lock_totals_of(&places, &told).await?;
        let mut open = self.open_comments(&comments).await?;
        // Removing from `open` takes each comment once, even if it has two decisions.
        let decided: Vec<(CommentHeader, Decision<'_>)> = decisions
            .iter()
            .filter_map(|decision| Some((open.remove(&decision.comment)?, *decision)))
            .collect();
        self.keep_decisions(decided.iter().map(|(_, decision)| decision)).await?;
        let approved: Vec<CommentHeader> = decided
            .iter()
            .filter(|(_, decision)| decision.verdict == Verdict::Approved)
            .map(|(place, _)| *place)
            .collect();
        let parents: Vec<CommentId> = approved.iter().filter_map(|place| place.parent).collect();
        self.set_placeholders(&parents, true).await?;
        let touched = decided.iter().map(|(place, _)| place.id).chain(parents).map(Entity::from).collect();
        let mut decided = DecisionEffects { moved: Deltas::new(), touched };
        for place in &approved {
            count_comment(place, 1, &mut decided.moved);
        }
        for recipient in self.deliver(&approved, &told).await? {
            let inbox = Entity::new(EntityKind::Inbox, recipient.0);
            decided.moved.entry(inbox).or_default().add(Counter::InboxReplies, 1);
        }
        Ok(decided)
    }

    /// Locks comments; returns those that can be decided.
    async fn open_comments(
        &mut self,
        comments: &[CommentId],
    ) -> StoreResult<BTreeMap<CommentId, CommentHeader>> {
        let places = self.lock_comments(comments).await?;
        let notes: Vec<NoteId> = places.iter().map(|place| place.note).collect();
        let notes = self.present_notes(&notes).await?;
        let is_open = |place: &CommentHeader| {
            place.state == CommentState::Pending && !place.is_removed && notes.contains(&place.note)
        };
        Ok(places.into_iter().filter(is_open).map(|place| (place.id, place)).collect())
    }
}

/// Adds what a comment changes in totals when it is shown (`by` 1), or no longer shown (-1).
pub fn count_comment(place: &CommentHeader, by: i64, moved: &mut Deltas) {
    moved.entry(place.author.into()).or_default().add(Counter::UserComments, by);
    moved.entry(place.note.into()).or_default().add(Counter::NoteComments, by);
    if let Some(parent) = place.parent {
        moved.entry(parent.into()).or_default().add(Counter::CommentReplies, by);
    }
}

impl Tx {
    /// Locks, in the order of the catalogue, all totals that showing or removing comments moves.
    pub async fn lock_totals_of(
        &mut self,
        places: &[CommentHeader],
        told: &[CommentNotification],
    ) -> StoreResult<()> {
        let mut moved = Deltas::new();
        for place in places {
            count_comment(place, 1, &mut moved);
        }
        let comments = places.iter().map(|place| place.id.into());
        let inboxes = told.iter().map(|told| Entity::new(EntityKind::Inbox, told.who.0));
        let entities: BTreeSet<Entity> = moved.into_keys().chain(comments).chain(inboxes).collect();
        self.lock_all_totals(&entities.into_iter().collect::<Vec<_>>()).await
    }
}

/// A recipient of a comment's inbox entry.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct CommentNotification {
    comment: CommentId,
    who: UserId,
    /// As in `inbox_entry`.
    kind: String,
}

impl Tx {
    /// Each once: as the one who is answered, else as the note's author, else as mentioned. Nobody is
    /// notified of an own comment.
    async fn recipients(&mut self, comments: &[CommentId]) -> StoreResult<Vec<CommentNotification>> {
        let query = sqlx::query_as(
            "SELECT DISTINCT ON (new.id, told.who) new.id AS comment, told.who, told.kind
             FROM comment_index AS new
             CROSS JOIN LATERAL (
                 SELECT author_id AS who, 'reply' AS kind, 1 AS rank FROM comment_index
                 WHERE id = coalesce(new.reply_to_id, new.parent_id)
                 UNION ALL SELECT author_id, 'comment', 2 FROM note WHERE id = new.note_id
                 UNION ALL SELECT unnest(mentions), 'mention', 3 FROM comment_body WHERE id = new.id
             ) AS told
             WHERE new.id = ANY($1) AND told.who <> new.author_id ORDER BY new.id, told.who, told.rank",
        )
        .bind(raw(comments));
        self.db.run(query.fetch_all(&mut *self.inner)).await
    }

    /// Writes the inbox entries of comments that are shown now; returns for each new one to whom it went.
    async fn deliver(
        &mut self,
        shown: &[CommentHeader],
        told: &[CommentNotification],
    ) -> StoreResult<Vec<UserId>> {
        let authors: BTreeMap<CommentId, UserId> =
            shown.iter().map(|place| (place.id, place.author)).collect();
        let new: Vec<(&CommentNotification, UserId)> =
            told.iter().filter_map(|told| Some((told, *authors.get(&told.comment)?))).collect();
        let query = sqlx::query_scalar(
            "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
             SELECT who, kind, actor, comment, now()
             FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS told (who, kind, actor, comment)
             ON CONFLICT DO NOTHING RETURNING recipient_id",
        )
        .bind(new.iter().map(|(told, _)| told.who.get()).collect::<Vec<_>>())
        .bind(new.iter().map(|(told, _)| told.kind.as_str()).collect::<Vec<_>>())
        .bind(new.iter().map(|(_, actor)| actor.get()).collect::<Vec<_>>())
        .bind(new.iter().map(|(told, _)| told.comment.get()).collect::<Vec<_>>());
        self.db.run(query.fetch_all(&mut *self.inner)).await
    }

    async fn keep_decisions<'a>(
        &mut self,
        decisions: impl Iterator<Item = &'a Decision<'a>>,
    ) -> StoreResult<()> {
        let decisions: Vec<&Decision<'_>> = decisions.collect();
        let query = sqlx::query(
            "WITH decided AS (
                 SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS d (id, verdict, reason, by)
             ), kept AS (
                 INSERT INTO comment_decision (comment_id, verdict, reason, decided_by)
                 SELECT id, verdict, reason, by FROM decided
                 WHERE verdict <> 'undecided'
                    OR EXISTS (SELECT FROM comment_queue AS q WHERE q.comment_id = id AND q.undecided_why IS NULL)
             ), undecided AS (
                 UPDATE comment_queue AS q SET undecided_why = d.reason FROM decided AS d
                 WHERE q.comment_id = d.id AND d.verdict = 'undecided' AND q.undecided_why IS NULL
             ), done AS (
                 DELETE FROM comment_queue AS q USING decided AS d
                 WHERE q.comment_id = d.id AND d.verdict <> 'undecided'
             )
             UPDATE comment_index AS i SET state = d.verdict FROM decided AS d
             WHERE i.id = d.id AND d.verdict <> 'undecided'",
        )
        .bind(decisions.iter().map(|decision| decision.comment.get()).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.verdict.name()).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.reason).collect::<Vec<_>>())
        .bind(decisions.iter().map(|decision| decision.by).collect::<Vec<_>>());
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}
