//! How fields get their values.

use futures_util::future::BoxFuture;

use super::{
    arguments::Arguments,
    values::{Object, Output, Scalar},
    watch::Watched,
};
use crate::{
    errors::{ApiError, ApiResult},
    reading::{facts::Reads, scope::Scope, view::View},
};
use plaudit_catalogue::{Counter, EdgeKind, Entity};

/// How a field gets its value.
pub enum Resolve {
    /// From facts of the entity.
    Fact(Reads, FactValue),
    /// Objects that the entity's row names.
    Link(LinkFn),
    /// Part of a [`Record`](super::values::Record) of the same name.
    Part,
    /// Part of a page.
    Page(fn(&Object) -> Output),
    /// By reading lists, or by acting.
    Call(CallFn),
    /// A root field of a subscription: the objects to watch.
    Watch(WatchFn),
}

pub type LinkFn = fn(&View<'_>) -> ApiResult<Output>;

/// The value of a [`Resolve::Fact`].
pub enum FactValue {
    Count(Counter),
    Own(EdgeKind),
    Of(for<'a> fn(&View<'a>) -> ApiResult<Scalar<'a>>),
}

impl FactValue {
    pub fn of<'a>(&self, view: &View<'a>) -> ApiResult<Scalar<'a>> {
        match self {
            // Negative totals are shown as zero.
            Self::Count(counter) => Ok(Scalar::Int(view.counted()?.counts.get(*counter).max(0))),
            Self::Own(kind) => Ok(view.own_edge(*kind)?.into()),
            Self::Of(value) => value(view),
        }
    }
}

/// A field that is being resolved.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub scope: &'a Scope,
    pub object: &'a Object,
    pub arguments: &'a Arguments,
    /// Whether more is selected in the items of a page than their ids: then the page should have their rows.
    pub needs_rows: bool,
    /// Whether counts are selected in what a mutation has changed.
    pub shows_counts: bool,
}

impl<'a> Call<'a> {
    /// Where it is not known what is selected.
    pub const fn new(scope: &'a Scope, object: &'a Object, arguments: &'a Arguments) -> Self {
        Self { scope, object, arguments, needs_rows: true, shows_counts: false }
    }

    /// The entity whose field is resolved.
    pub fn entity(&self) -> ApiResult<Entity> {
        match self.object {
            Object::Entity(entity, _) => Ok(*entity),
            _ => Err(ApiError::internal()),
        }
    }

    /// A part of the record whose field is resolved.
    pub fn part(&self, name: &str) -> Option<&'a Output> {
        match self.object {
            Object::Record(record) => record.part(name),
            _ => None,
        }
    }
}

pub type CallFn = for<'a> fn(Call<'a>) -> BoxFuture<'a, ApiResult<Output>>;
pub type WatchFn = for<'a> fn(Call<'a>) -> BoxFuture<'a, ApiResult<Watched>>;

/// A count of the entity.
pub const fn count(counter: Counter) -> Resolve {
    Resolve::Fact(Reads::COUNTS, FactValue::Count(counter))
}

/// A value that follows from counts of the entity.
pub const fn counted(value: for<'a> fn(&View<'a>) -> ApiResult<Scalar<'a>>) -> Resolve {
    Resolve::Fact(Reads::COUNTS, FactValue::Of(value))
}

/// A value of the entity's row.
pub const fn row(value: for<'a> fn(&View<'a>) -> ApiResult<Scalar<'a>>) -> Resolve {
    Resolve::Fact(Reads::ROW, FactValue::Of(value))
}

/// Whether an edge of the viewer to the entity is on.
pub const fn own(kind: EdgeKind) -> Resolve {
    Resolve::Fact(Reads::own(kind), FactValue::Own(kind))
}

/// A value that is known without reading.
pub const fn known(value: for<'a> fn(&View<'a>) -> ApiResult<Scalar<'a>>) -> Resolve {
    Resolve::Fact(Reads::NOTHING, FactValue::Of(value))
}

/// Objects that the entity's row names.
pub const fn link(objects: LinkFn) -> Resolve {
    Resolve::Link(objects)
}

impl Resolve {
    pub const fn reads(&self) -> Reads {
        match self {
            Self::Fact(reads, _) => *reads,
            Self::Link(..) => Reads::ROW,
            Self::Part | Self::Page(_) | Self::Call(_) | Self::Watch(_) => Reads::NOTHING,
        }
    }
}
