//! Moderation of notes and comments by people: approving and rejecting what waits, and the queue.

use std::sync::Arc;

use crate::{
    Comment, DomainError, DomainResult, IdempotencyKey, Note, Plaudit,
    entity_cache::{CachedEntity, EntityCache},
    keys::ActionCall,
    transaction::{self, ActionStart, ActionTransaction},
};
use plaudit_catalogue::primitives::{CommentId, Id, NoteId, PageRequest, Slice, UserId};
use plaudit_store::sql::{
    content::submissions::{self, Decision, Judged, ModerationState, Verdict},
    moderation::notes,
    ownership::shards,
};

pub use plaudit_store::sql::content::submissions::QueueState;

/// Approves or rejects the text of a comment that waits: a new comment's, or an edit. Also while the automatic
/// moderator has it. A decision is final. Returns the comment and whether anything changed.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown or removed comment; [`DomainError::BadInput`] for one with
/// the opposite decision; [`DomainError::Overloaded`] if its author edits it at this moment.
pub async fn decide_comment(
    plaudit: &Plaudit,
    moderator: UserId,
    comment: CommentId,
    approve: bool,
    reason: &str,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Comment>, bool)> {
    let action = if approve { "approveComment" } else { "rejectComment" };
    let call = ActionCall::new(action, &(comment, reason));
    let changed =
        decide(plaudit, moderator, call, (Judged::Comment, comment.0), approve, reason, key).await?;
    Ok((plaudit.comments().get(comment).await?, changed))
}

/// The same for a note.
///
/// # Errors
/// As [`decide_comment`].
pub async fn decide_note(
    plaudit: &Plaudit,
    moderator: UserId,
    note: NoteId,
    approve: bool,
    reason: &str,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Note>, bool)> {
    let action = if approve { "approveNote" } else { "rejectNote" };
    let call = ActionCall::new(action, &(note, reason));
    let changed = decide(plaudit, moderator, call, (Judged::Note, note.0), approve, reason, key).await?;
    Ok((plaudit.notes().get(note).await?, changed))
}

async fn decide(
    plaudit: &Plaudit,
    moderator: UserId,
    call: ActionCall,
    (kind, id): (Judged, Id),
    approve: bool,
    reason: &str,
    key: Option<&IdempotencyKey>,
) -> DomainResult<bool> {
    let verdict = if approve { Verdict::Approved } else { Verdict::Rejected };
    let mut change = match transaction::begin(plaudit, moderator, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok(outcome.changed),
        ActionStart::New(change) => change,
    };
    let changed = decide_waiting(&mut change, moderator, (kind, id), verdict, reason).await?;
    if !changed {
        must_be(kind, submissions::decision_on(change.tx(), kind, id).await?, verdict)?;
    }
    Ok(change.finish(changed, None).await?.changed)
}

/// Comments that wait for a person, oldest first, each with the reason why nothing else decided.
pub async fn undecided_comments(
    plaudit: &Plaudit,
    page: &PageRequest<Id>,
) -> DomainResult<Slice<(Arc<Comment>, String)>> {
    undecided(plaudit, Judged::Comment, plaudit.comments(), CommentId, page).await
}

/// The same for notes.
pub async fn undecided_notes(
    plaudit: &Plaudit,
    page: &PageRequest<Id>,
) -> DomainResult<Slice<(Arc<Note>, String)>> {
    undecided(plaudit, Judged::Note, plaudit.notes(), NoteId, page).await
}

async fn undecided<T: CachedEntity>(
    plaudit: &Plaudit,
    kind: Judged,
    cache: &Arc<EntityCache<T>>,
    id: fn(Id) -> T::Id,
    page: &PageRequest<Id>,
) -> DomainResult<Slice<(Arc<T>, String)>> {
    let Slice { items, has_more } = submissions::undecided(&plaudit.inner.db, kind, page).await?;
    let ids: Vec<T::Id> = items.iter().map(|(of, _)| id(*of)).collect();
    let texts = cache.get_many(&ids).await?;
    let found = items.into_iter().zip(texts).filter_map(|((_, why), text)| Some((text?, why)));
    Ok(Slice { items: found.collect(), has_more })
}

/// Size and age of the queue of notes and comments that wait.
pub async fn review_queue(plaudit: &Plaudit) -> DomainResult<QueueState> {
    Ok(submissions::queue_state(&plaudit.inner.db).await?)
}

/// Decides the text that waits. Returns whether there was one.
async fn decide_waiting(
    change: &mut ActionTransaction<'_>,
    moderator: UserId,
    (kind, id): (Judged, Id),
    verdict: Verdict,
    reason: &str,
) -> DomainResult<bool> {
    let tx = change.tx();
    shards::lock_removals_shared(tx).await?;
    let Some(submission) = submissions::submission(tx, kind, id).await? else { return Ok(false) };
    let by = format!("user_{moderator}");
    let decision = Decision { id, submission, verdict, reason, by: &by };
    let decided = notes::decide(tx, kind, &[decision]).await?;
    if !decided.touched.is_empty() {
        change.take_in(decided);
        return Ok(true);
    }
    match submissions::submission(tx, kind, id).await? {
        Some(newer) if newer != submission => Err(DomainError::Overloaded("edits of this text")),
        _ => Ok(false),
    }
}

/// Fails unless the last text already has this decision.
fn must_be(kind: Judged, decided: Option<ModerationState>, verdict: Verdict) -> DomainResult<()> {
    match (decided.ok_or(DomainError::NotFound(kind.name()))?, verdict) {
        (ModerationState::Approved, Verdict::Approved) | (ModerationState::Rejected, Verdict::Rejected) => {
            Ok(())
        }
        // Its note was removed; the backfill will remove the comment.
        (ModerationState::Pending, _) => Err(DomainError::NotFound(kind.name())),
        _ => Err(match kind {
            Judged::Note => {
                DomainError::bad_input("noteId", "noteId: this note already has the opposite decision")
            }
            Judged::Comment => DomainError::bad_input(
                "commentId",
                "commentId: this comment already has the opposite decision",
            ),
        }),
    }
}
