//! All types of a schema by their names.

use std::collections::HashMap;

use async_graphql::parser::types::OperationType;

use super::{
    interfaces::{INTERFACES, InterfaceType},
    types::{ENTITY, EnumType, Field, InputDefinition, ObjectType},
};
use crate::request::scalars::SCALARS;

/// All types that are not scalars.
pub struct Schema {
    pub objects: HashMap<&'static str, ObjectType>,
    pub inputs: HashMap<&'static str, InputDefinition>,
    pub enums: HashMap<&'static str, EnumType>,
    /// An object that implements each interface, by their names.
    implementors: HashMap<&'static str, &'static str>,
    pub introspection: IntrospectionSize,
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
pub enum ParentType {
    /// A type of introspection: `__Schema`, `__Type` and so on.
    Introspection,
    Object(&'static ObjectType),
    /// An interface has the fields of any object that implements it, such as this one.
    Interface(&'static InterfaceType, &'static ObjectType),
    Union,
    /// A type without fields.
    Leaf,
    /// The schema has no such type.
    Unknown,
}

impl Schema {
    pub fn new(
        objects: impl IntoIterator<Item = ObjectType>,
        inputs: impl IntoIterator<Item = InputDefinition>,
        enums: impl IntoIterator<Item = EnumType>,
    ) -> Self {
        let objects: HashMap<_, _> = objects.into_iter().map(|object| (object.name, object)).collect();
        let inputs: HashMap<_, _> = inputs.into_iter().map(|input| (input.name, input)).collect();
        let enums: HashMap<_, _> = enums.into_iter().map(|of| (of.name, of)).collect();
        let lengths = || objects.values().map(|object| object.fields.len());
        let others = inputs.len() + enums.len() + SCALARS.len() + INTERFACES.len();
        let introspection = IntrospectionSize {
            types: (objects.len() + others) as u64,
            fields: lengths().sum::<usize>().div_ceil(objects.len().max(1)) as u64,
            most_fields: lengths().max().unwrap_or(0) as u64,
        };
        let implementors = objects
            .values()
            .flat_map(|object| object.interfaces.iter().map(|interface| (*interface, object.name)))
            .collect();
        Self { objects, inputs, enums, implementors, introspection }
    }

    pub fn object(&self, name: &str) -> Option<&ObjectType> {
        self.objects.get(name)
    }

    /// The root type of an operation.
    pub fn root(&self, of: OperationType) -> Option<&ObjectType> {
        self.object(match of {
            OperationType::Query => "Query",
            OperationType::Mutation => "Mutation",
            OperationType::Subscription => "Subscription",
        })
    }

    /// The types of objects that a field of this type may have: itself, or the members of the interface or union.
    pub fn behind(&self, name: &str) -> Vec<&ObjectType> {
        match self.object(name) {
            Some(object) => vec![object],
            None => {
                let mut objects: Vec<_> = self.objects.values().filter(|object| object.is_a(name)).collect();
                objects.sort_unstable_by_key(|object| object.name);
                objects
            }
        }
    }

    pub fn parent(&'static self, name: &str) -> ParentType {
        if let Some(object) = self.object(name) {
            return ParentType::Object(object);
        }
        let implementor = self.implementors.get(name).and_then(|object| self.object(object));
        if let (Some(object), Some(interface)) = (implementor, INTERFACES.iter().find(|of| of.name == name)) {
            return ParentType::Interface(interface, object);
        }
        let is_leaf = ["Int", "Float", "String", "Boolean", "ID"].contains(&name)
            || SCALARS.iter().any(|scalar| scalar.name == name)
            || self.enums.contains_key(name)
            || self.inputs.contains_key(name);
        match name {
            ENTITY => ParentType::Union,
            _ if name.starts_with("__") => ParentType::Introspection,
            _ if is_leaf => ParentType::Leaf,
            _ => ParentType::Unknown,
        }
    }

    /// The field of a type with this name.
    pub fn field_of(&'static self, parent: ParentType, name: &str) -> Option<&'static Field> {
        match parent {
            ParentType::Object(object) => object.field_named(name),
            ParentType::Interface(interface, object) if interface.fields.contains(&name) => {
                object.field_named(name)
            }
            _ => None,
        }
    }
}
