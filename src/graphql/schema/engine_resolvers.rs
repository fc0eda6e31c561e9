//! Resolvers for the engine.

use std::borrow::Cow;

use async_graphql::{
    Value,
    dynamic::{FieldValue, ResolverContext},
};
use chrono::SecondsFormat;
use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};

use super::{
    Schema, coerced,
    engine_outcome::{EngineOutcome, NotedObject},
    with_canonical_ids,
};
use crate::{
    definition::{
        arguments::Arguments,
        resolve::{Call, Resolve},
        types::{Field, named},
        values::{Object, Output, Presence, Scalar},
    },
    errors::ApiResult,
    live::topic::{TopicEvent, Topics},
    reading::{
        facts::{Facts, Reads},
        guards,
        scope::Scope,
        view::View,
    },
    request::ids::global_id,
};
use plaudit_domain::Durability;

/// An object as the engine passes it on.
struct EngineObject {
    object: Object,
    scope: Scope,
}

/// Stands for an item that does not exist. Its fields have no values.
struct Absent;

/// At the start of a subscription registers the topics of a root field. For an event, returns the object.
pub(super) async fn engine_root<'a>(
    field: &Field,
    ctx: &ResolverContext<'_>,
) -> ApiResult<Option<FieldValue<'a>>> {
    let Resolve::Watch(watch) = &field.resolve else { return Ok(None) };
    let scope = ctx.data_unchecked::<Scope>();
    let key = &ctx.ctx.item.node.response_key().node;
    if let Some(event) = ctx.data_opt::<TopicEvent>() {
        if event.field != *key {
            return Ok(None);
        }
        return event.object.clone().map(|object| Some(engine_value(object, scope, None)));
    }
    guards::check(field.who, scope)?;
    let arguments = Cow::Owned(coerced(field, Arguments(ctx.args.as_index_map().clone()))?);
    let arguments = with_canonical_ids(field, arguments, scope).await?;
    let watched = watch(Call::new(scope, &Object::Root, &arguments)).await?;
    ctx.data_unchecked::<Topics>().add(key, watched);
    Ok(None)
}

/// `type_name`: behind an interface.
fn engine_value<'a>(object: Object, scope: &Scope, type_name: Option<&'static str>) -> FieldValue<'a> {
    let value = FieldValue::owned_any(EngineObject { object, scope: scope.clone() });
    match type_name {
        Some(name) => value.with_type(name),
        None => value,
    }
}

/// The value of a field; `None` also if it failed.
pub(super) async fn engine_field<'a>(
    field: &'static Field,
    is_mutation: bool,
    ctx: ResolverContext<'a>,
) -> Option<FieldValue<'a>> {
    if ctx.parent_value.downcast_ref::<Absent>().is_some() {
        return None;
    }
    let parent = ctx.parent_value.downcast_ref::<EngineObject>();
    let (object, scope) = match parent {
        Some(EngineObject { object, scope }) => (object, scope.clone()),
        None => (&Object::Root, ctx.data_unchecked::<Scope>().clone()),
    };
    let outcome = ctx.data_unchecked::<EngineOutcome>();
    let arguments = coerced(field, Arguments(ctx.args.as_index_map().clone()));
    let output = async {
        let arguments = Cow::Owned(arguments?);
        guards::check(field.who, &scope)?;
        let arguments = with_canonical_ids(field, arguments, &scope).await?;
        resolve(field, Call::new(&scope, object, &arguments)).await
    };
    match output.await {
        Ok(output) => {
            let scope = if is_mutation {
                scope.acts().durability.note(Durability::Database); // unless it has noted a lower one
                scope.of_mutation()
            } else {
                scope
            };
            let is_interface = Schema::get().object(named(&field.of)).is_none();
            engine_output(&ctx, is_interface, &scope, output, None).await
        }
        Err(error) => {
            outcome.failed(ctx.ctx, None, error);
            None
        }
    }
}

/// Resolves one field of one object, which the viewer may use.
async fn resolve(field: &Field, call: Call<'_>) -> ApiResult<Output> {
    match &field.resolve {
        Resolve::Fact(reads, value) => {
            let facts = facts(call, *reads).await?;
            Ok(Output::Scalar(owned(value.of(&view(call, &facts)?)?)))
        }
        Resolve::Link(objects) => {
            let facts = facts(call, Reads::ROW).await?;
            objects(&view(call, &facts)?)
        }
        Resolve::Part => Ok(call.part(field.name).cloned().into()),
        Resolve::Page(part) => Ok(part(call.object)),
        Resolve::Call(resolver) => resolver(call).await,
        Resolve::Watch(_) => Ok(Output::NULL),
    }
}

async fn facts(call: Call<'_>, reads: Reads) -> ApiResult<Facts> {
    if reads == Reads::NOTHING { Ok(Facts::default()) } else { call.scope.facts(call.entity()?, reads).await }
}

fn view<'a>(call: Call<'a>, facts: &'a Facts) -> ApiResult<View<'a>> {
    Ok(View { entity: call.entity()?, facts, reader: call.scope.reader() })
}

fn owned(scalar: Scalar<'_>) -> Scalar<'static> {
    match scalar {
        Scalar::Text(text) => Scalar::Text(text.into_owned().into()),
        Scalar::List(items) => Scalar::List(items.into_iter().map(owned).collect()),
        Scalar::Null => Scalar::Null,
        Scalar::Bool(value) => Scalar::Bool(value),
        Scalar::Int(value) => Scalar::Int(value),
        Scalar::Float(value) => Scalar::Float(value),
        Scalar::Name(name) => Scalar::Name(name),
        Scalar::Id(entity) => Scalar::Id(entity),
        Scalar::Time(time) => Scalar::Time(time),
    }
}

/// The value as the engine takes it. `is_interface`: behind the interface; `index`: place in the list.
fn engine_output<'a, 'c>(
    ctx: &'c ResolverContext<'a>,
    is_interface: bool,
    scope: &'c Scope,
    output: Output,
    index: Option<usize>,
) -> BoxFuture<'c, Option<FieldValue<'a>>>
where
    'a: 'c,
{
    async move {
        match output {
            Output::Scalar(Scalar::Null) => {
                if index.is_some() {
                    // Only nullable items are null, so nothing is missing.
                    ctx.data_unchecked::<EngineOutcome>().note(ctx.ctx, index, NotedObject::Absent(""));
                }
                None
            }
            Output::Failed(error) => {
                ctx.data_unchecked::<EngineOutcome>().failed(ctx.ctx, index, error);
                None
            }
            Output::Scalar(scalar) if !ctx.data_unchecked::<EngineOutcome>().has_room(&scalar) => None,
            Output::Scalar(scalar) => Some(FieldValue::value(engine_scalar_value(scalar))),
            Output::List(items) => {
                let items = items.into_iter().enumerate();
                let item = |(index, item)| engine_output(ctx, is_interface, scope, item, Some(index));
                let items = join_all(items.map(item)).await;
                Some(FieldValue::list(
                    items.into_iter().map(|item| item.unwrap_or_else(|| absent(is_interface))),
                ))
            }
            Output::Object(object) => {
                let outcome = ctx.data_unchecked::<EngineOutcome>();
                let type_name = object.type_name().filter(|_| is_interface);
                match exists(ctx, scope, &object).await {
                    Ok(true) => {
                        outcome.note(ctx.ctx, index, NotedObject::Of(type_name));
                        Some(engine_value(object, scope, type_name))
                    }
                    Ok(false) => {
                        let kind = object.kind_name().unwrap_or_default();
                        outcome.note(ctx.ctx, index, NotedObject::Absent(kind));
                        None
                    }
                    Err(error) => {
                        outcome.failed(ctx.ctx, index, error);
                        None
                    }
                }
            }
        }
    }
    .boxed()
}

/// Stands for an item that does not exist.
fn absent<'a>(is_interface: bool) -> FieldValue<'a> {
    let value = FieldValue::owned_any(Absent);
    if is_interface { value.with_type("Note") } else { value }
}

fn engine_scalar_value(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value.into(),
        Scalar::Float(value) => value.into(),
        Scalar::Text(text) => text.into_owned().into(),
        Scalar::Name(name) => Value::Enum(async_graphql::Name::new(name)),
        Scalar::Id(entity) => global_id(entity).0.into(),
        Scalar::Time(time) => time.to_rfc3339_opts(SecondsFormat::Millis, true).into(),
        Scalar::List(items) => Value::List(items.into_iter().map(engine_scalar_value).collect()),
    }
}

/// Whether the entity exists, if that matters.
async fn exists(ctx: &ResolverContext<'_>, scope: &Scope, object: &Object) -> ApiResult<bool> {
    let Object::Entity(entity, presence) = object else { return Ok(true) };
    let is_row_read = || {
        let object = object.type_name().and_then(|name| Schema::get().object(name));
        let reads_row = |name: &str| {
            object.and_then(|of| of.field_named(name)).is_some_and(|field| field.resolve.reads().row)
        };
        ctx.ctx.field().selection_set().any(|selected| reads_row(selected.name()))
    };
    match presence {
        Presence::Read(_) => Ok(true),
        Presence::Named if !is_row_read() => Ok(true),
        Presence::Named => Ok(!matches!(scope.row(*entity).await, Ok(None))),
        Presence::Sought => Ok(scope.row(*entity).await?.is_some()),
    }
}
