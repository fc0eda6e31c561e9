//! The schema, as random documents need it.

use std::collections::BTreeMap;

use async_graphql::parser::{
    parse_schema,
    types::{BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind, TypeSystemDefinition},
};

/// Fields of each object, interface and input of the schema, and the values of enums.
pub struct Schema {
    pub fields: BTreeMap<String, Vec<FieldDefinition>>,
    pub inputs: BTreeMap<String, Vec<InputValueDefinition>>,
    pub enums: BTreeMap<String, Vec<String>>,
}

pub const NODES: [&str; 4] = ["User", "Note", "Comment", "Group"];

impl Schema {
    pub fn of_plaudit() -> Self {
        let (mut fields, mut inputs, mut enums) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for definition in parse_schema(include_str!("../../../../schema/schema.graphql")).unwrap().definitions
        {
            let TypeSystemDefinition::Type(of) = definition else { continue };
            let name = of.node.name.node.to_string();
            let unwrap = |fields: Vec<async_graphql::Positioned<FieldDefinition>>| {
                fields.into_iter().map(|field| field.node).collect::<Vec<_>>()
            };
            match of.node.kind {
                TypeKind::Object(object) => drop(fields.insert(name, unwrap(object.fields))),
                TypeKind::Interface(interface) => drop(fields.insert(name, unwrap(interface.fields))),
                TypeKind::InputObject(input) => {
                    inputs.insert(name, input.fields.into_iter().map(|field| field.node).collect());
                }
                TypeKind::Enum(of) => {
                    let values = of.values.into_iter().map(|value| value.node.value.node.to_string());
                    enums.insert(name, values.collect());
                }
                _ => {}
            }
        }
        Self { fields, inputs, enums }
    }
}

/// The type without lists and exclamation marks.
pub fn named(of: &Type) -> &str {
    match &of.base {
        BaseType::Named(name) => name,
        BaseType::List(item) => named(item),
    }
}
