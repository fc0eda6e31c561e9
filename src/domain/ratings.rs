//! Ratings of notes: one per user and note, from 0 to 10.

use std::{collections::HashMap, sync::Arc};

use super::{
    DomainError, DomainResult, IdempotencyKey, Note, Plaudit, keys::ActionCall, transaction::ActionStart,
};
use crate::{
    catalogue::{Counter, EntityKind},
    primitives::{NoteId, UserId},
};

/// From 0 (worst) to 10 (best).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Score(i16);

impl Score {
    const MAX: i32 = 10;

    /// # Errors
    /// [`DomainError::BadInput`] naming `score`.
    pub fn parse(raw: i32) -> DomainResult<Self> {
        if (0..=Self::MAX).contains(&raw) {
            Ok(Self(raw as i16))
        } else {
            Err(DomainError::bad_input(
                "score",
                format!("score: must be between 0 and {}; it is {raw}", Self::MAX),
            ))
        }
    }
}

impl Plaudit {
    /// Sets the actor's rating of a note. Returns the note and whether anything changed.
    ///
    /// # Errors
    /// [`DomainError::NotFound`] for an unknown or removed note.
    pub async fn rate_note(
        &self,
        actor: UserId,
        note: NoteId,
        score: Score,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Note>, bool)> {
        let note = self.notes().get(note).await?;
        let call = ActionCall::new("rateNote", &(note.id, score.0));
        let mut change = match self.begin(actor, key, &call).await? {
            ActionStart::Repeated(outcome) => return Ok((note, outcome.changed)),
            ActionStart::New(change) => change,
        };
        let tx = change.tx();
        tx.lock_removals_shared().await?;
        if tx.present_notes(&[note.id]).await?.is_empty() {
            return Err(DomainError::NotFound("note"));
        }
        tx.lock_totals(EntityKind::Note, &[note.id.0]).await?;
        let before = tx.rating(actor, note.id).await?;
        if before != Some(score.0) {
            tx.set_rating(actor, note.id, score.0).await?;
            change.count(note.id, Counter::NoteRatings, i64::from(before.is_none()));
            change.count(note.id, Counter::NoteRatingSum, i64::from(score.0 - before.unwrap_or(0)));
        }
        let outcome = change.finish(before != Some(score.0), None).await?;
        Ok((note, outcome.changed))
    }

    /// A user's ratings of these notes, in one statement. Notes without a rating are missing.
    pub async fn ratings_of(&self, user: UserId, notes: &[NoteId]) -> DomainResult<HashMap<NoteId, i16>> {
        Ok(self.inner.db.ratings_of(user, notes).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_a_whole_number_from_0_to_10() {
        assert!(Score::parse(0).is_ok() && Score::parse(10).is_ok());
        assert!(Score::parse(-1).is_err() && Score::parse(11).is_err() && Score::parse(i32::MAX).is_err());
    }
}
