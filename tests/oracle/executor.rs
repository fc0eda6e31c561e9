//! The oracle: executes an operation as the specification's algorithm says (October 2021, section 6), field by field, and
//! reads for each field alone. It shares with plans the schema's table and its resolvers, and nothing of their execution.

use std::{borrow::Cow, collections::HashSet};

use async_graphql::{
    Name, PathSegment, Pos, Positioned, ServerError, Value, Variables,
    indexmap::IndexMap,
    parser::types::{
        BaseType, Directive, ExecutableDocument, Field as Selected, OperationDefinition, OperationType,
        Selection, SelectionSet, Type,
    },
};
use async_graphql_value::Value as Written;
use chrono::SecondsFormat;
use futures_util::{FutureExt, future::BoxFuture};
use plaudit_domain::Durability;
use plaudit_graphql::oracle::{
    ApiError, ApiResult, Arguments, Call, Facts, Field, Object, ObjectType, Output, Presence, Reads, Resolve,
    Scalar, Scope, View, coerced, global_id, guards, named, schema, with_canonical_ids,
};

/// A field that may not be null failed.
struct Failed;

type Path = Vec<PathSegment>;
/// The fields of an object by their keys, each with all its occurrences.
type Collected<'d> = IndexMap<Name, Vec<&'d Positioned<Selected>>>;

pub struct Execution<'d> {
    document: &'d ExecutableDocument,
    variables: &'d Variables,
    is_mutation: bool,
    /// The object of an event.
    event: Option<Object>,
    errors: Vec<ServerError>,
}

impl<'d> Execution<'d> {
    /// The answer as JSON; of an event, for its object.
    pub async fn run(
        (document, operation, variables): (&'d ExecutableDocument, &'d OperationDefinition, &'d Variables),
        event: Option<Object>,
        scope: &Scope,
    ) -> String {
        let is_mutation = operation.ty == OperationType::Mutation;
        let mut execution = Self { document, variables, is_mutation, event, errors: Vec::new() };
        let of = schema().root(operation.ty).unwrap();
        let sets = [&operation.selection_set.node];
        let data = execution.object(&Object::Root, of, &sets, scope, Vec::new()).await;
        let mut answer = format!("{{\"data\":{}", serde_json::to_string(&data.unwrap_or_default()).unwrap());
        if let Some(durability) = scope.acts().durability.get() {
            answer += &format!(",\"extensions\":{{\"durability\":\"{}\"}}", durability.name());
        }
        if !execution.errors.is_empty() {
            answer += &format!(",\"errors\":{}", serde_json::to_string(&execution.errors).unwrap());
        }
        answer + "}"
    }

    fn object<'a>(
        &'a mut self,
        object: &'a Object,
        of: &'static ObjectType,
        sets: &[&'d SelectionSet],
        scope: &'a Scope,
        path: Path,
    ) -> BoxFuture<'a, Result<Value, Failed>> {
        let fields = self.collected(of, sets);
        async move {
            let is_root_of_mutation = self.is_mutation && path.is_empty();
            let (mut values, mut failed) = (IndexMap::new(), false);
            for (key, occurrences) in fields {
                let mut at = path.clone();
                at.push(PathSegment::Field(key.to_string()));
                let errors = self.errors.len();
                let value = self.field(object, of, &occurrences, scope, at).await;
                if failed {
                    // The mutation has acted, and the answer has no data to show it in.
                    self.errors.truncate(errors);
                    continue;
                }
                match value {
                    Ok(value) => drop(values.insert(key, value)),
                    Err(Failed) if is_root_of_mutation => failed = true,
                    Err(Failed) => return Err(Failed),
                }
            }
            if failed { Err(Failed) } else { Ok(Value::Object(values)) }
        }
        .boxed()
    }

    async fn field(
        &mut self,
        object: &Object,
        of: &'static ObjectType,
        occurrences: &[&'d Positioned<Selected>],
        scope: &Scope,
        path: Path,
    ) -> Result<Value, Failed> {
        let first = occurrences[0];
        if first.node.name.node == "__typename" {
            return Ok(of.name.into());
        }
        let field = of.field_named(&first.node.name.node).unwrap();
        let output = self.resolved(field, &first.node, object, scope).await;
        let is_act = self.is_mutation && path.len() == 1;
        if is_act && output.is_ok() {
            scope.acts().durability.note(Durability::Database);
        }
        let within = if is_act { scope.of_mutation() } else { scope.clone() };
        let sets: Vec<&SelectionSet> = occurrences.iter().map(|one| &one.node.selection_set.node).collect();
        let output = output.unwrap_or_else(Output::Failed);
        self.completed(output, &field.of, (&sets, first.pos), &within, path).await
    }

    async fn resolved(
        &self,
        field: &Field,
        selected: &Selected,
        object: &Object,
        scope: &Scope,
    ) -> ApiResult<Output> {
        let arguments = Cow::Owned(coerced(field, self.arguments(field, selected))?);
        guards::check(field.who, scope)?;
        let arguments = with_canonical_ids(field, arguments, scope).await?;
        let call = Call::new(scope, object, &arguments);
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
            Resolve::Page(part) => Ok(part(object)),
            Resolve::Call(resolver) => resolver(call).await,
            Resolve::Watch(_) => Ok(self.event.clone().unwrap().into()),
        }
    }

    fn completed<'a>(
        &'a mut self,
        output: Output,
        of: &'a Type,
        selected: (&'a [&'d SelectionSet], Pos),
        scope: &'a Scope,
        path: Path,
    ) -> BoxFuture<'a, Result<Value, Failed>> {
        async move {
            let completed = match output {
                Output::Failed(error) => return self.failed(error, of, selected.1, path),
                Output::Scalar(Scalar::Null) if of.nullable => return Ok(Value::Null),
                Output::Scalar(Scalar::Null) => {
                    return self.failed(ApiError::internal(), of, selected.1, path);
                }
                Output::Scalar(scalar) => return Ok(json(scalar)),
                Output::List(items) => {
                    let BaseType::List(of_item) = &of.base else { panic!("{of} is no list") };
                    self.list(items, of_item, selected, scope, path).await
                }
                Output::Object(object) => {
                    let name = object.type_name().unwrap_or_else(|| named(of));
                    let of_object = schema().object(name).unwrap();
                    match self.exists(&object, of_object, selected.0, scope).await {
                        Ok(true) => self.object(&object, of_object, selected.0, scope, path).await,
                        Ok(false) if of.nullable => return Ok(Value::Null),
                        Ok(false) => {
                            let error = ApiError::not_found(object.kind_name().unwrap_or("object"));
                            return self.failed(error, of, selected.1, path);
                        }
                        Err(error) => return self.failed(error, of, selected.1, path),
                    }
                }
            };
            match completed {
                Err(Failed) if of.nullable => Ok(Value::Null),
                completed => completed,
            }
        }
        .boxed()
    }

    async fn list(
        &mut self,
        items: Vec<Output>,
        of: &Type,
        selected: (&[&'d SelectionSet], Pos),
        scope: &Scope,
        path: Path,
    ) -> Result<Value, Failed> {
        let mut values = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let mut at = path.clone();
            at.push(PathSegment::Index(index));
            values.push(self.completed(item, of, selected, scope, at).await?);
        }
        Ok(Value::List(values))
    }

    fn failed(&mut self, error: ApiError, of: &Type, at: Pos, path: Path) -> Result<Value, Failed> {
        self.errors.push(ServerError { path, locations: vec![at], ..error.into() });
        if of.nullable { Ok(Value::Null) } else { Err(Failed) }
    }

    /// Whether the entity exists, if the client named it, or sees something of its row.
    async fn exists(
        &self,
        object: &Object,
        of: &ObjectType,
        sets: &[&'d SelectionSet],
        scope: &Scope,
    ) -> ApiResult<bool> {
        let Object::Entity(entity, presence) = object else { return Ok(true) };
        let reads_row = || {
            let fields = self.collected(of, sets);
            let mut fields = fields.values().filter_map(|of_key| of.field_named(&of_key[0].node.name.node));
            fields.any(|field| field.resolve.reads().row)
        };
        match presence {
            Presence::Read(_) => Ok(true),
            Presence::Named if !reads_row() => Ok(true),
            Presence::Named => Ok(!matches!(scope.row(*entity).await, Ok(None))),
            Presence::Sought => Ok(scope.row(*entity).await?.is_some()),
        }
    }

    fn collected(&self, of: &ObjectType, sets: &[&'d SelectionSet]) -> Collected<'d> {
        let mut fields = Collected::new();
        for set in sets {
            self.collect(of, set, &mut HashSet::new(), &mut fields);
        }
        fields
    }

    fn collect(
        &self,
        of: &ObjectType,
        set: &'d SelectionSet,
        visited: &mut HashSet<&'d Name>,
        fields: &mut Collected<'d>,
    ) {
        for item in set.items.iter().filter(|item| self.is_included(item.node.directives())) {
            match &item.node {
                Selection::Field(field) => {
                    fields.entry(field.node.response_key().node.clone()).or_default().push(field);
                }
                Selection::InlineFragment(fragment) => {
                    let on = fragment.node.type_condition.as_ref().map(|on| &on.node.on.node);
                    if on.is_none_or(|on| of.is_a(on)) {
                        self.collect(of, &fragment.node.selection_set.node, visited, fields);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    let fragment = &self.document.fragments[name].node;
                    if visited.insert(name) && of.is_a(&fragment.type_condition.node.on.node) {
                        self.collect(of, &fragment.selection_set.node, visited, fields);
                    }
                }
            }
        }
    }

    fn is_included(&self, directives: &[Positioned<Directive>]) -> bool {
        directives.iter().all(|directive| {
            let condition = directive.node.get_argument("if").and_then(|value| self.value(&value.node));
            (condition == Some(Value::Boolean(true))) == (directive.node.name.node == "include")
        })
    }

    /// Arguments with the values of variables; without one that is missing, its default.
    fn arguments(&self, field: &Field, selected: &Selected) -> Arguments {
        let of = |argument: &str| self.value(&selected.get_argument(argument)?.node);
        let known = field.arguments.iter().filter_map(|argument| {
            let value = of(argument.name).or_else(|| argument.default.clone())?;
            Some((Name::new(argument.name), value))
        });
        Arguments(known.collect())
    }

    fn value(&self, written: &Written) -> Option<Value> {
        Some(match written {
            Written::Variable(name) => self.variables.get(name)?.clone(),
            Written::List(items) => {
                Value::List(items.iter().map(|item| self.value(item).unwrap_or_default()).collect())
            }
            Written::Object(fields) => Value::Object(
                fields.iter().filter_map(|(name, of)| Some((name.clone(), self.value(of)?))).collect(),
            ),
            constant => constant.clone().into_const()?,
        })
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
        Scalar::Json(text) => Scalar::Json(text.into_owned().into()),
    }
}

fn json(scalar: Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value.into(),
        Scalar::Float(value) => value.into(),
        Scalar::Text(text) => text.into_owned().into(),
        Scalar::Name(name) => Value::Enum(Name::new(name)),
        Scalar::Id(entity) => global_id(entity).0.into(),
        Scalar::Time(time) => time.to_rfc3339_opts(SecondsFormat::Millis, true).into(),
        Scalar::Json(text) => serde_json::from_str(&text).unwrap(),
        Scalar::List(items) => Value::List(items.into_iter().map(json).collect()),
    }
}
