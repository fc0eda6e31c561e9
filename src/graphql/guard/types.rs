//! What the schema says of fields, and of the types of what is sent.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Name,
    parser::{
        parse_schema,
        types::{BaseType, FieldDefinition, InputObjectType, Type, TypeKind, TypeSystemDefinition},
    },
};

use super::sizes::Size;

/// The schema's types by their names.
pub struct Types {
    outputs: HashMap<Name, HashMap<Name, Field>>,
    inputs: HashMap<Name, Input>,
    pub introspected: Introspected,
}

/// A field of an object or interface.
pub struct Field {
    /// Type of the answer, or of its items.
    pub of: Name,
    pub size: Size,
}

/// A type of what is sent.
pub enum Input {
    Enum(HashSet<Name>),
    /// Fields: type, and whether there is a default value.
    Object(HashMap<Name, (Type, bool)>),
    Scalar,
}

/// Lengths of the lists of an introspection.
#[derive(Clone, Copy)]
pub struct Introspected {
    pub types: u64,
    /// Of a type, on average.
    pub fields: u64,
    /// Of the type that has most.
    pub most_fields: u64,
}

/// The object that a selection is in, as far as the document tells.
#[derive(Clone, Copy)]
pub enum Parent<'a> {
    /// Of the schema's own description: `__Schema`, `__Type` and so on.
    Introspection,
    Known(&'a HashMap<Name, Field>),
    Unknown,
}

impl Types {
    pub fn of(sdl: &str) -> Self {
        let definitions = parse_schema(sdl).map(|document| document.definitions).unwrap_or_default();
        let mut types = Self {
            outputs: HashMap::new(),
            inputs: HashMap::new(),
            introspected: Introspected { types: 0, fields: 0, most_fields: 0 },
        };
        for definition in definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            types.add(definition.node.name.node, definition.node.kind);
        }
        for scalar in ["Int", "Float", "String", "Boolean", "ID"] {
            types.inputs.insert(Name::new(scalar), Input::Scalar);
        }
        let count = types.outputs.len().max(1);
        types.introspected = Introspected {
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
                self.inputs.insert(name, Input::Enum(values));
            }
            TypeKind::InputObject(object) => {
                self.inputs.insert(name, Input::Object(input_fields(object)));
            }
            TypeKind::Scalar => {
                self.inputs.insert(name, Input::Scalar);
            }
        }
    }

    fn add_output(&mut self, name: Name, fields: impl IntoIterator<Item = FieldDefinition>) {
        let describe = |field: FieldDefinition| {
            let size = Size::of(&name, &field);
            (field.name.node, Field { of: innermost(&field.ty.node).clone(), size })
        };
        let fields = fields.into_iter().map(describe).collect();
        self.outputs.insert(name, fields);
    }

    pub fn parent(&self, name: &str) -> Parent<'_> {
        if name.starts_with("__") {
            return Parent::Introspection;
        }
        self.outputs.get(name).map_or(Parent::Unknown, Parent::Known)
    }

    pub fn input(&self, name: &Name) -> Option<&Input> {
        self.inputs.get(name)
    }

    #[cfg(test)]
    pub fn fields(&self) -> impl Iterator<Item = (&Name, &Name, &Field)> {
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
