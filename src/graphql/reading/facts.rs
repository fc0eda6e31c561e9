//! Facts: what the fields of an entity show. A field computes its value from a [`View`](super::view::View) of them.

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::RandomState;

use crate::errors::{ApiError, ApiResult};
use plaudit_catalogue::{EdgeKind, Entity};
use plaudit_counting::hub::CountsAt;
use plaudit_domain::{Comment, Group, Note, User};

/// Which facts a set of fields needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Reads {
    pub row: bool,
    pub counts: bool,
    /// The viewer's rating of a note.
    pub rating: bool,
    /// The viewer's edges to the entity.
    pub own: Edges,
    /// Who the viewer is: what else is read is shown to some only.
    pub viewer: bool,
}

/// A set of edge kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Edges(u8);

impl Edges {
    pub const fn one(kind: EdgeKind) -> Self {
        Self(1 << kind as u8)
    }

    pub const fn has(self, kind: EdgeKind) -> bool {
        self.0 & Self::one(kind).0 != 0
    }

    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn kinds(self) -> impl Iterator<Item = EdgeKind> {
        EdgeKind::ALL.iter().copied().filter(move |kind| self.has(*kind))
    }
}

impl Reads {
    pub const NOTHING: Self = Self { row: false, counts: false, rating: false, own: Edges(0), viewer: false };
    pub const ROW: Self = Self { row: true, ..Self::NOTHING };
    pub const COUNTS: Self = Self { counts: true, ..Self::NOTHING };
    pub const RATING: Self = Self { rating: true, ..Self::NOTHING };

    /// A row that is not the same for all viewers.
    pub const ROW_FOR_VIEWER: Self = Self { row: true, viewer: true, ..Self::NOTHING };

    pub const fn own(kind: EdgeKind) -> Self {
        Self { own: Edges::one(kind), ..Self::NOTHING }
    }

    /// Whether it depends on the viewer.
    pub const fn is_own(self) -> bool {
        self.rating || self.own.0 != 0 || self.viewer
    }

    /// Without what depends on the viewer.
    pub(super) const fn without_own(self) -> Self {
        Self { rating: false, own: Edges(0), viewer: false, ..self }
    }

    pub const fn with(self, other: Self) -> Self {
        Self {
            row: self.row || other.row,
            counts: self.counts || other.counts,
            rating: self.rating || other.rating,
            own: self.own.with(other.own),
            viewer: self.viewer || other.viewer,
        }
    }
}

/// The stored texts of an entity.
#[derive(Clone, Debug)]
pub enum Row {
    User(Arc<User>),
    Note(Arc<Note>),
    Comment(Arc<Comment>),
    Group(Arc<Group>),
}

impl Row {
    pub fn entity(&self) -> Entity {
        match self {
            Self::User(user) => user.id.into(),
            Self::Note(note) => note.id.into(),
            Self::Comment(comment) => comment.id.into(),
            Self::Group(group) => group.id.into(),
        }
    }
}

/// The facts of one entity that were read, each with the error if its read failed. Within one request an entity has one
/// version of its counts.
#[derive(Clone, Default, Debug)]
pub struct Facts {
    pub(super) row: Option<Fact<Option<Row>>>,
    pub(super) counts: Option<Fact<Option<CountsAt>>>,
    pub(super) rating: Option<Fact<Option<i16>>>,
    pub(super) own_read: Edges,
    pub(super) own_on: Edges,
    pub(super) own_failed: Option<Arc<ApiError>>,
}

/// What was read, or why not. All facts of one failed read share its error.
pub(super) type Fact<T> = Result<T, Arc<ApiError>>;

/// Facts by entity. Each entity has a number, so that its facts are found without hashing.
#[derive(Default)]
pub struct FactsMap {
    numbers: HashMap<Entity, FactsNumber, RandomState>,
    /// By number.
    facts: Vec<(Entity, Facts)>,
}

/// The number of an entity in a [`FactsMap`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FactsNumber(usize);

impl FactsMap {
    /// The number of an entity. Nothing is known yet of one that is new.
    pub fn number(&mut self, entity: Entity) -> FactsNumber {
        let facts = &mut self.facts;
        *self.numbers.entry(entity).or_insert_with(|| {
            facts.push((entity, Facts::default()));
            FactsNumber(facts.len() - 1)
        })
    }

    pub fn entity(&self, number: FactsNumber) -> Entity {
        self.facts[number.0].0
    }

    pub fn of(&self, number: FactsNumber) -> &Facts {
        &self.facts[number.0].1
    }

    pub fn of_mut(&mut self, number: FactsNumber) -> &mut Facts {
        &mut self.facts[number.0].1
    }
}

impl Facts {
    /// A row that somebody else has read. A row that was read before stays.
    pub fn give_row(&mut self, row: Row) {
        self.row.get_or_insert(Ok(Some(row)));
    }

    pub fn give_counts(&mut self, counts: CountsAt) {
        self.counts = Some(Ok(Some(counts)));
    }

    pub fn into_row(self) -> ApiResult<Option<Row>> {
        self.row.map_or_else(|| Err(unread("row")), |row| row.map_err(own_copy))
    }

    pub const fn is_row_known(&self) -> bool {
        self.row.is_some()
    }

    /// Whether the row was read, and there is none.
    pub const fn is_gone(&self) -> bool {
        matches!(self.row, Some(Ok(None)))
    }

    /// Whether a row was read and no counts were found.
    pub(super) const fn has_row_without_counts(&self) -> bool {
        matches!((&self.row, &self.counts), (Some(Ok(Some(_))), Some(Ok(None))))
    }

    /// What of `reads` is not known yet.
    pub(super) const fn missing(&self, reads: Reads) -> Reads {
        Reads {
            row: reads.row && self.row.is_none(),
            counts: reads.counts && self.counts.is_none(),
            rating: reads.rating && self.rating.is_none(),
            own: reads.own.without(self.own_read),
            viewer: false,
        }
    }

    pub(super) fn learn_edge(&mut self, kind: EdgeKind, is_on: Fact<bool>) {
        self.own_read = self.own_read.with(Edges::one(kind));
        match is_on {
            Ok(true) => self.own_on = self.own_on.with(Edges::one(kind)),
            Ok(false) => {}
            Err(error) => self.own_failed = Some(error),
        }
    }
}

pub(super) fn own_copy(error: impl AsRef<ApiError>) -> ApiError {
    error.as_ref().clone()
}

/// A field shows a fact that its line in the schema does not name.
pub(super) fn unread(what: &'static str) -> ApiError {
    tracing::error!(what, "a field shows a fact that was not read");
    ApiError::internal()
}
