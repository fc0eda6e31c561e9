//! The schema for the engine (async-graphql), which validates all documents and executes those that have no plan.
//!
//! The engine cannot represent null items of a list of objects, and forgets the paths of errors. So resolvers never fail
//! for it: they note what failed in the [`EngineOutcome`] of the request, and the answer is mended by it.

use std::{
    borrow::Cow,
    collections::HashMap,
    mem,
    sync::{
        Arc,
        atomic::{AtomicIsize, Ordering::Relaxed},
    },
};

use async_graphql::{
    Context, PathSegment, Response, ServerError, Value,
    async_trait::async_trait,
    dynamic::{
        self, Enum, EnumItem, Field as EngineField, FieldFuture, FieldValue, InputObject, InputValue,
        Interface, InterfaceField, ResolverContext, Scalar as EngineScalar, Schema as EngineSchema,
        SubscriptionField, SubscriptionFieldFuture, TypeRef, Union,
    },
    extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute},
    parser::types::{BaseType, Type},
};
use chrono::SecondsFormat;
use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
    stream,
};
use parking_lot::Mutex;

use super::{Schema, SchemaFor, coerced, with_canonical_ids};
use crate::{
    domain::Durability,
    graphql::{
        definition::{
            arguments::Arguments,
            interfaces::{INTERFACES, InterfaceType},
            types::{Argument, Call, ENTITY, EnumType, Field, InputDefinition, ObjectType, Resolve, named},
            values::{Object, Output, Presence, Scalar},
        },
        errors::{ApiError, ApiResult},
        live::topic::{TopicEvent, Topics},
        reading::{
            facts::{Facts, Reads},
            guards,
            scope::Scope,
            view::View,
        },
        request::{
            error::error_size,
            ids::global_id,
            scalars::{ANY, SCALARS, ScalarType},
        },
    },
};

/// How deep the engine follows fragments and selection sets: the largest value of the guard's own limit, which is
/// checked first.
const MAX_NESTING: usize = 64;

/// Length of a line in descriptions.
const LINE: usize = 100;

/// What resolvers note of a request. Clones share it.
#[derive(Clone)]
pub struct EngineOutcome(Arc<SharedOutcome>);

struct SharedOutcome {
    noted: Mutex<Noted>,
    /// Most bytes of all texts and errors in the answer.
    max_bytes: usize,
    /// Bytes of texts and errors that the answer may still have; below 0, it is too large.
    room: AtomicIsize,
}

/// What resolvers noted of a request.
#[derive(Default)]
pub struct Noted {
    pub errors: Vec<ServerError>,
    pub objects: HashMap<PathText, NotedObject>,
}

/// A path as text, to look it up.
pub type PathText = String;

pub fn path_text(path: &[PathSegment]) -> PathText {
    path.iter().fold(String::new(), |text, segment| match segment {
        PathSegment::Field(key) => text + "/" + key,
        PathSegment::Index(index) => text + "/" + &index.to_string(),
    })
}

/// What a resolver noted of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotedObject {
    /// It exists. Its type, if an interface hides it.
    Of(Option<&'static str>),
    /// There is no such object of this kind.
    Absent(&'static str),
}

impl EngineOutcome {
    /// `max_bytes`: of all texts and errors in the answer.
    pub fn new(max_bytes: usize) -> Self {
        let room = AtomicIsize::new(max_bytes.try_into().unwrap_or(isize::MAX));
        Self(Arc::new(SharedOutcome { noted: Mutex::default(), max_bytes, room }))
    }

    pub fn max_bytes(&self) -> usize {
        self.0.max_bytes
    }

    pub fn take(&self) -> Noted {
        mem::take(&mut *self.0.noted.lock())
    }

    /// Bytes of texts and errors, also of those that were left out.
    pub fn written(&self) -> u64 {
        let SharedOutcome { max_bytes, room, .. } = &*self.0;
        (*max_bytes as u64).saturating_sub_signed(room.load(Relaxed) as i64)
    }

    /// Whether texts or errors were left out because the answer had no room for them.
    pub fn is_too_large(&self) -> bool {
        self.0.room.load(Relaxed) < 0
    }

    /// Whether the answer has room for a value.
    fn has_room(&self, scalar: &Scalar<'_>) -> bool {
        match scalar {
            Scalar::Text(text) => self.takes(text.len()),
            _ => !self.is_too_large(),
        }
    }

    /// Whether there was room for so many bytes, which is taken.
    fn takes(&self, bytes: usize) -> bool {
        let bytes = bytes.try_into().unwrap_or(isize::MAX);
        self.0.room.fetch_sub(bytes, Relaxed) >= bytes
    }

    fn failed(&self, ctx: &Context<'_>, index: Option<usize>, error: ApiError) {
        let mut error = ServerError { locations: vec![ctx.item.pos], ..error.into() };
        error.path = path(ctx, index);
        if self.takes(error_size(&error)) {
            self.0.noted.lock().errors.push(error);
        }
    }

    fn note(&self, ctx: &Context<'_>, index: Option<usize>, object: NotedObject) {
        self.0.noted.lock().objects.insert(path_text(&path(ctx, index)), object);
    }
}

/// The path of the field that is resolved, or of an item of its list.
fn path(ctx: &Context<'_>, index: Option<usize>) -> Vec<PathSegment> {
    let mut path = ctx.set_error_path(ServerError::new("", None)).path;
    path.extend(index.map(PathSegment::Index));
    path
}

/// In the data of a request that the engine only validates.
pub struct OnlyValidated;

/// Ends requests that are only validated before they are executed.
struct Validation;

impl ExtensionFactory for Validation {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Extension for Validation {
    async fn execute(
        &self,
        ctx: &ExtensionContext<'_>,
        operation_name: Option<&str>,
        next: NextExecute<'_>,
    ) -> Response {
        match ctx.data_opt::<OnlyValidated>() {
            Some(OnlyValidated) => Response::default(),
            None => next.run(ctx, operation_name).await,
        }
    }
}

/// An object as the engine passes it on.
struct EngineObject {
    object: Object,
    scope: Scope,
}

/// Stands for an item that does not exist. Its fields have no values.
struct Absent;

pub fn build(schema: &'static Schema, of: SchemaFor, suggestions: bool) -> EngineSchema {
    // The engine leaves the root of subscriptions out of the text of a subgraph. A type that is none is not left out.
    let subscription = (of != SchemaFor::Composition).then_some("Subscription");
    let mut builder = EngineSchema::build("Query", Some("Mutation"), subscription)
        .limit_recursive_depth(MAX_NESTING)
        .extension(Validation);
    if of == SchemaFor::Gateways {
        builder = builder.register(any()).register(entity(schema));
    }
    for interface in &INTERFACES {
        builder = builder.register(engine_interface(interface, schema));
    }
    for scalar in &SCALARS {
        builder = builder.register(engine_scalar(scalar));
    }
    for of in &schema.enums {
        builder = builder.register(engine_enum(of));
    }
    for of in &schema.inputs {
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

/// The fields of an interface are those of any object that implements it.
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
    let is_mutation = of.name == "Mutation";
    of.fields.iter().filter(|field| schema_for.shows(field.name)).fold(object, |object, field| {
        let mut engine_field = EngineField::new(field.name, type_ref(&field.of), move |ctx| {
            FieldFuture::new(engine_field(field, is_mutation, ctx).map(Ok))
        });
        engine_field = engine_field.description(lines(&field.description));
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
        let engine_field = SubscriptionField::new(field.name, type_ref(&field.of), move |ctx| {
            SubscriptionFieldFuture::new(async move {
                let object = engine_root(field, &ctx).await.map_err(async_graphql::Error::from)?;
                Ok(stream::iter(object.map(Ok::<_, async_graphql::Error>)))
            })
        });
        let engine_field = engine_field.description(lines(&field.description));
        let engine_field = field
            .arguments
            .iter()
            .fold(engine_field, |field, argument| field.argument(input_value(argument)));
        subscription.field(engine_field)
    })
}

/// At the start of a subscription registers the topics of a root field. For an event, returns the object.
async fn engine_root<'a>(field: &Field, ctx: &ResolverContext<'_>) -> ApiResult<Option<FieldValue<'a>>> {
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
    let watched =
        watch(Call { scope, object: &Object::Root, arguments: &arguments, needs_rows: true }).await?;
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
async fn engine_field<'a>(
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
        resolve(field, Call { scope: &scope, object, arguments: &arguments, needs_rows: true }).await
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
