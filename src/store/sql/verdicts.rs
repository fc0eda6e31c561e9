//! Judging comments: the queue, and decisions with everything that they count.

use std::time::Duration;

use sqlx::Row;

use super::{
    CommentState, Db, Tx,
    conversation::{CommentPlace, comment_place, lock_comment, set_placeholder},
    counts::lock_all_totals,
    from_catalogue,
    users::id,
};
use crate::{
    catalogue::{Counter, Deltas, Entity, EntityKind},
    primitives::{CommentId, Id, PageRequest, Slice, UserId},
    store::StoreResult,
};

/// A comment that is to be judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueuedComment {
    pub id: CommentId,
    pub body: String,
    pub images: Vec<String>,
    /// This is the how manieth try, from 1.
    pub tries: i32,
}

/// What is decided of a comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Approved,
    Rejected,
    /// It waits for a person.
    Undecided,
}

/// A verdict, by whom and why.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    pub verdict: Verdict,
    pub reason: &'a str,
    pub by: &'a str,
}

/// What a decision moved, to be added to totals by who made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided {
    pub moved: Deltas,
    /// Whose text is not what it was.
    pub touched: Vec<Entity>,
}

/// How much waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
        let query = sqlx::query(
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
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        rows.iter()
            .map(|row| {
                Ok(QueuedComment {
                    id: CommentId(id(row, 0)?),
                    body: row.try_get(1)?,
                    images: row.try_get(2)?,
                    tries: row.try_get(3)?,
                })
            })
            .collect()
    }

    /// The comment could not be judged this time; it is due again after `pause`.
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
        let query = sqlx::query(
            "SELECT comment_id, undecided_why FROM comment_queue
             WHERE undecided_why IS NOT NULL AND comment_id > $1 ORDER BY comment_id LIMIT $2",
        )
        .bind(page.after.map_or(0, Id::get))
        .bind(page.rows());
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        let found = rows.iter().map(|row| Ok((CommentId(id(row, 0)?), row.try_get(1)?)));
        Ok(page.slice(found.collect::<StoreResult<_>>()?))
    }

    pub async fn queue_state(&self) -> StoreResult<QueueState> {
        let query = sqlx::query(
            "SELECT count(*) FILTER (WHERE undecided_why IS NULL), count(*) FILTER (WHERE undecided_why IS NOT NULL),
                    coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE undecided_why IS NULL)), 0)::bigint
             FROM comment_queue",
        );
        let row = self.run(query.fetch_one(&self.pool())).await?;
        let oldest: i64 = row.try_get(2)?;
        Ok(QueueState {
            waiting: row.try_get(0)?,
            undecided: row.try_get(1)?,
            oldest: Duration::from_secs(oldest.max(0) as u64),
        })
    }
}

/// Decides a comment that is still pending, and keeps the decision. What an approval counts is returned, and
/// its inbox entries are written. `None`: it was decided, or removed, before.
pub async fn decide(
    db: &Db,
    tx: &mut Tx,
    comment: CommentId,
    decision: Decision<'_>,
) -> StoreResult<Option<Decided>> {
    let Some(place) = comment_place(db, tx, comment).await? else { return Ok(None) };
    let told = recipients(db, tx, &place).await?;
    lock_totals_of(db, tx, &place, &told).await?;
    let Some(place) = lock_comment(db, tx, comment).await? else { return Ok(None) };
    if place.state != CommentState::Pending || place.is_removed {
        return Ok(None);
    }
    if !keep_decision(db, tx, comment, decision).await? {
        return Ok(None);
    }
    let mut decided = Decided { moved: Deltas::new(), touched: vec![comment.into()] };
    if decision.verdict == Verdict::Approved {
        count_comment(&place, 1, &mut decided.moved);
        if let Some(parent) = place.parent {
            set_placeholder(db, tx, parent, true).await?;
            decided.touched.push(parent.into());
        }
        for recipient in deliver(db, tx, &place, &told).await? {
            let inbox = Entity::new(EntityKind::Inbox, recipient.0);
            decided.moved.entry(inbox).or_default().add(Counter::InboxReplies, 1);
        }
    }
    Ok(Some(decided))
}

/// What a comment counts that is shown (`by` 1), or no longer (-1).
pub fn count_comment(place: &CommentPlace, by: i64, moved: &mut Deltas) {
    moved.entry(place.author.into()).or_default().add(Counter::UserComments, by);
    moved.entry(place.note.into()).or_default().add(Counter::NoteComments, by);
    if let Some(parent) = place.parent {
        moved.entry(parent.into()).or_default().add(Counter::CommentReplies, by);
    }
}

/// Locks, in the order of the catalogue, all totals that showing or removing a comment moves.
pub async fn lock_totals_of(db: &Db, tx: &mut Tx, place: &CommentPlace, told: &[Told]) -> StoreResult<()> {
    let mut moved = Deltas::new();
    count_comment(place, 1, &mut moved);
    let inboxes = told.iter().map(|(recipient, _)| Entity::new(EntityKind::Inbox, recipient.0));
    let entities: Vec<Entity> = moved.into_keys().chain([place.id.into()]).chain(inboxes).collect();
    lock_all_totals(db, tx, &entities).await
}

/// Who is told of a comment, and as what.
pub type Told = (UserId, &'static str);

/// Each once: as the one who is answered, else as the note's author, else as mentioned. Nobody is told of
/// their own deeds.
async fn recipients(db: &Db, tx: &mut Tx, place: &CommentPlace) -> StoreResult<Vec<Told>> {
    let query = sqlx::query(
        "SELECT who, kind FROM (
             SELECT author_id AS who, 'reply' AS kind, 1 AS rank FROM comment_index WHERE id = $1
             UNION ALL SELECT author_id, 'comment', 2 FROM note WHERE id = $2
             UNION ALL SELECT unnest(mentions), 'mention', 3 FROM comment_body WHERE id = $3
         ) AS told WHERE who <> $4 ORDER BY rank",
    )
    .bind(place.reply_to.or(place.parent).map(CommentId::get))
    .bind(place.note.get())
    .bind(place.id.get())
    .bind(place.author.get());
    let mut told = Vec::<Told>::new();
    for row in db.run(query.fetch_all(&mut **tx)).await? {
        let who = UserId(id(&row, 0)?);
        let kind = match row.try_get(1)? {
            "reply" => "reply",
            "comment" => "comment",
            _ => "mention",
        };
        if told.iter().all(|(other, _)| *other != who) {
            told.push((who, kind));
        }
    }
    Ok(told)
}

/// Writes inbox entries; returns to whom one is new.
async fn deliver(db: &Db, tx: &mut Tx, place: &CommentPlace, told: &[Told]) -> StoreResult<Vec<UserId>> {
    let query = sqlx::query(
        "INSERT INTO inbox_entry (recipient_id, kind, actor_id, target_id, created_at)
         SELECT who, kind, $3, $4, now() FROM unnest($1::bigint[], $2::text[]) AS told (who, kind)
         ON CONFLICT DO NOTHING RETURNING recipient_id",
    )
    .bind(told.iter().map(|(who, _)| who.get()).collect::<Vec<_>>())
    .bind(told.iter().map(|(_, kind)| *kind).collect::<Vec<_>>())
    .bind(place.author.get())
    .bind(place.id.get());
    let rows = db.run(query.fetch_all(&mut **tx)).await?;
    rows.iter().map(|row| Ok(UserId(id(row, 0)?))).collect()
}

/// Returns whether there was something to decide: an undecided comment is not found undecided again.
async fn keep_decision(
    db: &Db,
    tx: &mut Tx,
    comment: CommentId,
    decision: Decision<'_>,
) -> StoreResult<bool> {
    let decided = match decision.verdict {
        Verdict::Undecided => {
            "UPDATE comment_queue SET undecided_why = $3 WHERE comment_id = $1 AND undecided_why IS NULL RETURNING 1"
        }
        Verdict::Approved | Verdict::Rejected => {
            "UPDATE comment_index SET state = $2 WHERE id = $1 RETURNING 1"
        }
    };
    let text = format!(
        "WITH decided AS ({decided}),
         unqueued AS (DELETE FROM comment_queue WHERE comment_id = $1 AND $2 <> 'undecided')
         INSERT INTO comment_decision (comment_id, verdict, reason, decided_by) SELECT $1, $2, $3, $4 FROM decided"
    );
    let query = sqlx::query(from_catalogue(text))
        .bind(comment.get())
        .bind(decision.verdict.name())
        .bind(decision.reason)
        .bind(decision.by);
    Ok(db.run(query.execute(&mut **tx)).await?.rows_affected() == 1)
}
