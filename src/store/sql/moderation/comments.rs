//! Decisions on comments and on their edits, with the totals that they change.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    StoreResult,
    sql::{
        Tx,
        content::{
            comment_edits,
            comments::{self, CommentHeader},
            notes,
            submissions::{self, Decision, Judged, ModerationState, Verdict},
        },
        counting::{
            counts,
            rows::{self, RowKeys},
        },
        inbox::notifications,
        stream::events::{self, NewEvent},
    },
};
use plaudit_catalogue::{
    COMMENTS, Counter, Deltas, Entity, EntityKind, EventKind,
    primitives::{CommentId, Id, NoteId},
};

/// A decision on a text that waited for it.
#[derive(Clone, Copy, Debug)]
struct DecidedComment<'a> {
    header: CommentHeader,
    decision: Decision<'a>,
}

impl DecidedComment<'_> {
    /// It is the next text of a comment that everybody sees already.
    fn is_edit(&self) -> bool {
        self.header.state == ModerationState::Approved
    }
}

/// What decisions change beyond the comments themselves; the caller adds it to the totals.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DecisionEffects {
    pub moved: Deltas,
    /// Entities whose text changed: the decided comments and their parents.
    pub touched: Vec<Entity>,
}

/// Decides the texts of comments that still wait, and records the decisions. Writes the inbox entries of
/// what is approved and returns how totals change. Skips texts that were decided, replaced or removed
/// before, and comments whose note was removed. Call `shards::lock_removals_shared` first.
pub(crate) async fn decide_comments(tx: &mut Tx, decisions: &[Decision<'_>]) -> StoreResult<DecisionEffects> {
    let comments: Vec<CommentId> = decisions.iter().map(|decision| CommentId(decision.id)).collect();
    let notifications = notifications::notifications(tx, &comments).await?;
    rows::lock(tx, &RowKeys::of_things(COMMENTS, comments.iter().map(|comment| comment.0).collect())).await?;
    let inboxes: BTreeSet<Id> = notifications.iter().map(|told| told.recipient.0).collect();
    counts::lock_totals(tx, EntityKind::Inbox, &inboxes.into_iter().collect::<Vec<_>>()).await?;
    let decided = lock_waiting(tx, decisions).await?;
    let recorded: Vec<&Decision<'_>> = decided.iter().map(|of| &of.decision).collect();
    submissions::record_decisions(tx, Judged::Comment, &recorded).await?;
    settle_decided_edits(tx, &decided).await?;
    // What a hidden user wrote counts and tells nobody until the user is restored.
    let told = decided.iter().filter(|of| of.decision.verdict == Verdict::Approved && !of.header.is_hidden);
    let approved: Vec<CommentHeader> = told.clone().filter(|of| !of.is_edit()).map(|of| of.header).collect();
    let told: Vec<CommentHeader> = told.map(|of| of.header).collect();
    let parents: Vec<CommentId> = approved.iter().filter_map(|header| header.parent).collect();
    comments::set_placeholders(tx, &parents, true).await?;
    let comments = decided.iter().map(|of| of.header.id).chain(parents).map(Entity::from);
    // The note's position of comments rises with an edit, too.
    let edited = decided.iter().filter(|of| of.is_edit()).map(|of| of.header.note.into());
    let touched = comments.chain(edited).collect();
    let shown = RowKeys::of_things(COMMENTS, approved.iter().map(|header| header.id.0).collect());
    let mut effects = DecisionEffects { moved: rows::counted(tx, &shown).await?, touched };
    for header in &approved {
        let approval = EventKind::CommentApproval;
        events::record(tx, NewEvent::now(approval, Some(header.author), header.id.0));
    }
    for recipient in notifications::deliver(tx, &told, &notifications).await? {
        let inbox = Entity::new(EntityKind::Inbox, recipient.0);
        effects.moved.entry(inbox).or_default().add(Counter::InboxReplies, 1);
    }
    Ok(effects)
}

async fn settle_decided_edits(tx: &mut Tx, decided: &[DecidedComment<'_>]) -> StoreResult<()> {
    let edits = || decided.iter().filter(|of| of.is_edit()).map(|of| (of.header.id, &of.decision));
    let approved = edits().filter(|(_, decision)| decision.verdict == Verdict::Approved);
    let rejected = edits().filter(|(_, decision)| decision.verdict == Verdict::Rejected);
    let approved: Vec<CommentId> = approved.map(|(comment, _)| comment).collect();
    let rejected: Vec<(CommentId, &str)> =
        rejected.map(|(comment, decision)| (comment, decision.reason)).collect();
    comment_edits::settle_edits(tx, &approved, &rejected).await
}

/// Locks comments and returns the decisions on texts that wait for one: the first on each.
async fn lock_waiting<'a>(tx: &mut Tx, decisions: &[Decision<'a>]) -> StoreResult<Vec<DecidedComment<'a>>> {
    let comments: Vec<CommentId> = decisions.iter().map(|decision| CommentId(decision.id)).collect();
    let headers = comments::lock_comments(tx, &comments).await?;
    let notes: Vec<NoteId> = headers.iter().map(|header| header.note).collect();
    let notes = notes::present_notes(tx, &notes).await?;
    let ids: Vec<Id> = comments.iter().map(|comment| comment.0).collect();
    let waiting = submissions::submissions(tx, Judged::Comment, &ids).await?;
    let is_there = |header: &CommentHeader| !header.is_removed && notes.contains(&header.note);
    let mut open: BTreeMap<Id, CommentHeader> =
        headers.into_iter().filter(is_there).map(|header| (header.id.0, header)).collect();
    let decided = decisions.iter().filter_map(|decision| {
        let is_waiting = waiting.get(&decision.id) == Some(&decision.submission);
        let header = is_waiting.then(|| open.remove(&decision.id))??;
        Some(DecidedComment { header, decision: *decision })
    });
    Ok(decided.collect())
}
