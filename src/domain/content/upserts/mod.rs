//! What a service writes of its app, many things at once: users by subject, groups and notes by key.
//!
//! Things that exist are changed, others are created; sent again, the same does nothing. All elements of a
//! request are one transaction of few statements. What exists is locked and read, the elements are applied to
//! it in their order, and what differs in the end is written. An element that is refused leaves the others
//! alone.

pub mod groups;
pub mod notes;
pub mod removals;
pub mod users;

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

pub use groups::GroupUpsert;
pub use notes::NoteUpsert;
pub use users::UserUpsert;

use crate::{AppKey, DomainError, DomainResult, Reason};
use plaudit_catalogue::{Entity, primitives::Id};
use plaudit_store::StoreError;

/// How often a request is tried because others create the same things at the same time.
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

/// What an element did to a thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct UpsertStep {
    outcome: ElementOutcome,
    /// The thing, by its number among the things of the request.
    thing: usize,
}

/// A thing while the elements of a request are applied to it.
trait Thing<'e>: Sized {
    type Element: 'e;
    /// What is read of a thing that exists.
    type Known;

    /// What an element names its thing by.
    fn key(element: &'e Self::Element) -> &'e str;
    fn known_key(known: &Self::Known) -> &str;

    /// A thing that exists, as it was read.
    fn of(element: &'e Self::Element, known: Self::Known) -> Self;
    /// A thing that is to be created.
    fn new(element: &'e Self::Element) -> Self;
    /// Becomes what the element says.
    fn take(&mut self, element: &Self::Element) -> DomainResult<ElementOutcome>;
}

/// Applies the elements in their order to the things that exist, and to new ones that `may_create` does not refuse.
fn apply<'e, T: Thing<'e>>(
    elements: &'e [T::Element],
    known: Vec<T::Known>,
    may_create: impl Fn(&T::Element) -> DomainResult<()>,
) -> (Vec<T>, Vec<DomainResult<UpsertStep>>) {
    let mut known: HashMap<String, T::Known> =
        known.into_iter().map(|known| (T::known_key(&known).to_owned(), known)).collect();
    let (mut things, mut places) = (Vec::<T>::new(), HashMap::new());
    let steps = elements.iter().map(|element| {
        let key = T::key(element);
        if let Some(known) = known.remove(key) {
            places.insert(key, things.len());
            things.push(T::of(element, known));
        }
        if let Some(&thing) = places.get(key) {
            return things[thing].take(element).map(|outcome| UpsertStep { outcome, thing });
        }
        may_create(element)?;
        let thing = things.len();
        places.insert(key, thing);
        things.push(T::new(element));
        Ok(UpsertStep { outcome: ElementOutcome::Created, thing })
    });
    let steps = steps.collect();
    (things, steps)
}

/// Results with the ids of the things, by their places.
fn results(steps: Vec<DomainResult<UpsertStep>>, ids: &[Option<Id>]) -> DomainResult<ElementResults> {
    let done = |UpsertStep { outcome, thing }| {
        let id = ids.get(thing).copied().flatten();
        // The caller has tried again unless each thing has one.
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

/// Repeats the attempt while it returns `None`, which means that another request created one of the things meanwhile.
async fn until_uncontended<F>(attempt: impl Fn() -> F) -> DomainResult<ElementResults>
where
    F: Future<Output = DomainResult<Option<ElementResults>>>,
{
    for _ in 0..ATTEMPTS {
        if let Some(done) = attempt().await? {
            return Ok(done);
        }
    }
    Err(StoreError::Contended { tries: ATTEMPTS }.into())
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
