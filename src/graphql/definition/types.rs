//! How types are declared: one line per field is its place in the schema, its resolver and its part in a plan.

use std::sync::Arc;

use async_graphql::{
    Name, Value,
    parser::{
        parse_schema,
        types::{BaseType, InputValueDefinition, Type, TypeKind, TypeSystemDefinition},
    },
};
use futures_util::future::BoxFuture;

use super::{
    arguments::Arguments,
    interfaces::{COMMENT_LIST, COUNTED, GROUP_LIST, NOTE_LIST, USER_LIST},
    values::{Object, Output, Page, Scalar},
    watch::Watched,
};
use crate::{
    catalogue::{Counter, EdgeKind, Entity},
    graphql::{
        errors::{ApiError, ApiResult},
        reading::{facts::Reads, scope::Scope, view::View},
        request::access::{Who, rule},
    },
};

/// An object type.
pub struct ObjectType {
    pub name: &'static str,
    pub description: String,
    /// Names of the interfaces that it implements.
    pub interfaces: Vec<&'static str>,
    /// Fields by each of which a federated graph names it; those that have any are the union [`ENTITY`].
    pub keys: Vec<&'static str>,
    pub fields: Vec<Field>,
}

/// The union of all types with keys.
pub const ENTITY: &str = "_Entity";

/// A field of an object type.
pub struct Field {
    pub name: &'static str,
    pub description: String,
    pub arguments: Vec<Argument>,
    pub of: Type,
    pub resolve: Resolve,
    /// Whether its value is the same for all viewers. If not, subscriptions that select it are executed for each viewer.
    pub is_same_for_all: bool,
    /// Whether its objects are given as everybody sees them, with their rows.
    pub shows_everybody: bool,
    /// Who may see it, if not everybody who sees the object.
    pub who: Option<Who>,
}

/// An argument, or a field of an input type.
pub struct Argument {
    pub name: &'static str,
    pub description: Option<String>,
    pub of: Type,
    pub default: Option<Value>,
}

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
    /// Whether more is selected in the items of a page than what their ids tell: then the page should have their rows.
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

impl ObjectType {
    pub fn new(name: &'static str, description: impl Into<String>) -> Self {
        Self {
            name,
            description: description.into(),
            interfaces: Vec::new(),
            keys: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// Implements an interface of [`INTERFACES`](super::interfaces::INTERFACES).
    #[must_use]
    pub fn implements(mut self, interface: &'static str) -> Self {
        self.interfaces.push(interface);
        self
    }

    /// A federated graph names it by this field.
    #[must_use]
    pub fn key(mut self, field: &'static str) -> Self {
        self.keys.push(field);
        self
    }

    /// Whether a selection on the type of this name applies to it: itself, an interface, a union.
    pub fn is_a(&self, name: &str) -> bool {
        self.name == name || self.interfaces.contains(&name) || name == ENTITY && !self.keys.is_empty()
    }

    /// Adds a field. `signature`: name, arguments and type as in the schema's text.
    #[must_use]
    pub fn field(mut self, signature: &str, description: impl Into<String>, resolve: Resolve) -> Self {
        let (name, arguments, of) = parsed(signature);
        let is_same_for_all = match &resolve {
            // Until a comment is approved, only its author and moderators see its row.
            Resolve::Fact(..) | Resolve::Link(..) => {
                let reads = resolve.reads();
                !(reads.is_own() || reads.row && self.name == "Comment")
            }
            Resolve::Page(_) => true,
            Resolve::Part | Resolve::Call(_) | Resolve::Watch(_) => false,
        };
        let (description, who) = (description.into(), rule(self.name, name));
        let shows_everybody = false;
        self.fields.push(Field {
            name,
            description,
            arguments,
            of,
            resolve,
            is_same_for_all,
            shows_everybody,
            who,
        });
        self
    }

    /// The field that was added last is the same for all viewers.
    #[must_use]
    pub fn same_for_all(mut self) -> Self {
        if let Some(field) = self.fields.last_mut() {
            field.is_same_for_all = true;
        }
        self
    }

    /// The objects of this field are given as everybody sees them, with their rows.
    #[must_use]
    pub fn shows_everybody(mut self, name: &str) -> Self {
        for field in self.fields.iter_mut().filter(|field| field.name == name) {
            field.shows_everybody = true;
        }
        self
    }

    /// Adds the version of the entity's counts.
    #[must_use]
    pub fn counts_version(self) -> Self {
        let version = counted(|of| Ok(Scalar::Int(of.counted()?.version.get() as i64)));
        self.implements(COUNTED).field(
            "countsVersion: CountsVersion!",
            "The version of this object's counts.",
            version,
        )
    }

    /// Adds fields of a [`Record`](super::values::Record): signature and description each.
    #[must_use]
    pub fn parts<'a>(self, parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        parts.into_iter().fold(self, |object, (signature, description)| {
            object.field(signature, description, Resolve::Part)
        })
    }

    /// The same for a record that is the same for all viewers.
    #[must_use]
    pub fn shared_parts<'a>(self, parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        parts.into_iter().fold(self, |object, part| object.parts([part]).same_for_all())
    }

    pub fn field_named(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A connection: a list of nodes of one type.
pub struct Connection {
    /// Its types are named after it: `LikerConnection`, `LikerEdge`.
    pub name: &'static str,
    pub node: &'static str,
    /// The field of its edges that says when the item came into the list: name and description.
    pub at: Option<(&'static str, &'static str)>,
}

impl Connection {
    /// A list whose edges have no time.
    pub const fn of(node: &'static str) -> Self {
        Self { name: node, node, at: None }
    }

    /// A list along an edge of the graph, with the time at which it was switched on.
    pub const fn along(
        name: &'static str,
        node: &'static str,
        at: &'static str,
        description: &'static str,
    ) -> Self {
        Self { name, node, at: Some((at, description)) }
    }

    /// The connection type, and its edge type.
    pub fn types(&self) -> [ObjectType; 2] {
        let Self { name, node, at } = self;
        let named = |suffix: &str| -> &'static str { format!("{name}{suffix}").leak() };
        let edge = ObjectType::new(named("Edge"), "An item of a list.")
            .field(&format!("node: {node}!"), "The item.", Resolve::Page(node_of_edge))
            .field("cursor: String!", "The item's place in the list, for `after`.", Resolve::Page(cursor));
        let edge = at.iter().fold(edge, |edge, (at, description)| {
            edge.field(&format!("{at}: DateTime!"), *description, Resolve::Page(time_of_edge))
        });
        let page = ObjectType::new(named("Connection"), "A page of a list.")
            .field("pageInfo: PageInfo!", "Where the page is in the list.", Resolve::Page(page_info))
            .field(&format!("edges: [{name}Edge!]!"), "The items with their cursors.", Resolve::Page(edges))
            .field(&format!("nodes: [{node}!]!"), "The items.", Resolve::Page(nodes));
        let list = match *node {
            "Note" => Some(NOTE_LIST),
            "User" => Some(USER_LIST),
            "Comment" => Some(COMMENT_LIST),
            "Group" => Some(GROUP_LIST),
            _ => None,
        };
        [list.into_iter().fold(page, ObjectType::implements), edge]
    }
}

pub fn page_info_type() -> ObjectType {
    let has_previous = |object: &Object| page(object).map(|page| page.has_previous.into()).into();
    let has_next = |object: &Object| page(object).map(|page| page.has_next.into()).into();
    let start = |object: &Object| page(object).map(|page| page.cursor(0).into()).into();
    let end = |object: &Object| page(object).map(|page| page.cursor(page.last()).into()).into();
    ObjectType::new("PageInfo", "Where a page is in its list.")
        .field(
            "hasPreviousPage: Boolean!",
            "Whether the page begins after a cursor. Lists are read forwards only.",
            Resolve::Page(has_previous),
        )
        .field("hasNextPage: Boolean!", "Whether there are items after it.", Resolve::Page(has_next))
        .field(
            "startCursor: String",
            "Cursor of the first item. Null on an empty page.",
            Resolve::Page(start),
        )
        .field("endCursor: String", "Cursor of the last item. Null on an empty page.", Resolve::Page(end))
}

const fn page(object: &Object) -> Option<&Arc<Page>> {
    match object {
        Object::Page(page) | Object::Edge(page, _) | Object::PageInfo(page) => Some(page),
        Object::Root | Object::Entity(..) | Object::Record(_) => None,
    }
}

fn page_info(object: &Object) -> Output {
    page(object).map(|page| Object::PageInfo(Arc::clone(page)).into()).into()
}

fn nodes(object: &Object) -> Output {
    page(object).map(|page| Output::List(page.nodes.iter().cloned().map(Output::Object).collect())).into()
}

fn edges(object: &Object) -> Output {
    let edge = |page: &Arc<Page>, index| Object::Edge(Arc::clone(page), index).into();
    page(object)
        .map(|page| Output::List((0..page.nodes.len()).map(|index| edge(page, index)).collect()))
        .into()
}

fn node_of_edge(object: &Object) -> Output {
    match object {
        Object::Edge(page, index) => page.nodes.get(*index).cloned().map(Output::Object).into(),
        _ => Output::NULL,
    }
}

fn cursor(object: &Object) -> Output {
    match object {
        Object::Edge(page, index) => page.cursor(*index).into(),
        _ => Output::NULL,
    }
}

fn time_of_edge(object: &Object) -> Output {
    match object {
        Object::Edge(page, index) => page.at(*index).into(),
        _ => Output::NULL,
    }
}

/// An enum type: its values with their descriptions.
pub struct EnumType {
    pub name: &'static str,
    pub description: &'static str,
    pub values: Vec<(&'static str, &'static str)>,
}

/// An input type.
pub struct InputDefinition {
    pub name: &'static str,
    pub description: String,
    pub fields: Vec<Argument>,
}

/// Name, arguments and type of a field.
///
/// # Panics
/// For a signature that is not GraphQL: a mistake in the code, which the first test of the schema finds.
fn parsed(signature: &str) -> (&'static str, Vec<Argument>, Type) {
    let document = parse_schema(format!("type T {{ {signature} }}")).expect(signature);
    let definition = document.definitions.into_iter().next();
    let Some(TypeSystemDefinition::Type(definition)) = definition else { panic!("{signature}") };
    let TypeKind::Object(object) = definition.node.kind else { panic!("{signature}") };
    let field = object.fields.into_iter().next().expect(signature).node;
    let arguments = field.arguments.into_iter().map(|argument| Argument::from(argument.node)).collect();
    (leaked(&field.name.node), arguments, field.ty.node)
}

/// Fields of an input type: signature and description each.
///
/// # Panics
/// As [`parsed`].
pub fn input_fields<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Argument> {
    let field = |(signature, description): (&str, &str)| {
        let (name, _, of) = parsed(signature);
        Argument { name, description: Some(description.to_owned()), of, default: None }
    };
    fields.into_iter().map(field).collect()
}

impl From<InputValueDefinition> for Argument {
    fn from(definition: InputValueDefinition) -> Self {
        Self {
            name: leaked(&definition.name.node),
            description: definition.description.map(|text| text.node),
            of: definition.ty.node,
            default: definition.default_value.map(|value| value.node),
        }
    }
}

/// Names of the schema live as long as the process.
fn leaked(name: &str) -> &'static str {
    name.to_owned().leak()
}

/// The name of a field's type, or of the items of its list.
pub fn named(of: &Type) -> &Name {
    match &of.base {
        BaseType::Named(name) => name,
        BaseType::List(item) => named(item),
    }
}
