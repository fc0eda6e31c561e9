//! Null propagation: a failed field is null in the data, or, if its type does not allow null, the nearest field above
//! that allows it (GraphQL specification, "Handling Execution Errors"). Clients with typed results and normalised
//! caches rely on that; the engine omits failed fields instead.

use std::collections::HashMap;

use async_graphql::{
    Name, PathSegment, Response, Value,
    parser::{
        parse_schema,
        types::{
            BaseType, ExecutableDocument, Field, OperationType, Selection, SelectionSet, Type, TypeKind,
            TypeSystemDefinition,
        },
    },
};

use super::request::operation::operation_of;

/// The types of all fields, by the name of their object.
pub struct Nulls {
    fields: HashMap<(Name, Name), Type>,
}

impl Nulls {
    pub fn of(sdl: &str) -> Self {
        let definitions = parse_schema(sdl).map(|document| document.definitions).unwrap_or_default();
        let mut fields = HashMap::new();
        for definition in definitions {
            let TypeSystemDefinition::Type(object) = definition else { continue };
            let object_fields = match object.node.kind {
                TypeKind::Object(kind) => kind.fields,
                TypeKind::Interface(kind) => kind.fields,
                _ => continue,
            };
            for field in object_fields {
                let key = (object.node.name.node.clone(), field.node.name.node);
                fields.insert(key, field.node.ty.node);
            }
        }
        Self { fields }
    }

    /// The type of a field's value, or of the items of its list.
    pub fn named_type(&self, object: &str, field: &str) -> Option<&str> {
        let mut base = &self.fields.get(&(Name::new(object), Name::new(field)))?.base;
        while let BaseType::List(inner) = base {
            base = &inner.base;
        }
        match base {
            BaseType::Named(name) => Some(name),
            BaseType::List(_) => None,
        }
    }

    /// Sets null where fields failed. Of several errors below one null, keeps the first.
    pub fn put(&self, response: &mut Response, document: &ExecutableDocument, operation: Option<&str>) {
        let mut nulled: Vec<Vec<PathSegment>> = Vec::new();
        let data = &mut response.data;
        response.errors.retain(|error| {
            if error.path.is_empty() {
                return true;
            }
            if nulled.iter().any(|above| error.path.starts_with(above)) {
                return false;
            }
            let nullable = self.nullable_along(&error.path, document, operation);
            let place = (0..nullable.len()).rev().find(|depth| nullable[*depth]).unwrap_or(0);
            let path = &error.path[..place];
            put_null(data, path);
            nulled.push(path.to_vec());
            true
        });
    }

    /// Whether each position of the path may be null, starting with the data itself, which may.
    fn nullable_along(
        &self,
        path: &[PathSegment],
        document: &ExecutableDocument,
        operation: Option<&str>,
    ) -> Vec<bool> {
        let mut nullable = vec![true];
        let Some((root, selected)) = root(document, operation) else { return nullable };
        let mut place = PathPosition { object: root, selected: vec![selected], list: None };
        for segment in path {
            let Some(ty) = self.step(&mut place, segment, document) else { break };
            nullable.push(ty.nullable);
        }
        nullable
    }

    /// Moves one segment down the path. Returns the type there.
    fn step<'a>(
        &'a self,
        place: &mut PathPosition<'a>,
        segment: &PathSegment,
        document: &'a ExecutableDocument,
    ) -> Option<&'a Type> {
        let ty = match segment {
            PathSegment::Index(_) => place.list?,
            PathSegment::Field(key) => {
                let found = fields_named(key, &place.object, &place.selected, document);
                let (object, field) = found.first()?;
                let ty = self.fields.get(&(object.clone(), field.name.node.clone()))?;
                place.selected = found.iter().map(|(_, field)| &field.selection_set.node).collect();
                ty
            }
        };
        match &ty.base {
            BaseType::List(inner) => place.list = Some(inner),
            BaseType::Named(object) => place.object = object.clone(),
        }
        Some(ty)
    }
}

/// A position in the document that a path leads to.
struct PathPosition<'a> {
    /// Type of the object, as far as the document determines it.
    object: Name,
    /// What is selected in it.
    selected: Vec<&'a SelectionSet>,
    /// The type of its items, if it is a list.
    list: Option<&'a Type>,
}

/// The operation's root type and selections.
fn root<'a>(document: &'a ExecutableDocument, operation: Option<&str>) -> Option<(Name, &'a SelectionSet)> {
    let operation = operation_of(document, operation)?;
    let root = match operation.ty {
        OperationType::Query => "Query",
        OperationType::Mutation => "Mutation",
        OperationType::Subscription => "Subscription",
    };
    Some((Name::new(root), &operation.selection_set.node))
}

/// The fields with this response key, through all fragments, each with the type that it belongs to.
fn fields_named<'a>(
    key: &str,
    object: &Name,
    selected: &[&'a SelectionSet],
    document: &'a ExecutableDocument,
) -> Vec<(Name, &'a Field)> {
    let mut found = Vec::new();
    for selection in selected.iter().flat_map(|set| &set.items) {
        match &selection.node {
            Selection::Field(field) if field.node.response_key().node == key => {
                found.push((object.clone(), &field.node));
            }
            Selection::Field(_) => {}
            Selection::InlineFragment(fragment) => {
                let on = fragment.node.type_condition.as_ref().map_or(object, |on| &on.node.on.node);
                found.extend(fields_named(key, on, &[&fragment.node.selection_set.node], document));
            }
            Selection::FragmentSpread(spread) => {
                if let Some(fragment) = document.fragments.get(&spread.node.fragment_name.node) {
                    let on = &fragment.node.type_condition.node.on.node;
                    found.extend(fields_named(key, on, &[&fragment.node.selection_set.node], document));
                }
            }
        }
    }
    found
}

fn put_null(data: &mut Value, path: &[PathSegment]) {
    let Some((segment, rest)) = path.split_first() else {
        *data = Value::Null;
        return;
    };
    // The engine returns null for an object if all its fields failed.
    if *data == Value::Null && matches!(segment, PathSegment::Field(_)) {
        *data = Value::Object(Default::default());
    }
    match (data, segment) {
        (Value::Object(fields), PathSegment::Field(key)) => {
            put_null(fields.entry(Name::new(key)).or_insert(Value::Null), rest);
        }
        (Value::List(items), PathSegment::Index(index)) => {
            if let Some(item) = items.get_mut(*index) {
                put_null(item, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::{ServerError, parser::parse_query};
    use serde_json::json;

    use super::*;

    const SDL: &str = "
        type Query { note: Note! feed: [Note!] node: Node }
        interface Node { id: ID! }
        type Note implements Node { id: ID! likeCount: Int! author: User }
        type User implements Node { id: ID! name: String! }";

    /// The data and the number of errors left, after fields at these paths failed.
    fn put(query: &str, data: serde_json::Value, failed: &[serde_json::Value]) -> (serde_json::Value, usize) {
        let mut response = Response::new(Value::from_json(data).unwrap());
        for path in failed {
            let path: Vec<PathSegment> = serde_json::from_value(path.clone()).unwrap();
            response.errors.push(ServerError { path, ..ServerError::new("failed", None) });
        }
        Nulls::of(SDL).put(&mut response, &parse_query(query).unwrap(), None);
        (response.data.into_json().unwrap(), response.errors.len())
    }

    #[test]
    fn a_nullable_field_that_failed_is_null() {
        let (data, errors) = put(
            "{ note { id writer: author { id } } }",
            json!({ "note": { "id": "note_1" } }),
            &[json!(["note", "writer"])],
        );
        assert_eq!(data, json!({ "note": { "id": "note_1", "writer": null } }));
        assert_eq!(errors, 1);
    }

    #[test]
    fn null_propagates_to_the_nearest_nullable_field() {
        let query = "{ feed { id ...Counts author { id } } } fragment Counts on Note { likes: likeCount }";
        let note = json!({ "id": "note_1", "author": { "id": "user_1" } });
        let (data, _) = put(query, json!({ "feed": [note, note] }), &[json!(["feed", 1, "likes"])]);
        assert_eq!(data, json!({ "feed": null }));

        let (data, _) = put("{ note { likeCount } }", json!(null), &[json!(["note", "likeCount"])]);
        assert_eq!(data, json!(null));
    }

    #[test]
    fn one_error_remains_for_an_object_that_is_null() {
        let (data, errors) = put(
            "{ note { author { id name } } }",
            json!({ "note": { "author": null } }),
            &[json!(["note", "author", "id"]), json!(["note", "author", "name"])],
        );
        assert_eq!(data, json!({ "note": { "author": null } }));
        assert_eq!(errors, 1);
    }

    #[test]
    fn an_object_whose_only_field_failed_is_still_an_object() {
        let (data, _) = put("{ note { author { id } } }", json!(null), &[json!(["note", "author"])]);
        assert_eq!(data, json!({ "note": { "author": null } }));
    }

    #[test]
    fn a_fragment_determines_the_type_behind_an_interface() {
        let query = "{ node { id ... on User { name } } }";
        let (data, _) = put(query, json!({ "node": { "id": "user_1" } }), &[json!(["node", "name"])]);
        assert_eq!(data, json!({ "node": null }));
    }

    #[test]
    fn errors_of_the_whole_request_stay() {
        let (data, errors) = put("{ note { id } }", json!(null), &[json!([])]);
        assert_eq!((data, errors), (json!(null), 1));
    }
}
