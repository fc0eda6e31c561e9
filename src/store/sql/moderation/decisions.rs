//! Decisions on texts of notes and comments, and on edits of both, with the totals that they change.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    StoreResult,
    sql::{
        Db, Tx,
        content::{
            comments::{self, CommentHeader},
            notes,
            submissions::{self, Judged, ModerationState, SubmissionNumber},
            texts,
        },
        counting::{
            counts,
            rows::{self, RowKeys},
        },
        from_catalogue,
        inbox::notifications,
        stream::events::{self, NewEvent},
    },
};
use plaudit_catalogue::{
    COMMENTS, Counter, Deltas, Entity, EntityKind, EventKind, NOTES,
    primitives::{CommentId, Id, NoteId},
};

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

/// A decision on a text that waited for it.
#[derive(Clone, Copy, Debug)]
struct Decided<'a> {
    decision: Decision<'a>,
    /// It is the next text of something that everybody sees already.
    is_edit: bool,
}

/// What decisions change beyond the notes and comments themselves; the caller adds it to the totals.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DecisionEffects {
    pub moved: Deltas,
    /// Entities whose text changed: what was decided, and the parents of comments.
    pub touched: Vec<Entity>,
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

/// Decides the texts that still wait, and records the decisions. Writes the inbox entries of what is approved and
/// returns how totals change. Skips texts that were decided, replaced or removed before, and comments whose note was
/// removed. Call `shards::lock_removals_shared` first: no author is being hidden meanwhile.
pub async fn decide(tx: &mut Tx, kind: Judged, decisions: &[Decision<'_>]) -> StoreResult<DecisionEffects> {
    let ids: Vec<Id> = decisions.iter().map(|decision| decision.id).collect();
    match kind {
        Judged::Note => decide_notes(tx, &ids, decisions).await,
        Judged::Comment => decide_comments(tx, &ids, decisions).await,
    }
}

async fn decide_notes(tx: &mut Tx, ids: &[Id], decisions: &[Decision<'_>]) -> StoreResult<DecisionEffects> {
    let notes: Vec<NoteId> = ids.iter().copied().map(NoteId).collect();
    let states = notes::lock_notes(tx, &notes).await?;
    let open = states.iter().filter(|note| !note.is_removed).map(|note| (note.id.0, note.state)).collect();
    let decided = settle(tx, Judged::Note, decisions, open).await?;
    // They counted for nobody before.
    let appeared = approved(&decided).filter(|of| !of.is_edit).map(|of| of.decision.id).collect();
    let appeared = RowKeys::of_things(NOTES, appeared);
    rows::lock(tx, &appeared).await?;
    let moved = rows::counted(tx, &appeared).await?;
    let touched = decided.iter().map(|of| NoteId(of.decision.id).into()).collect();
    Ok(DecisionEffects { moved, touched })
}

async fn decide_comments(
    tx: &mut Tx,
    ids: &[Id],
    decisions: &[Decision<'_>],
) -> StoreResult<DecisionEffects> {
    let comments: Vec<CommentId> = ids.iter().copied().map(CommentId).collect();
    let notifications = notifications::notifications(tx, &comments).await?;
    rows::lock(tx, &RowKeys::of_things(COMMENTS, ids.to_vec())).await?;
    let inboxes: BTreeSet<Id> = notifications.iter().map(|told| told.recipient.0).collect();
    counts::lock_totals(tx, EntityKind::Inbox, &inboxes.into_iter().collect::<Vec<_>>()).await?;
    let headers = comments::lock_comments(tx, &comments).await?;
    let notes: Vec<NoteId> = headers.iter().map(|header| header.note).collect();
    let notes = notes::present_notes(tx, &notes).await?;
    let is_open = |header: &&CommentHeader| !header.is_removed && notes.contains(&header.note);
    let open = headers.iter().filter(is_open).map(|header| (header.id.0, header.state)).collect();
    let decided = settle(tx, Judged::Comment, decisions, open).await?;
    let headers: BTreeMap<Id, CommentHeader> =
        headers.into_iter().map(|header| (header.id.0, header)).collect();
    let with_header = |of: &Decided<'_>| Some((headers.get(&of.decision.id).copied()?, of.is_edit));
    // What a hidden user wrote does not count and notifies nobody until the user is restored.
    let told = approved(&decided).filter_map(with_header).filter(|(header, _)| !header.is_hidden);
    let appeared: Vec<CommentHeader> =
        told.clone().filter(|(_, is_edit)| !is_edit).map(|(of, _)| of).collect();
    let told: Vec<CommentHeader> = told.map(|(header, _)| header).collect();
    let parents: Vec<CommentId> = appeared.iter().filter_map(|header| header.parent).collect();
    comments::set_placeholders(tx, &parents, true).await?;
    // The note's position of comments rises with an edit, too.
    let edited = decided.iter().filter_map(with_header).filter(|(_, is_edit)| *is_edit);
    let touched = decided.iter().map(|of| CommentId(of.decision.id)).chain(parents).map(Entity::from);
    let touched = touched.chain(edited.map(|(header, _)| header.note.into())).collect();
    let shown = RowKeys::of_things(COMMENTS, appeared.iter().map(|header| header.id.0).collect());
    let mut effects = DecisionEffects { moved: rows::counted(tx, &shown).await?, touched };
    for header in &appeared {
        events::record(tx, NewEvent::now(EventKind::CommentApproval, Some(header.author), header.id.0));
    }
    for recipient in notifications::deliver(tx, &told, &notifications).await? {
        let inbox = Entity::new(EntityKind::Inbox, recipient.0);
        effects.moved.entry(inbox).or_default().add(Counter::InboxReplies, 1);
    }
    Ok(effects)
}

fn approved<'d, 'a>(decided: &'d [Decided<'a>]) -> impl Iterator<Item = &'d Decided<'a>> + Clone {
    decided.iter().filter(|of| of.decision.verdict == Verdict::Approved)
}

/// Records the first decision on each text that waits, and shows or keeps the edits among them. `open`: what is locked
/// and not removed, with its state.
async fn settle<'a>(
    tx: &mut Tx,
    kind: Judged,
    decisions: &[Decision<'a>],
    mut open: BTreeMap<Id, ModerationState>,
) -> StoreResult<Vec<Decided<'a>>> {
    let ids: Vec<Id> = open.keys().copied().collect();
    let waiting = submissions::submissions(tx, kind, &ids).await?;
    let decided = decisions.iter().filter_map(|decision| {
        let is_waiting = waiting.get(&decision.id) == Some(&decision.submission);
        let state = is_waiting.then(|| open.remove(&decision.id))??;
        Some(Decided { decision: *decision, is_edit: state == ModerationState::Approved })
    });
    let decided: Vec<Decided<'a>> = decided.collect();
    record_decisions(tx, kind, &decided).await?;
    let edits = || decided.iter().filter(|of| of.is_edit).map(|of| of.decision);
    let shown: Vec<Id> = approved(&decided).filter(|of| of.is_edit).map(|of| of.decision.id).collect();
    let rejected = edits().filter(|decision| decision.verdict == Verdict::Rejected);
    let rejected: Vec<(Id, &str)> = rejected.map(|decision| (decision.id, decision.reason)).collect();
    texts::settle_edits(tx, kind, &shown, &rejected).await?;
    Ok(decided)
}

/// Takes the texts out of the queue, and sets the states of what was not approved yet.
async fn record_decisions(tx: &mut Tx, kind: Judged, decided: &[Decided<'_>]) -> StoreResult<()> {
    let text = format!(
        "WITH decided AS (
             SELECT * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) AS d (id, verdict, reason, by)
         ), recorded AS (
             INSERT INTO decision (kind, target_id, verdict, reason, decided_by, is_shown)
             SELECT $1, id, verdict, reason, by, verdict = 'rejected' FROM decided
             WHERE verdict <> 'undecided'
                OR EXISTS (SELECT FROM submission AS s
                           WHERE s.kind = $1 AND s.target_id = id AND s.undecided_why IS NULL)
         ), superseded AS (
             UPDATE decision AS former SET is_shown = false FROM decided AS d
             WHERE former.kind = $1 AND former.target_id = d.id AND d.verdict <> 'undecided' AND former.is_shown
         ), undecided AS (
             UPDATE submission AS s SET undecided_why = d.reason FROM decided AS d
             WHERE s.kind = $1 AND s.target_id = d.id AND d.verdict = 'undecided' AND s.undecided_why IS NULL
         ), done AS (
             DELETE FROM submission AS s USING decided AS d
             WHERE s.kind = $1 AND s.target_id = d.id AND d.verdict <> 'undecided'
         )
         UPDATE {table} AS i SET state = d.verdict {and} FROM decided AS d
         WHERE i.id = d.id AND d.verdict <> 'undecided' AND i.state = 'pending'",
        table = kind.table(),
        and = kind.and_state(),
    );
    let decisions = || decided.iter().map(|of| of.decision);
    let query = sqlx::query(from_catalogue(text))
        .bind(kind.name())
        .bind(decisions().map(|decision| decision.id.get()).collect::<Vec<_>>())
        .bind(decisions().map(|decision| decision.verdict.name()).collect::<Vec<_>>())
        .bind(decisions().map(|decision| decision.reason).collect::<Vec<_>>())
        .bind(decisions().map(|decision| decision.by).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Deletes at most `most` decisions that are older than `retention`, without those whose reason is still
/// shown. Returns their number.
pub async fn delete_old_decisions(db: &Db, retention: Duration, most: i64) -> StoreResult<u64> {
    let query = sqlx::query(
        "DELETE FROM decision WHERE id = ANY(ARRAY(
             SELECT id FROM decision WHERE NOT is_shown AND decided_at < now() - $1 * interval '1 ms'
             ORDER BY decided_at LIMIT $2))",
    );
    let query = query.bind(retention.as_millis() as i64).bind(most);
    Ok(db.run(query.execute(&db.pool())).await?.rows_affected())
}
