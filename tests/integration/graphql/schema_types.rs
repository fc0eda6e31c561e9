//! The types of the schema, for tests of all fields, arguments or mutations.

use std::collections::BTreeMap;

use async_graphql::{
    Positioned,
    parser::{
        parse_schema,
        types::{
            BaseType, FieldDefinition, InputValueDefinition, Type, TypeDefinition, TypeKind,
            TypeSystemDefinition,
        },
    },
};

use serde_json::{Value, json};
use support::in_days;

/// The types of the schema by their names.
pub struct Types(BTreeMap<String, TypeDefinition>);

impl Types {
    pub fn read() -> Self {
        let document = parse_schema(support::printed(&["schema"])).unwrap();
        let types = document.definitions.into_iter().filter_map(|definition| match definition {
            TypeSystemDefinition::Type(of) => Some((of.node.name.node.to_string(), of.node)),
            _ => None,
        });
        Self(types.collect())
    }

    /// Every field of every object type, with the name of the type.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &FieldDefinition)> {
        let objects = self.0.iter().filter_map(|(name, of)| match &of.kind {
            TypeKind::Object(object) => Some((name.as_str(), &object.fields)),
            _ => None,
        });
        objects.flat_map(|(of, fields)| fields.iter().map(move |field| (of, &field.node)))
    }

    /// Every argument of an output field, with the names of the type and the field.
    pub fn arguments(&self) -> impl Iterator<Item = (&str, &str, &InputValueDefinition)> {
        self.fields().flat_map(|(of, field)| {
            let name = field.name.node.as_str();
            field.arguments.iter().map(move |argument| (of, name, &argument.node))
        })
    }

    /// Every mutation with the fields of its input.
    pub fn mutations(&self) -> impl Iterator<Item = (&str, &[Positioned<InputValueDefinition>])> {
        let inputs = self.arguments().filter(|(of, ..)| *of == "Mutation");
        inputs.map(|(_, mutation, input)| (mutation, self.input(named(&input.ty.node)).unwrap()))
    }

    /// The fields of an input type.
    pub fn input(&self, name: &str) -> Option<&[Positioned<InputValueDefinition>]> {
        match &self.0.get(name)?.kind {
            TypeKind::InputObject(input) => Some(&input.fields),
            _ => None,
        }
    }

    /// An input of the right form: what is required, and of an update one text.
    pub fn smallest_input(&self, mutation: &str, fields: &[Positioned<InputValueDefinition>]) -> Value {
        let has_one_of = mutation.starts_with("update");
        let is_given = |field: &InputValueDefinition| {
            !field.ty.node.nullable || has_one_of && ["body", "name"].contains(&field.name.node.as_str())
        };
        let given = fields.iter().map(|field| &field.node).filter(|field| is_given(field));
        given.map(|field| (field.name.node.to_string(), self.value_of(field))).collect()
    }

    fn value_of(&self, field: &InputValueDefinition) -> Value {
        let name = field.name.node.as_str();
        let value = match named(&field.ty.node) {
            "ID" if name == "aboutId" || name.starts_with("note") => json!("note_1"),
            "ID" if name.starts_with("comment") => json!("comment_1"),
            "ID" if name.starts_with("group") => json!("group_1"),
            "ID" if name == "recipientId" => json!("user_2"),
            "ID" => json!("user_1"),
            "Int" => json!(1),
            "DateTime" => json!(in_days(1)),
            "String" => json!("Words"),
            of => match self.0.get(of).map(|of| &of.kind) {
                Some(TypeKind::InputObject(input)) => self.smallest_input("", &input.fields),
                Some(TypeKind::Enum(of)) => json!(of.values[0].node.value.node.as_str()),
                _ => panic!("a value of {of}"),
            },
        };
        if matches!(field.ty.node.base, BaseType::List(_)) { json!([value]) } else { value }
    }

    pub fn implements(&self, name: &str, interface: &str) -> bool {
        match self.0.get(name).map(|of| &of.kind) {
            Some(TypeKind::Object(object)) => object.implements.iter().any(|of| of.node == interface),
            _ => false,
        }
    }
}

/// The name of a type, or of the type of its items.
pub fn named(of: &Type) -> &str {
    match &of.base {
        BaseType::Named(name) => name.as_str(),
        BaseType::List(items) => named(items),
    }
}
