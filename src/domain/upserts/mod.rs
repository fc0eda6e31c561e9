//! What a service writes of its app, many things at once: users by subject, groups and notes by key.
//!
//! Things that exist are changed, others are created; sent again, the same does nothing. All elements of a request are
//! one transaction of few statements. What exists is locked and read, the elements are applied to it in their order, and
//! what differs in the end is written. An element that is refused leaves the others alone.

mod groups;
mod notes;
mod removals;
mod users;

use chrono::{DateTime, TimeDelta, Utc};

pub use groups::GroupUpsert;
pub use notes::NoteUpsert;
pub use users::UserUpsert;

use super::{AppKey, DomainError, DomainResult, Reason};
use crate::{catalogue::Entity, primitives::Id, store::StoreError};

/// How often a request begins anew because others create the same things at the same time.
const ATTEMPTS: u32 = 5;
/// How far the clock of a service may be ahead.
const AHEAD: TimeDelta = TimeDelta::seconds(5);

/// What became of one element of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementOutcome {
    Created,
    Updated,
    Removed,
    Unchanged,
}

/// One element of a request that was done, and the id of what it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElementDone {
    pub outcome: ElementOutcome,
    pub id: Id,
}

/// One result per element, in their order.
pub type ElementResults = Vec<DomainResult<ElementDone>>;

/// When something was created, as a service says: not before 1970, and not in the future.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreationTime(DateTime<Utc>);

impl CreationTime {
    /// # Errors
    /// [`DomainError::BadInput`] naming `createdAt`.
    pub fn parse(at: DateTime<Utc>) -> DomainResult<Self> {
        if at < DateTime::UNIX_EPOCH {
            return Err(DomainError::bad_input("createdAt", "createdAt: must not be before 1970"));
        }
        if at > Utc::now() + AHEAD {
            let message = "createdAt: must not be in the future; omit it for what is created now";
            return Err(DomainError::bad_input("createdAt", message));
        }
        Ok(Self(at))
    }
}

/// What an element did to a thing: `None` for one whose thing is created, whose id is known only then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    outcome: ElementOutcome,
    /// The thing, by its place among those of the request.
    thing: usize,
}

/// Results with the ids of the things, by their places.
fn results(steps: Vec<DomainResult<Step>>, ids: &[Option<Id>]) -> DomainResult<ElementResults> {
    let done = |Step { outcome, thing }| {
        let id = ids.get(thing).copied().flatten();
        // The caller has begun anew unless each thing has one.
        let id = id.ok_or(DomainError::Internal(StoreError::Unexpected("a thing was not written".into())))?;
        Ok(ElementDone { outcome, id })
    };
    steps
        .into_iter()
        .map(|step| match step {
            Ok(step) => done(step).map(Ok),
            Err(refused) => Ok(Err(refused)),
        })
        .collect()
}

/// Others created the same things in each attempt.
fn contended() -> DomainError {
    StoreError::Contended { tries: ATTEMPTS }.into()
}

/// Refuses to write what was removed.
fn removed(of: Entity, key: &AppKey) -> DomainError {
    DomainError::BadInput {
        argument: "key",
        message: format!(
            "key: {of} had the key {:?} and was removed; a key is never given twice",
            key.as_str()
        ),
        reason: Some(Reason::KeyTaken),
    }
}
