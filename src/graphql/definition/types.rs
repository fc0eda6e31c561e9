//! How types are declared: one line per field is its place in the schema, its resolver and its part in a plan.

use async_graphql::{
    Name, Value,
    parser::{
        parse_schema,
        types::{BaseType, InputValueDefinition, Type, TypeKind, TypeSystemDefinition},
    },
};

use super::{
    interfaces::COUNTED,
    list_size::ListSize,
    pages::MAX_PAGE,
    resolve::{Resolve, counted},
    values::Scalar,
};
use crate::request::access::Who;

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
    /// Whether its value is the same for all viewers. If not, subscriptions that select it are executed for
    /// each viewer.
    pub is_same_for_all: bool,
    /// Whether its objects are given as everybody sees them, with their rows.
    pub shows_everybody: bool,
    /// Who may see it, if not everybody who sees the object.
    pub who: Option<Who>,
    /// Whether it is a mutation that creates something that others see.
    pub creates: bool,
    /// How many items it returns.
    pub size: ListSize,
    /// Most bytes of a text whose repetition costs more than a field; 0 for others.
    pub long_text: usize,
}

/// An argument, or a field of an input type.
pub struct Argument {
    pub name: &'static str,
    pub description: Option<String>,
    pub of: Type,
    pub default: Option<Value>,
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
        let size = list_size(name, &arguments, &of, matches!(resolve, Resolve::Watch(_)));
        self.fields.push(Field {
            name,
            description: description.into(),
            arguments,
            of,
            resolve,
            is_same_for_all,
            shows_everybody: false,
            who: None,
            creates: false,
            size,
            long_text: 0,
        });
        self
    }

    fn change(mut self, name: &str, change: impl FnOnce(&mut Field)) -> Self {
        let field = self.fields.iter_mut().find(|field| field.name == name);
        change(field.unwrap_or_else(|| panic!("{} has no field {name}", self.name)));
        self
    }

    /// Only these may use the field that was added last.
    #[must_use]
    pub fn who(mut self, who: Who) -> Self {
        if let Some(field) = self.fields.last_mut() {
            field.who = Some(who);
        }
        self
    }

    /// The field with this name is a mutation that creates something that others see.
    #[must_use]
    pub fn creates(self, name: &str) -> Self {
        self.change(name, |field| field.creates = true)
    }

    /// How many items the list with this name returns.
    #[must_use]
    pub fn sized(self, name: &str, size: ListSize) -> Self {
        self.change(name, |field| field.size = size)
    }

    /// The text with this name has at most so many bytes. Each repetition of it in an answer costs more than a field.
    #[must_use]
    pub fn long_text(self, name: &str, bytes: usize) -> Self {
        self.change(name, |field| field.long_text = bytes)
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
    pub fn shows_everybody(self, name: &str) -> Self {
        self.change(name, |field| field.shows_everybody = true)
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

/// Lists whose items are counted at the field above them: pages, the notes of `recordViews`, results of elements.
const COUNTED_ABOVE: [&str; 4] = ["edges", "nodes", "notes", "results"];

/// The size of a field, by its signature: a page, a list of what its arguments name, what a subscription watches.
fn list_size(name: &str, arguments: &[Argument], of: &Type, watches: bool) -> ListSize {
    let is_list = |of: &Type| matches!(of.base, BaseType::List(_));
    if let Some(first) = arguments.iter().find(|argument| argument.name == "first") {
        return ListSize::page(first.default.as_ref());
    }
    let ids = arguments.iter().find(|argument| is_list(&argument.of)).map(|argument| argument.name);
    match ids {
        _ if watches => ListSize::Messages { argument: ids },
        Some(argument) if is_list(of) => ListSize::Ids { argument, field: None },
        _ if is_list(of) && !COUNTED_ABOVE.contains(&name) => ListSize::Unknown(MAX_PAGE),
        _ => ListSize::One,
    }
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
