//! Moderation of comments by people: approving and rejecting pending comments, and the queue.

use std::sync::Arc;

use super::{
    Comment, DomainError, DomainResult, IdempotencyKey, Plaudit, keys::ActionCall, transaction::ActionStart,
};
use crate::{
    primitives::{CommentId, Id, PageRequest, Slice, UserId},
    store::sql::{
        comments::CommentHeader,
        moderation::{Decision, Verdict},
        threads::CommentState,
    },
};

pub use crate::store::sql::moderation::QueueState;

impl Plaudit {
    /// Approves or rejects a pending comment, also while the automatic moderator has it. A decision is final.
    /// Returns the comment and whether anything changed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed comment; [`DomainError::BadInput`] for one with
    /// the opposite decision.
    pub async fn decide_comment(
        &self,
        moderator: UserId,
        comment: CommentId,
        approve: bool,
        reason: &str,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Comment>, bool)> {
        let action = if approve { "approveComment" } else { "rejectComment" };
        let outcome = match self.begin(moderator, key, &ActionCall::new(action, &(comment, reason))).await? {
            ActionStart::Repeated(outcome) => outcome,
            ActionStart::New(mut change) => {
                let tx = change.tx();
                tx.lock_removals_shared().await?;
                let verdict = if approve { Verdict::Approved } else { Verdict::Rejected };
                let by = format!("user:{moderator}");
                let decision = Decision { comment, verdict, reason, by: &by };
                let decided = tx.decide(&[decision]).await?;
                let changed = !decided.touched.is_empty();
                if !changed {
                    must_be(tx.comment_header(comment).await?, verdict)?;
                }
                change.take_in(decided);
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

/// Fails unless the comment already has this decision.
fn must_be(header: Option<CommentHeader>, verdict: Verdict) -> DomainResult<()> {
    let header = header.filter(|header| !header.is_removed).ok_or(DomainError::NotFound("comment"))?;
    match (header.state, verdict) {
        (CommentState::Approved, Verdict::Approved) | (CommentState::Rejected, Verdict::Rejected) => Ok(()),
        // Its note was removed; the backfill will remove the comment.
        (CommentState::Pending, _) => Err(DomainError::NotFound("comment")),
        _ => Err(DomainError::bad_input(
            "commentId",
            "commentId: this comment already has the opposite decision",
        )),
    }
}
