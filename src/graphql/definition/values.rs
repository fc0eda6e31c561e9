//! Values of fields, as resolvers return them.

use std::{borrow::Cow, sync::Arc};

use chrono::{DateTime, Utc};

use crate::{errors::ApiError, reading::facts::Row};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{CommentId, GroupId, NoteId, UserId},
};
use plaudit_domain::{
    Comment, Group, Note, User,
    entity_cache::{Cached, CachedEntity},
};

/// A value without fields of its own.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// The name of an enum's value.
    Name(&'static str),
    /// The global id of an object.
    Id(Entity),
    Time(DateTime<Utc>),
    /// A JSON document.
    Json(Cow<'a, str>),
    List(Vec<Scalar<'a>>),
}

/// Any value: one without fields, an object, or a list.
#[derive(Clone, Debug)]
pub enum Output {
    Scalar(Scalar<'static>),
    Object(Object),
    List(Vec<Output>),
    /// An item of a list, or the field, that has an error: the other items have their values.
    Failed(ApiError),
}

/// An object: its fields are resolved from it.
#[derive(Clone, Debug)]
pub enum Object {
    /// The object of the root types and of `Viewer`, whose fields are called.
    Root,
    /// An object with counts.
    Entity(Entity, Presence),
    /// An object whose fields are all known.
    Record(Arc<Record>),
    /// A connection, its edges and its page info.
    Page(Arc<Page>),
    Edge(Arc<Page>, usize),
    PageInfo(Arc<Page>),
}

/// Whether an entity is known to exist.
#[derive(Clone, Debug)]
pub enum Presence {
    /// It does: the resolver has read its row.
    Read(Row),
    /// Another object names it. It is null if its row is read and there is none.
    Named,
    /// The client named it. It is null if there is none.
    Sought,
}

/// The fields of an object by their names.
#[derive(Debug)]
pub struct Record {
    /// The name of its type, if it may be behind an interface.
    type_name: Option<&'static str>,
    parts: Vec<(&'static str, Output)>,
}

impl Record {
    pub fn part(&self, name: &str) -> Option<&Output> {
        self.parts.iter().find(|(of, _)| *of == name).map(|(_, value)| value)
    }
}

/// A page of a list: a Relay connection.
pub struct Page {
    pub nodes: Vec<Object>,
    places: Box<dyn Places>,
    pub has_next: bool,
    pub has_previous: bool,
}

/// The places of the items of a page in their list. `None` behind the last one.
pub trait Places: Send + Sync {
    /// The cursor of an item.
    fn cursor(&self, index: usize) -> Option<String>;

    /// When an item came into the list, if the list is in the order of these times.
    fn at(&self, index: usize) -> Option<DateTime<Utc>>;
}

impl Page {
    pub fn new(
        nodes: Vec<Object>,
        (has_previous, has_next): (bool, bool),
        places: impl Places + 'static,
    ) -> Self {
        Self { nodes, places: Box::new(places), has_next, has_previous }
    }

    /// The cursor of an item; null behind the last one.
    pub fn cursor(&self, index: usize) -> Scalar<'static> {
        self.places.cursor(index).map_or(Scalar::Null, |cursor| Scalar::Text(cursor.into()))
    }

    /// When an item came into the list.
    pub fn at(&self, index: usize) -> Scalar<'static> {
        self.places.at(index).map_or(Scalar::Null, Scalar::Time)
    }

    /// The index of the last item; behind the end if there is none.
    pub fn last(&self) -> usize {
        self.nodes.len().wrapping_sub(1)
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Page").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Object {
    pub fn of(entity: impl Into<Entity>) -> Self {
        Self::Entity(entity.into(), Presence::Named)
    }

    /// An entity that may not exist.
    pub fn sought(entity: impl Into<Entity>) -> Self {
        Self::Entity(entity.into(), Presence::Sought)
    }

    pub fn record(parts: impl IntoIterator<Item = (&'static str, Output)>) -> Self {
        Self::Record(Arc::new(Record { type_name: None, parts: parts.into_iter().collect() }))
    }

    /// A record that may be behind an interface.
    pub fn record_of(
        type_name: &'static str,
        parts: impl IntoIterator<Item = (&'static str, Output)>,
    ) -> Self {
        Self::Record(Arc::new(Record { type_name: Some(type_name), parts: parts.into_iter().collect() }))
    }

    pub fn of_row(row: Row) -> Self {
        Self::Entity(row.entity(), Presence::Read(row))
    }

    /// What it is, in error messages.
    pub const fn kind_name(&self) -> Option<&'static str> {
        match self {
            Self::Entity(entity, _) => Some(entity.kind.name()),
            _ => None,
        }
    }

    /// The name of its type, behind an interface.
    pub fn type_name(&self) -> Option<&'static str> {
        match self {
            Self::Entity(entity, _) => Some(type_name(entity.kind)),
            Self::Record(record) => record.type_name,
            _ => None,
        }
    }
}

/// The type of objects of a kind.
pub const fn type_name(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::User => "User",
        EntityKind::Note => "Note",
        EntityKind::Comment => "Comment",
        EntityKind::Group => "Group",
        EntityKind::Inbox => "Inbox",
    }
}

impl From<Arc<User>> for Object {
    fn from(user: Arc<User>) -> Self {
        Self::of_row(Row::User(user))
    }
}

impl From<Arc<Note>> for Object {
    fn from(note: Arc<Note>) -> Self {
        Self::of_row(Row::Note(note))
    }
}

impl From<Arc<Comment>> for Object {
    fn from(comment: Arc<Comment>) -> Self {
        Self::of_row(Row::Comment(comment))
    }
}

impl From<Arc<Group>> for Object {
    fn from(group: Arc<Group>) -> Self {
        Self::of_row(Row::Group(group))
    }
}

/// Its row is read if its texts are not known.
impl<T: CachedEntity> From<Cached<Arc<T>>> for Object
where
    Arc<T>: Into<Self>,
{
    fn from(found: Cached<Arc<T>>) -> Self {
        match found {
            Cached::Whole(row) => row.into(),
            Cached::WithoutTexts(record) => {
                let entity: Entity = record.id().into();
                Self::of(entity)
            }
        }
    }
}

macro_rules! from_ids {
    ($($id:ty)+) => {$(
        impl From<$id> for Object {
            fn from(id: $id) -> Self {
                Self::of(id)
            }
        }
    )+};
}

from_ids! { UserId NoteId CommentId GroupId Entity }

impl Output {
    pub const NULL: Self = Self::Scalar(Scalar::Null);
}

impl<T: Into<Object>> From<T> for Output {
    fn from(object: T) -> Self {
        Self::Object(object.into())
    }
}

impl From<Page> for Output {
    fn from(page: Page) -> Self {
        Self::Object(Object::Page(Arc::new(page)))
    }
}

impl From<Scalar<'static>> for Output {
    fn from(scalar: Scalar<'static>) -> Self {
        Self::Scalar(scalar)
    }
}

impl From<Option<Self>> for Output {
    fn from(value: Option<Self>) -> Self {
        value.unwrap_or(Self::NULL)
    }
}

impl Output {
    /// Null for none.
    pub fn optional(object: Option<impl Into<Object>>) -> Self {
        object.map(|object| Self::Object(object.into())).into()
    }

    pub fn list(objects: impl IntoIterator<Item = impl Into<Object>>) -> Self {
        Self::List(objects.into_iter().map(|object| Self::Object(object.into())).collect())
    }
}

impl From<bool> for Output {
    fn from(value: bool) -> Self {
        Self::Scalar(Scalar::Bool(value))
    }
}

impl From<i64> for Output {
    fn from(value: i64) -> Self {
        Self::Scalar(Scalar::Int(value))
    }
}

impl From<String> for Output {
    fn from(value: String) -> Self {
        Self::Scalar(Scalar::Text(value.into()))
    }
}

impl From<DateTime<Utc>> for Output {
    fn from(time: DateTime<Utc>) -> Self {
        Self::Scalar(Scalar::Time(time))
    }
}

impl<'a> From<&'a str> for Scalar<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<bool> for Scalar<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Scalar<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<DateTime<Utc>> for Scalar<'_> {
    fn from(time: DateTime<Utc>) -> Self {
        Self::Time(time)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Scalar<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
