//! The schema for the engine (async-graphql), which validates documents and answers introspection.

use std::future::ready;

use async_graphql::{
    dynamic::{
        self, Enum, EnumItem, Field as EngineField, FieldFuture, FieldValue, InputObject, InputValue,
        Interface, InterfaceField, Scalar as EngineScalar, Schema as EngineSchema, SubscriptionField,
        SubscriptionFieldFuture, TypeRef, Union,
    },
    parser::types::{BaseType, Type},
};
use futures_util::stream;

use super::{Schema, SchemaFor};
use crate::{
    definition::{
        interfaces::{INTERFACES, InterfaceType},
        types::{Argument, ENTITY, EnumType, InputDefinition, ObjectType},
    },
    request::scalars::{ANY, SCALARS, ScalarType},
};

/// How deep the engine follows fragments and selection sets: the largest value of the guard's own limit, which is
/// checked first.
const MAX_NESTING: usize = 64;

/// Length of a line in descriptions.
const LINE: usize = 100;

pub fn build(schema: &'static Schema, of: SchemaFor, suggestions: bool) -> EngineSchema {
    // The engine leaves the root of subscriptions out of the text of a subgraph. A type that is none is not left out.
    let subscription = (of != SchemaFor::Composition).then_some("Subscription");
    let mut builder = EngineSchema::build("Query", Some("Mutation"), subscription)
        .limit_recursive_depth(MAX_NESTING)
        .introspection_only();
    if of == SchemaFor::Gateways {
        builder = builder.register(any()).register(entity(schema));
    }
    for interface in &INTERFACES {
        builder = builder.register(engine_interface(interface, schema));
    }
    for scalar in &SCALARS {
        builder = builder.register(engine_scalar(scalar));
    }
    for of in schema.enums.values() {
        builder = builder.register(engine_enum(of));
    }
    for of in schema.inputs.values() {
        builder = builder.register(engine_input(of));
    }
    for object in schema.objects.values().filter(|object| of.shows(object.name)) {
        builder = match object.name {
            "Subscription" => builder.register(engine_subscription(object)),
            _ => builder.register(engine_object(object, of)),
        };
    }
    let builder = if suggestions { builder } else { builder.disable_suggestions() };
    builder.finish().expect("the schema is valid")
}

/// A representation of an entity: the resolver says what is wrong with one, so that the others have their values.
fn any() -> EngineScalar {
    EngineScalar::new(ANY).description("An object of another subgraph: its `__typename`, and its key.")
}

fn entity(schema: &'static Schema) -> Union {
    let union = Union::new(ENTITY).description("Whatever other subgraphs name by its key.");
    schema.behind(ENTITY).into_iter().fold(union, |union, object| union.possible_type(object.name))
}

/// An interface has the fields of any object that implements it.
fn engine_interface(of: &InterfaceType, schema: &Schema) -> Interface {
    let object = schema.behind(of.name).into_iter().next().expect("an object implements it");
    let fields = of.fields.iter().map(|name| object.field_named(name).expect("its objects have its fields"));
    fields.fold(Interface::new(of.name).description(lines(of.description)), |interface, field| {
        let engine_field =
            InterfaceField::new(field.name, type_ref(&field.of)).description(lines(&field.description));
        interface.field(
            field
                .arguments
                .iter()
                .fold(engine_field, |field, argument| field.argument(input_value(argument))),
        )
    })
}

/// A description in lines of a readable length.
fn lines(description: &str) -> String {
    let mut text = String::with_capacity(description.len());
    let mut column = 0;
    for word in description.split(' ') {
        if column > 0 && column + word.len() >= LINE {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
    text
}

fn engine_scalar(of: &ScalarType) -> EngineScalar {
    let is_valid = of.is_valid;
    EngineScalar::new(of.name).description(lines(of.description)).specified_by_url(of.url).validator(is_valid)
}

fn engine_enum(of: &EnumType) -> Enum {
    let items =
        of.values.iter().map(|(name, description)| EnumItem::new(*name).description(lines(description)));
    Enum::new(of.name).description(lines(of.description)).items(items)
}

fn engine_input(of: &InputDefinition) -> InputObject {
    let input = InputObject::new(of.name).description(lines(&of.description));
    of.fields.iter().fold(input, |input, field| input.field(input_value(field)))
}

fn input_value(argument: &Argument) -> InputValue {
    let mut value = InputValue::new(argument.name, type_ref(&argument.of));
    if let Some(description) = &argument.description {
        value = value.description(lines(description));
    }
    if let Some(default) = &argument.default {
        value = value.default_value(default.clone());
    }
    value
}

fn type_ref(of: &Type) -> TypeRef {
    let base = match &of.base {
        BaseType::Named(name) => TypeRef::named(name.as_str()),
        BaseType::List(item) => TypeRef::List(Box::new(type_ref(item))),
    };
    if of.nullable { base } else { TypeRef::NonNull(Box::new(base)) }
}

fn engine_object(of: &'static ObjectType, schema_for: SchemaFor) -> dynamic::Object {
    let mut object = dynamic::Object::new(of.name).description(lines(&of.description));
    for interface in &of.interfaces {
        object = object.implement(*interface);
    }
    if schema_for == SchemaFor::Composition {
        object = of.keys.iter().fold(object, |object, key| object.key(*key));
        // Every subgraph with Relay's pages has one.
        object = if of.name == "PageInfo" { object.shareable() } else { object };
    }
    of.fields.iter().filter(|field| schema_for.shows(field.name)).fold(object, |object, field| {
        let engine_field =
            EngineField::new(field.name, type_ref(&field.of), |_| FieldFuture::Value(None::<FieldValue<'_>>));
        let engine_field = engine_field.description(lines(&field.description));
        object.field(
            field
                .arguments
                .iter()
                .fold(engine_field, |field, argument| field.argument(input_value(argument))),
        )
    })
}

fn engine_subscription(of: &'static ObjectType) -> dynamic::Subscription {
    let subscription = dynamic::Subscription::new(of.name).description(lines(&of.description));
    of.fields.iter().fold(subscription, |subscription, field| {
        let engine_field = SubscriptionField::new(field.name, type_ref(&field.of), |_| {
            SubscriptionFieldFuture::new(ready(Ok(stream::empty::<async_graphql::Result<FieldValue<'_>>>())))
        });
        let engine_field = engine_field.description(lines(&field.description));
        let engine_field = field
            .arguments
            .iter()
            .fold(engine_field, |field, argument| field.argument(input_value(argument)));
        subscription.field(engine_field)
    })
}
