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
    /// Interfaces of each object.
    pub interfaces: BTreeMap<String, Vec<String>>,
}

impl Schema {
    pub fn of_plaudit() -> Self {
        let (mut fields, mut inputs, mut enums) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut interfaces = BTreeMap::new();
        for definition in parse_schema(include_str!("../../schema/schema.graphql")).unwrap().definitions {
            let TypeSystemDefinition::Type(of) = definition else { continue };
            let name = of.node.name.node.to_string();
            let unwrap = |fields: Vec<async_graphql::Positioned<FieldDefinition>>| {
                fields.into_iter().map(|field| field.node).collect::<Vec<_>>()
            };
            match of.node.kind {
                TypeKind::Object(object) => {
                    let implemented = object.implements.iter().map(|interface| interface.node.to_string());
                    interfaces.insert(name.clone(), implemented.collect());
                    fields.insert(name, unwrap(object.fields));
                }
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
        Self { fields, inputs, enums, interfaces }
    }

    /// Types that objects of this type may be of: its interfaces, or the objects that implement it.
    pub fn related(&self, of: &str) -> Vec<&str> {
        match self.interfaces.get(of) {
            Some(interfaces) => interfaces.iter().map(String::as_str).collect(),
            None => {
                let implements = |(_, interfaces): &(_, &Vec<String>)| interfaces.iter().any(|one| one == of);
                self.interfaces.iter().filter(implements).map(|(object, _)| object.as_str()).collect()
            }
        }
    }

    /// The interface that declares a field of an object, or the type itself.
    pub fn declares<'a>(&'a self, of: &'a str, field: &str) -> &'a str {
        let declares = |interface: &&String| self.fields[*interface].iter().any(|one| one.name.node == field);
        self.interfaces.get(of).and_then(|all| all.iter().find(declares)).map_or(of, String::as_str)
    }
}

/// The type without lists and exclamation marks.
pub fn named(of: &Type) -> &str {
    match &of.base {
        BaseType::Named(name) => name,
        BaseType::List(item) => named(item),
    }
}
