//! Moderation of comments by people: approving and rejecting what waits, and the queue.

use std::sync::Arc;

use super::{
    Comment, DomainError, DomainResult, IdempotencyKey, Plaudit,
    keys::ActionCall,
    transaction::{ActionStart, ActionTransaction},
};
use crate::{
    primitives::{CommentId, Id, PageRequest, Slice, UserId},
    store::sql::{
        moderation::{Decision, Verdict},
        threads::CommentState,
    },
};

pub use crate::store::sql::moderation::QueueState;

impl Plaudit {
    /// Approves or rejects the text of a comment that waits: a new comment's, or an edit. Also while the automatic
    /// moderator has it. A decision is final. Returns the comment and whether anything changed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed comment; [`DomainError::BadInput`] for one with
    /// the opposite decision; [`DomainError::Overloaded`] if its author edits it at this moment.
    pub async fn decide_comment(
        &self,
        moderator: UserId,
        comment: CommentId,
        approve: bool,
        reason: &str,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Comment>, bool)> {
        let action = if approve { "approveComment" } else { "rejectComment" };
        let verdict = if approve { Verdict::Approved } else { Verdict::Rejected };
        let outcome = match self.begin(moderator, key, &ActionCall::new(action, &(comment, reason))).await? {
            ActionStart::Repeated(outcome) => outcome,
            ActionStart::New(mut change) => {
                let changed = decide_waiting(&mut change, moderator, comment, verdict, reason).await?;
                if !changed {
                    must_be(change.tx().decision_on(comment).await?, verdict)?;
                }
                change.finish(changed, None).await?
            }
        };
        Ok((self.comments().get(comment).await?, outcome.changed))
    }

    /// Comments that wait for a person, oldest first, each with the reason why nothing else decided.
    pub async fn undecided_comments(
        &self,
        page: &PageRequest<Id>,
    ) -> DomainResult<Slice<(Arc<Comment>, String)>> {
        let Slice { items, has_more } = self.inner.db.undecided_comments(page).await?;
        let ids: Vec<CommentId> = items.iter().map(|(comment, _)| *comment).collect();
        let comments = self.comments().get_many(&ids).await?;
        let found = items.into_iter().zip(comments).filter_map(|((_, why), comment)| Some((comment?, why)));
        Ok(Slice { items: found.collect(), has_more })
    }

    /// Size and age of the moderation queue.
    pub async fn comment_queue(&self) -> DomainResult<QueueState> {
        Ok(self.inner.db.queue_state().await?)
    }
}

/// Decides the text that waits. Returns whether there was one.
async fn decide_waiting(
    change: &mut ActionTransaction<'_>,
    moderator: UserId,
    comment: CommentId,
    verdict: Verdict,
    reason: &str,
) -> DomainResult<bool> {
    let tx = change.tx();
    tx.lock_removals_shared().await?;
    let Some(submission) = tx.submission(comment).await? else { return Ok(false) };
    let by = format!("user:{moderator}");
    let decision = Decision { comment, submission, verdict, reason, by: &by };
    let decided = tx.decide(&[decision]).await?;
    if !decided.touched.is_empty() {
        change.take_in(decided);
        return Ok(true);
    }
    match tx.submission(comment).await? {
        Some(newer) if newer != submission => Err(DomainError::Overloaded("edits of this comment")),
        _ => Ok(false),
    }
}

/// Fails unless the last text of the comment already has this decision.
fn must_be(decided: Option<CommentState>, verdict: Verdict) -> DomainResult<()> {
    match (decided.ok_or(DomainError::NotFound("comment"))?, verdict) {
        (CommentState::Approved, Verdict::Approved) | (CommentState::Rejected, Verdict::Rejected) => Ok(()),
        // Its note was removed; the backfill will remove the comment.
        (CommentState::Pending, _) => Err(DomainError::NotFound("comment")),
        _ => Err(DomainError::bad_input(
            "commentId",
            "commentId: this comment already has the opposite decision",
        )),
    }
}
