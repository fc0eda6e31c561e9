//! Decisions of persons on comments that no moderator could decide, or that wait.

use std::sync::Arc;

use super::{Comment, DomainError, DomainResult, IdempotencyKey, Plaudit, changes::Begun, keys::Operation};
use crate::{
    primitives::{CommentId, Id, PageRequest, Slice, UserId},
    store::sql::{self, CommentPlace, CommentState, Decision, Verdict},
};

pub use crate::store::sql::QueueState;

impl Plaudit {
    /// Approves or rejects a pending comment, whoever it waits for. Returns it and whether that changed
    /// anything: what is decided stays decided.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed comment; [`DomainError::BadInput`] for one that
    /// was decided otherwise.
    pub async fn decide_comment(
        &self,
        moderator: UserId,
        comment: CommentId,
        approve: bool,
        reason: &str,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Comment>, bool)> {
        let action = if approve { "approveComment" } else { "rejectComment" };
        let outcome = match self.begin(moderator, key, &Operation::new(action, &(comment, reason))).await? {
            Begun::Before(outcome) => outcome,
            Begun::New(mut change) => {
                let (db, tx) = change.sql();
                sql::lock_removals_shared(db, tx).await?;
                let verdict = if approve { Verdict::Approved } else { Verdict::Rejected };
                let by = format!("user:{moderator}");
                let decision = Decision { comment, verdict, reason, by: &by };
                let decided = sql::decide(db, tx, &[decision]).await?;
                let changed = !decided.touched.is_empty();
                if !changed {
                    must_be(sql::comment_place(db, tx, comment).await?, verdict)?;
                }
                change.take_in(decided);
                change.finish(changed, None).await?
            }
        };
        Ok((self.comments().get(comment).await?, outcome.changed))
    }

    /// Comments that wait for a person, the oldest first, each with why no moderator could decide.
    pub async fn undecided_comments(
        &self,
        page: &PageRequest<Id>,
    ) -> DomainResult<Slice<(Arc<Comment>, String)>> {
        let Slice { items, has_more } = self.inner.db.undecided_comments(page).await?;
        let ids: Vec<CommentId> = items.iter().map(|(comment, _)| *comment).collect();
        let comments = self.comments().get_many(&ids).await?;
        let found = items.into_iter().filter_map(|(id, why)| Some((Arc::clone(comments.get(&id)?), why)));
        Ok(Slice { items: found.collect(), has_more })
    }

    /// How much waits to be judged.
    pub async fn comment_queue(&self) -> DomainResult<QueueState> {
        Ok(self.inner.db.queue_state().await?)
    }
}

/// What is decided stays decided.
fn must_be(place: Option<CommentPlace>, verdict: Verdict) -> DomainResult<()> {
    let place = place.filter(|place| !place.is_removed).ok_or(DomainError::NotFound("comment"))?;
    match (place.state, verdict) {
        (CommentState::Approved, Verdict::Approved) | (CommentState::Rejected, Verdict::Rejected) => Ok(()),
        // Its note was removed, and it is about to be.
        (CommentState::Pending, _) => Err(DomainError::NotFound("comment")),
        _ => Err(DomainError::bad_input("commentId", "commentId: this comment was decided otherwise before")),
    }
}
