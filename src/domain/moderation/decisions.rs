//! Decisions of moderators and services about texts that wait and about what users reported.

use crate::{
    DomainError, DomainResult, IdempotencyKey, Judged, ModerationState, Plaudit, Text,
    content::notes::remove_notes,
    keys::ActionCall,
    transaction::{self, ActionStart, ActionTransaction},
};
use plaudit_catalogue::{
    COMMENTS,
    primitives::{CommentId, Id, NoteId, UserId},
};
use plaudit_store::sql::{
    content::{comments, notes, submissions},
    counting::rows::{self, RowKeys},
    moderation::{
        decisions::{self, Decision, Verdict},
        reports,
    },
    ownership::shards,
};

/// What happens to a note or comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReviewDecision {
    /// Of a text that waits: everybody sees it.
    Approve,
    /// Of a text that waits: only its author and moderators see it.
    Reject,
    /// Of what was reported: it stays.
    Keep,
    /// Of what was reported: it is removed.
    Remove,
}

/// The reason that is recorded with an approval without one.
const BY_A_PERSON: &str = "approved by a person";

impl ReviewDecision {
    const fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Keep => "keep",
            Self::Remove => "remove",
        }
    }
}

/// Decides the text of a note or comment that waits, also while the automatic moderator has it, or closes the reports
/// of one, in one transaction with its removal. A decision on a text is final. Returns whether anything changed: not
/// if the last text, or the last reports, were decided alike.
///
/// # Errors
/// [`DomainError::NotFound`] for what is unknown or removed, or was never reported; [`DomainError::BadInput`] for a
/// text with the opposite decision, for what was kept and not reported since, and for a rejection without a reason;
/// [`DomainError::Overloaded`] if its author edits the text at this moment.
pub async fn decide(
    plaudit: &Plaudit,
    moderator: UserId,
    (kind, id): (Judged, Id),
    decision: ReviewDecision,
    reason: Option<&Text>,
    key: Option<&IdempotencyKey>,
) -> DomainResult<bool> {
    let reason = reason.map(Text::as_str);
    if decision == ReviewDecision::Reject && reason.is_none() {
        return Err(DomainError::bad_input("reason", "reason: say why it is rejected, for its author"));
    }
    let call = ActionCall::new("decide", &(kind.entity(id).to_string(), decision.name(), reason));
    let mut change = match transaction::begin(plaudit, moderator, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok(outcome.changed),
        ActionStart::New(change) => change,
    };
    let verdict = match decision {
        ReviewDecision::Approve => Some(Verdict::Approved),
        ReviewDecision::Reject => Some(Verdict::Rejected),
        ReviewDecision::Keep | ReviewDecision::Remove => None,
    };
    let changed = match verdict {
        Some(verdict) => {
            let reason = reason.unwrap_or(BY_A_PERSON);
            decide_text(&mut change, moderator, (kind, id), verdict, reason).await?
        }
        None => decide_reports(plaudit, &mut change, moderator, (kind, id), decision, reason).await?,
    };
    Ok(change.finish(changed, None).await?.changed)
}

/// Decides the text that waits. Returns whether there was one.
async fn decide_text(
    change: &mut ActionTransaction<'_>,
    moderator: UserId,
    (kind, id): (Judged, Id),
    verdict: Verdict,
    reason: &str,
) -> DomainResult<bool> {
    let tx = change.tx();
    shards::lock_removals_shared(tx).await?;
    if let Some(submission) = submissions::submission(tx, kind, id).await? {
        let by = format!("user_{moderator}");
        let decision = Decision { id, submission, verdict, reason, by: &by };
        let decided = decisions::decide(tx, kind, &[decision]).await?;
        if !decided.touched.is_empty() {
            change.take_in(decided);
            return Ok(true);
        }
        if submissions::submission(tx, kind, id).await?.is_some_and(|newer| newer != submission) {
            return Err(DomainError::Overloaded("edits of this text"));
        }
    }
    must_be(kind, submissions::decision_on(change.tx(), kind, id).await?, verdict).map(|()| false)
}

/// Fails unless the last text already has this decision.
fn must_be(kind: Judged, decided: Option<ModerationState>, verdict: Verdict) -> DomainResult<()> {
    match (decided, verdict) {
        (Some(ModerationState::Approved), Verdict::Approved)
        | (Some(ModerationState::Rejected), Verdict::Rejected) => Ok(()),
        // If it waits, its note was removed; the backfill will remove the comment.
        (None | Some(ModerationState::Pending), _) => Err(DomainError::NotFound(kind.name())),
        _ => Err(DomainError::bad_input("decision", "decision: this text already has the opposite one")),
    }
}

/// Closes the open reports. Returns whether there were any.
async fn decide_reports(
    plaudit: &Plaudit,
    change: &mut ActionTransaction<'_>,
    moderator: UserId,
    (kind, id): (Judged, Id),
    decision: ReviewDecision,
    reason: Option<&str>,
) -> DomainResult<bool> {
    let about = kind.entity(id);
    // Checked without a lock first: the lock of removals blocks batches.
    if reports::has_open_case(change.tx(), about).await? {
        // The object is locked before its case, as reports do.
        let removed = match decision {
            ReviewDecision::Remove => Some(Removed::lock(change, kind, id).await?),
            _ => None,
        };
        if reports::close_case(change.tx(), about, decision.name(), reason, moderator).await? {
            match removed {
                Some(Removed::Note(state)) => {
                    remove_notes(plaudit, change, &[state], Some(moderator)).await?
                }
                Some(Removed::Comment(header)) => change.remove_comment(&header, moderator).await?,
                None => {}
            }
            return Ok(true);
        }
    }
    let was_kept = match reports::last_decision(change.tx(), about).await? {
        None => return Err(DomainError::NotFound("reported note or comment")),
        Some(last) => last.as_deref() == Some(ReviewDecision::Keep.name()),
    };
    match (was_kept, decision == ReviewDecision::Keep) {
        (true, true) | (false, false) => Ok(false),
        (false, true) => Err(DomainError::NotFound(kind.name())),
        (true, false) => Err(DomainError::bad_input(
            "decision",
            "decision: a moderator has decided to keep this, and nobody has reported it since; to remove it, use \
             deleteNote or deleteComment",
        )),
    }
}

/// What is about to be removed, under its locks.
enum Removed {
    Note(notes::NoteState),
    Comment(comments::CommentHeader),
}

impl Removed {
    async fn lock(change: &mut ActionTransaction<'_>, kind: Judged, id: Id) -> DomainResult<Self> {
        let not_found = || DomainError::NotFound(kind.name());
        let tx = change.tx();
        match kind {
            Judged::Note => {
                shards::lock_removals(tx).await?;
                Ok(Self::Note(notes::lock_note(tx, NoteId(id)).await?.ok_or_else(not_found)?))
            }
            Judged::Comment => {
                shards::lock_removals_shared(tx).await?;
                rows::lock(tx, &RowKeys::of_things(COMMENTS, vec![id])).await?;
                let locked = comments::lock_comments(tx, &[CommentId(id)]).await?.pop();
                Ok(Self::Comment(locked.ok_or_else(not_found)?))
            }
        }
    }
}
