//! Ratings of notes: one per user and note, from 0 to 10.

use std::{collections::HashMap, sync::Arc};

use crate::{
    DomainError, DomainResult, IdempotencyKey, Note, Plaudit,
    keys::ActionCall,
    transaction::{self, ActionStart},
};
use plaudit_catalogue::{
    EntityKind,
    primitives::{Moment, NoteId, PageRequest, Slice, UserId},
};
use plaudit_store::sql::{
    content,
    counting::{counts, ratings},
    ownership::shards,
};

pub use plaudit_store::sql::counting::ratings::NoteRating;

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

    pub const fn get(self) -> i16 {
        self.0
    }
}

/// A page of a note's ratings, the latest first.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown or removed note; [`DomainError::Forbidden`] if the viewer is neither
/// its author nor a moderator.
pub async fn ratings_of_note(
    plaudit: &Plaudit,
    viewer: Option<UserId>,
    is_moderator: bool,
    note: NoteId,
    page: &PageRequest<Moment>,
) -> DomainResult<Slice<NoteRating>> {
    let note = plaudit.notes().get(note).await?;
    if !is_moderator && viewer != Some(note.author) {
        return Err(DomainError::Forbidden("only the author and moderators see the ratings of a note"));
    }
    Ok(ratings::ratings_of_note(&plaudit.inner.db, note.id, page).await?)
}

/// Sets the actor's rating of a note, or takes it back (`None`). Returns the note and whether anything changed.
/// `actor`: `None` is somebody without a user, who has nothing to take back.
///
/// # Errors
/// [`DomainError::NotFound`] for an unknown or removed note, and for an actor who was erased.
pub async fn set_rating(
    plaudit: &Plaudit,
    actor: Option<UserId>,
    note: NoteId,
    score: Option<Score>,
    key: Option<&IdempotencyKey>,
) -> DomainResult<(Arc<Note>, bool)> {
    let note = super::notes::note_for(plaudit, actor, note).await?;
    let Some(actor) = actor else { return Ok((note, false)) };
    let score = score.map(|score| score.0);
    let call = match score {
        Some(score) => ActionCall::new("rateNote", &(note.id, score)),
        None => ActionCall::new("unrateNote", &note.id),
    };
    let mut change = match transaction::begin(plaudit, actor, key, &call).await? {
        ActionStart::Repeated(outcome) => return Ok((note, outcome.changed)),
        ActionStart::New(change) => change,
    };
    let tx = change.tx();
    shards::lock_removals_shared(tx).await?;
    if content::notes::present_notes(tx, &[note.id]).await?.is_empty() {
        return Err(DomainError::NotFound("note"));
    }
    counts::lock_totals(tx, EntityKind::Note, &[note.id.0]).await?;
    let is_other = ratings::rating(tx, actor, note.id).await? != score;
    if is_other {
        let moved = ratings::set_rating(tx, actor, note.id, score).await?;
        change.count_all(&moved.ok_or(DomainError::NotFound("user"))?);
    }
    let outcome = change.finish(is_other, None).await?;
    Ok((note, outcome.changed))
}

/// A user's ratings of these notes, in one statement. Notes without a rating are missing.
pub async fn ratings_of(
    plaudit: &Plaudit,
    user: UserId,
    notes: &[NoteId],
) -> DomainResult<HashMap<NoteId, i16>> {
    Ok(ratings::ratings_of(&plaudit.inner.db, user, notes).await?)
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
