//! Index of the schema: for each field its type and list size, for each input type what it accepts.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Name,
    parser::{
        parse_schema,
        types::{BaseType, FieldDefinition, InputObjectType, Type, TypeKind, TypeSystemDefinition},
    },
};
use async_graphql_value::ConstValue;

use super::{
    list_size::{ListSize, SchemaRules},
    values,
};

/// The schema's types by their names.
pub struct SchemaIndex {
    rules: SchemaRules,
    outputs: HashMap<Name, HashMap<Name, FieldInfo>>,
    inputs: HashMap<Name, InputType>,
    pub introspection: IntrospectionSize,
}

/// A field of an object or interface.
pub struct FieldInfo {
    /// Type of the value, or of its items.
    pub of: Name,
    pub arguments: Vec<Name>,
    pub size: ListSize,
    /// What each repetition of a long text costs.
    pub text: u64,
}

/// What an input type accepts.
pub enum InputType {
    Enum(HashSet<Name>),
    /// Fields: type, and whether there is a default value.
    Object(HashMap<Name, (Type, bool)>),
    Scalar,
}

/// Lengths of the lists in a response to introspection.
#[derive(Clone, Copy)]
pub struct IntrospectionSize {
    pub types: u64,
    /// Of a type, on average.
    pub fields: u64,
    /// Of the type that has most.
    pub most_fields: u64,
}

/// The type that a selection set is on.
#[derive(Clone, Copy)]
pub enum ParentType<'a> {
    /// A type of introspection: `__Schema`, `__Type` and so on.
    Introspection,
    /// An object, interface or union of the schema, by its fields.
    Object(&'a HashMap<Name, FieldInfo>),
    /// A type without fields.
    Leaf,
    /// The schema has no such type.
    Unknown,
}

impl SchemaIndex {
    pub fn of(sdl: &str, rules: SchemaRules) -> Self {
        let definitions = parse_schema(sdl).map(|document| document.definitions).unwrap_or_default();
        let mut types = Self {
            rules,
            outputs: HashMap::new(),
            inputs: HashMap::new(),
            introspection: IntrospectionSize { types: 0, fields: 0, most_fields: 0 },
        };
        for definition in definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            types.add(definition.node.name.node, definition.node.kind);
        }
        for scalar in ["Int", "Float", "String", "Boolean", "ID"] {
            types.inputs.insert(Name::new(scalar), InputType::Scalar);
        }
        let count = types.outputs.len().max(1);
        types.introspection = IntrospectionSize {
            types: (types.outputs.len() + types.inputs.len()) as u64,
            fields: types.outputs.values().map(HashMap::len).sum::<usize>().div_ceil(count) as u64,
            most_fields: types.outputs.values().map(HashMap::len).max().unwrap_or(0) as u64,
        };
        types
    }

    fn add(&mut self, name: Name, kind: TypeKind) {
        match kind {
            TypeKind::Object(object) => {
                self.add_output(name, object.fields.into_iter().map(|field| field.node))
            }
            TypeKind::Interface(interface) => {
                self.add_output(name, interface.fields.into_iter().map(|field| field.node));
            }
            TypeKind::Union(_) => self.add_output(name, []),
            TypeKind::Enum(of) => {
                let values = of.values.into_iter().map(|value| value.node.value.node).collect();
                self.inputs.insert(name, InputType::Enum(values));
            }
            TypeKind::InputObject(object) => {
                self.inputs.insert(name, InputType::Object(input_fields(object)));
            }
            TypeKind::Scalar => {
                self.inputs.insert(name, InputType::Scalar);
            }
        }
    }

    fn add_output(&mut self, name: Name, fields: impl IntoIterator<Item = FieldDefinition>) {
        let describe = |field: FieldDefinition| {
            let size = ListSize::of(&name, &field, &self.rules);
            let is_field =
                |(object, text, _): &&(&str, &str, usize)| name == *object && field.name.node == *text;
            let text = self.rules.texts.iter().find(is_field).map_or(0, |(.., bytes)| values::bytes(*bytes));
            let arguments = field.arguments.into_iter().map(|argument| argument.node.name.node).collect();
            (field.name.node, FieldInfo { of: innermost(&field.ty.node).clone(), arguments, size, text })
        };
        let fields = fields.into_iter().map(describe).collect();
        self.outputs.insert(name, fields);
    }

    pub fn parent(&self, name: &str) -> ParentType<'_> {
        if name.starts_with("__") {
            return ParentType::Introspection;
        }
        match self.outputs.get(name) {
            Some(fields) => ParentType::Object(fields),
            None if self.inputs.contains_key(name) => ParentType::Leaf,
            None => ParentType::Unknown,
        }
    }

    /// Whether a value can be read as the custom scalar of this name.
    pub fn is_scalar(&self, name: &str, value: &ConstValue) -> bool {
        (self.rules.is_scalar)(name, value)
    }

    pub fn input(&self, name: &Name) -> Option<&InputType> {
        self.inputs.get(name)
    }

    #[cfg(test)]
    pub fn fields(&self) -> impl Iterator<Item = (&Name, &Name, &FieldInfo)> {
        let of = |(object, fields)| HashMap::iter(fields).map(move |(name, field)| (object, name, field));
        self.outputs.iter().flat_map(of)
    }
}

fn input_fields(object: InputObjectType) -> HashMap<Name, (Type, bool)> {
    let describe = |field: async_graphql::Positioned<async_graphql::parser::types::InputValueDefinition>| {
        (field.node.name.node, (field.node.ty.node, field.node.default_value.is_some()))
    };
    object.fields.into_iter().map(describe).collect()
}

/// The type's name without lists.
pub fn innermost(ty: &Type) -> &Name {
    match &ty.base {
        BaseType::Named(name) => name,
        BaseType::List(inner) => innermost(inner),
    }
}
