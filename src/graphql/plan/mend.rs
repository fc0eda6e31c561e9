//! Mends the engine's answers by plans: fields in the order of the document, and null where a field failed, or, if its
//! type does not allow null, at the nearest field above that allows it (GraphQL specification, "Handling Execution
//! Errors"). The engine omits fields that failed, and answers root fields in the order in which they finish.

use std::collections::{HashMap, HashSet};

use async_graphql::{
    PathSegment, Response, ServerError, Value,
    indexmap::IndexMap,
    parser::types::{BaseType, Type},
};

use super::{Failed, Plan, PlannedField, PlannedValue, Selection};
use crate::{
    errors::ApiError,
    schema::{Noted, NotedObject, PathText, path_text},
};

type Path = Vec<PathSegment>;

/// Mends the answer. `noted`: what the resolvers noted of it.
pub fn mend(plan: &Plan, response: &mut Response, noted: Noted) {
    // The engine's own errors are consequences of those that the resolvers noted.
    let own = std::mem::take(&mut response.errors);
    let own = own.into_iter().filter(|error| !error.message.starts_with("internal: "));
    let mut mender = Mender::new(own.chain(noted.errors), noted.objects);
    let data = std::mem::take(&mut response.data);
    let data = mender.object(data, &plan.root, None, &mut Path::new());
    response.data = data.unwrap_or_default();
    response.errors = mender.kept;
    response.errors.extend(mender.of_request);
}

struct Mender {
    /// Errors of fields by their paths.
    errors: HashMap<PathText, ServerError>,
    /// The paths of the errors, and all that lead to them.
    leading: HashSet<PathText>,
    objects: HashMap<PathText, NotedObject>,
    /// Errors without a path.
    of_request: Vec<ServerError>,
    /// Errors of the answer, in the order of the document.
    kept: Vec<ServerError>,
}

impl Mender {
    fn new(errors: impl Iterator<Item = ServerError>, objects: HashMap<PathText, NotedObject>) -> Self {
        let (of_fields, of_request): (Vec<_>, Vec<_>) = errors.partition(|error| !error.path.is_empty());
        let mut leading = HashSet::new();
        for error in &of_fields {
            leading.extend((1..=error.path.len()).map(|length| path_text(&error.path[..length])));
        }
        // Of several errors of one field, the first.
        let mut errors = HashMap::new();
        for error in of_fields {
            errors.entry(path_text(&error.path)).or_insert(error);
        }
        Self { errors, leading, objects, of_request, kept: Vec::new() }
    }

    fn object(
        &mut self,
        value: Value,
        inside: &Selection,
        type_name: Option<&str>,
        path: &mut Path,
    ) -> Result<Value, Failed> {
        // The engine returns null for an object whose fields all failed, or are all skipped.
        let mut fields = if let Value::Object(fields) = value { fields } else { IndexMap::new() };
        let mut ordered = IndexMap::with_capacity(fields.len());
        let Some(of) = inside.of(type_name) else { return Ok(Value::Object(fields)) };
        for planned in &of.fields {
            let value = fields.swap_remove(&planned.key).unwrap_or_default();
            path.push(PathSegment::Field(planned.key.to_string()));
            let value = self.field(value, planned, path);
            path.pop();
            ordered.insert(planned.key.clone(), value?);
        }
        Ok(Value::Object(ordered))
    }

    fn field(&mut self, value: Value, planned: &PlannedField, path: &mut Path) -> Result<Value, Failed> {
        match &planned.value {
            PlannedValue::TypeName | PlannedValue::Introspection => Ok(value),
            PlannedValue::Scalar(field) => match self.errors.remove(&path_text(path)) {
                Some(error) => self.failed(error, planned, &field.of),
                None => Ok(value),
            },
            PlannedValue::Resolved { field, inside, .. } => {
                self.value(value, &field.of, planned, inside, path)
            }
        }
    }

    fn value(
        &mut self,
        value: Value,
        of: &Type,
        planned: &PlannedField,
        inside: &Selection,
        path: &mut Path,
    ) -> Result<Value, Failed> {
        if let Some(error) = self.errors.remove(&path_text(path)) {
            return self.failed(error, planned, of);
        }
        let noted = self.objects.get(&path_text(path)).copied();
        let mended = match noted {
            Some(NotedObject::Absent(_)) if of.nullable => return Ok(Value::Null),
            Some(NotedObject::Absent(kind)) => {
                let error = planned.error_at(ApiError::not_found(kind), path.clone());
                return self.failed(error, planned, of);
            }
            _ => match (value, &of.base) {
                (Value::Null, _) if noted.is_none() && !self.leading.contains(&path_text(path)) => {
                    return Ok(Value::Null);
                }
                (Value::List(items), BaseType::List(item)) => self.list(items, item, planned, inside, path),
                (value, _) => {
                    let type_name = match noted {
                        Some(NotedObject::Of(name)) => name,
                        _ => None,
                    };
                    self.object(value, inside, type_name, path)
                }
            },
        };
        match mended {
            Err(Failed) if of.nullable => Ok(Value::Null),
            mended => mended,
        }
    }

    fn list(
        &mut self,
        items: Vec<Value>,
        of: &Type,
        planned: &PlannedField,
        inside: &Selection,
        path: &mut Path,
    ) -> Result<Value, Failed> {
        let mut mended = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            path.push(PathSegment::Index(index));
            let item = self.value(item, of, planned, inside, path);
            path.pop();
            mended.push(item?);
        }
        Ok(Value::List(mended))
    }

    /// The engine executes a field as often as it is selected, and any of these may fail first. The error names
    /// the first.
    fn failed(&mut self, error: ServerError, planned: &PlannedField, of: &Type) -> Result<Value, Failed> {
        self.kept.push(ServerError { locations: vec![planned.position], ..error });
        if of.nullable { Ok(Value::Null) } else { Err(Failed) }
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::{Variables, parser::parse_query};
    use serde_json::json;

    use super::*;
    use crate::{plan::compile::compile, request::operation::operation_of};

    /// The data and the number of errors left, after fields at these paths failed.
    fn mended(
        query: &str,
        data: serde_json::Value,
        failed: &[serde_json::Value],
        objects: &[(serde_json::Value, NotedObject)],
    ) -> (String, usize) {
        let document = parse_query(query).unwrap();
        let operation = operation_of(&document, None).unwrap();
        let plan = compile(&document, operation, &Variables::default(), usize::MAX).unwrap();
        let path = |path: &serde_json::Value| serde_json::from_value::<Path>(path.clone()).unwrap();
        let errors = failed
            .iter()
            .map(|failed| ServerError { path: path(failed), ..ServerError::new("failed", None) });
        let objects = objects.iter().map(|(at, noted)| (path_text(&path(at)), *noted)).collect();
        let mut response = Response::new(Value::from_json(data).unwrap());
        mend(&plan, &mut response, Noted { errors: errors.collect(), objects });
        (serde_json::to_string(&response.data).unwrap(), response.errors.len())
    }

    #[test]
    fn fields_are_in_the_order_of_the_document_also_if_they_failed() {
        let (data, errors) = mended(
            "{ b: note(id: 1) { title writer: author { id } } a: user(id: 1) { name id } }",
            json!({ "a": { "id": "user_1", "name": "Ann" }, "b": { "title": "x" } }),
            &[json!(["b", "writer"])],
            &[],
        );
        assert_eq!(data, r#"{"b":{"title":"x","writer":null},"a":{"name":"Ann","id":"user_1"}}"#);
        assert_eq!(errors, 1);
    }

    #[test]
    fn null_propagates_to_the_nearest_nullable_field() {
        let query =
            "{ feed { nodes { id ...Counts author { id } } } } fragment Counts on Note { likes: likeCount }";
        let note = json!({ "id": "note_1", "author": { "id": "user_1" } });
        let data = json!({ "feed": { "nodes": [note, note] } });
        let (data, errors) = mended(query, data, &[json!(["feed", "nodes", 1, "likes"])], &[]);
        assert_eq!((data.as_str(), errors), (r#"{"feed":null}"#, 1));
        let (data, errors) =
            mended("{ note(id: 1) { likeCount } }", json!(null), &[json!(["note", "likeCount"])], &[]);
        assert_eq!((data.as_str(), errors), (r#"{"note":null}"#, 1));
    }

    #[test]
    fn one_error_remains_for_an_object_that_is_null() {
        let failed = [json!(["note", "author", "name"]), json!(["note", "author", "id"])];
        let query = "{ note(id: 1) { author { id name } } }";
        let (data, errors) = mended(query, json!({ "note": { "author": null } }), &failed, &[]);
        assert_eq!((data.as_str(), errors), (r#"{"note":{"author":null}}"#, 1));
    }

    #[test]
    fn the_type_of_an_object_behind_an_interface_decides_its_fields() {
        let query =
            "{ nodes(ids: [1, 2, 3]) { ... on Note { a: id b: title } ... on User { b: name a: id } } }";
        let object = |b: &str| json!({ "a": "x", "b": b });
        let (data, errors) = mended(
            query,
            json!({ "nodes": [object("title"), object("name"), {}] }),
            &[json!(["nodes", 1, "b"])],
            &[
                (json!(["nodes", 0]), NotedObject::Of(Some("Note"))),
                (json!(["nodes", 1]), NotedObject::Of(Some("User"))),
                (json!(["nodes", 2]), NotedObject::Absent("note")),
            ],
        );
        assert_eq!((data.as_str(), errors), (r#"{"nodes":[{"a":"x","b":"title"},null,null]}"#, 1));
    }

    #[test]
    fn an_object_that_does_not_exist_is_an_error_where_null_is_not_allowed() {
        let query = "mutation { likeNote(input: {}) { changed note { id } } }";
        let data = json!({ "likeNote": { "changed": true, "note": {} } });
        let absent = [(json!(["likeNote", "note"]), NotedObject::Absent("note"))];
        let (data, errors) = mended(query, data, &[], &absent);
        assert_eq!((data.as_str(), errors), (r#"{"likeNote":null}"#, 1));
    }

    #[test]
    fn errors_of_the_whole_request_stay() {
        let (data, errors) = mended("{ viewer { user { id } } }", json!(null), &[json!([])], &[]);
        assert_eq!((data.as_str(), errors), (r#"{"viewer":null}"#, 1));
    }
}
