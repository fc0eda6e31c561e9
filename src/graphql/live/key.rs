//! Which questions are the same.

use std::{
    convert::Infallible,
    hash::{Hash, Hasher},
    sync::Arc,
};

use async_graphql::{
    Name, Positioned, Request, Value, Variables,
    parser::types::{Directive, ExecutableDocument, Selection, SelectionSet},
    value,
};

use crate::{
    catalogue::Entity,
    graphql::{
        guard::Document,
        request::{ids::global_id, operation::operation_of, viewer::Viewer},
    },
};

/// The arguments of root fields that hold nothing but which objects are watched.
const IDS: [&str; 4] = ["noteIds", "userIds", "commentIds", "groupIds"];

/// What is asked of a topic, whichever it is.
pub struct Asked {
    document: Arc<Document>,
    operation: Option<String>,
    /// Those that are left: without [`Self::ids`].
    variables: Variables,
    /// The same as text, to be compared.
    variables_text: String,
    /// The variable that says which objects are watched and nothing else, if there is one.
    ids: Option<Name>,
    /// `None` if all viewers are shown the same.
    viewer: Option<Viewer>,
}

impl Asked {
    /// `viewer`: if the document needs one.
    pub fn new(
        document: Arc<Document>,
        operation: Option<String>,
        mut variables: Variables,
        viewer: Option<Viewer>,
    ) -> Self {
        let ids = ids_variable(document.parsed(), operation.as_deref());
        if let Some(ids) = &ids {
            variables.remove(ids);
        }
        let variables_text = serde_json::to_string(&variables).unwrap_or_default();
        Self { document, operation, variables, variables_text, ids, viewer }
    }

    /// The viewer, if all are not shown the same.
    pub const fn viewer(&self) -> Option<&Viewer> {
        self.viewer.as_ref()
    }

    pub fn document(&self) -> &ExecutableDocument {
        self.document.parsed()
    }

    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// The request, narrowed to one object.
    pub fn request(&self, entity: Entity) -> Request {
        let mut variables = self.variables.clone();
        if let Some(ids) = &self.ids {
            variables.insert(ids.clone(), value!([global_id(entity).0]));
        }
        let mut request = Request::new(&**self.document.text()).variables(variables);
        request.operation_name.clone_from(&self.operation);
        request.set_parsed_query(self.document.parsed().clone());
        request
    }

    fn key(&self) -> impl PartialEq + Hash {
        let who = self.viewer.as_ref().map(Viewer::who);
        (self.document.text(), &self.operation, &self.variables_text, who)
    }
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Asked {}

impl Hash for Asked {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.key().hash(hasher);
    }
}

/// The variable that is the list of ids of the only root field, and is used nowhere else.
fn ids_variable(document: &ExecutableDocument, operation: Option<&str>) -> Option<Name> {
    let operation = operation_of(document, operation)?;
    let [Positioned { node: Selection::Field(root), .. }] = &operation.selection_set.node.items[..] else {
        return None;
    };
    let (_, ids) = root.node.arguments.iter().find(|(argument, _)| IDS.contains(&argument.node.as_str()))?;
    let variable = Name::new(ids.node.to_string().strip_prefix('$')?);
    let mut used = Used::default();
    used.directives(&operation.directives);
    used.selections(&operation.selection_set.node);
    for fragment in document.fragments.values() {
        used.directives(&fragment.node.directives);
        used.selections(&fragment.node.selection_set.node);
    }
    let uses = used.0.iter().filter(|name| **name == variable).count();
    (uses == 1).then_some(variable)
}

/// Variables, once for each time that they are used.
#[derive(Default)]
struct Used(Vec<Name>);

impl Used {
    fn selections(&mut self, set: &SelectionSet) {
        for selection in &set.items {
            self.directives(selection.node.directives());
            match &selection.node {
                Selection::Field(field) => {
                    for (_, argument) in &field.node.arguments {
                        let _ = argument.node.clone().into_const_with(|name| self.note(name));
                    }
                    self.selections(&field.node.selection_set.node);
                }
                Selection::InlineFragment(fragment) => self.selections(&fragment.node.selection_set.node),
                Selection::FragmentSpread(_) => {}
            }
        }
    }

    fn directives(&mut self, directives: &[Positioned<Directive>]) {
        for (_, argument) in directives.iter().flat_map(|directive| &directive.node.arguments) {
            let _ = argument.node.clone().into_const_with(|name| self.note(name));
        }
    }

    fn note(&mut self, name: Name) -> Result<Value, Infallible> {
        self.0.push(name);
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use async_graphql::parser::parse_query;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use plaudit_token_auth::{Identity, Role};

    use crate::{
        catalogue::EntityKind,
        graphql::{guard::Guard, schema},
        settings::CostSettings,
    };

    fn asked(query: &str, variables: serde_json::Value) -> Asked {
        asked_by(query, variables, None)
    }

    fn asked_by(query: &str, variables: serde_json::Value, viewer: Option<Viewer>) -> Asked {
        static SDL: OnceLock<String> = OnceLock::new();
        let guard = Guard::new(SDL.get_or_init(schema::sdl), CostSettings::of_development());
        let document = guard.read(query).unwrap();
        Asked::new(document, None, Variables::from_json(variables), viewer)
    }

    const QUERY: &str = "subscription ($n: [ID!]!, $first: Int) { noteCountsChanged(noteIds: $n) { id
        ...More } } fragment More on Note { likers(first: $first) { nodes { id } } }";

    #[test]
    fn questions_are_the_same_whichever_objects_are_watched() {
        let one = asked(QUERY, json!({ "n": ["note_1"], "first": 3 }));
        assert!(one == asked(QUERY, json!({ "first": 3, "n": ["note_2", "note_1"] })));
        assert!(one != asked(QUERY, json!({ "n": ["note_1"], "first": 4 })), "another variable");
        assert!(one != asked(&format!("{QUERY} "), json!({ "n": ["note_1"], "first": 3 })), "another text");
    }

    #[test]
    fn who_asks_is_part_of_the_question_if_the_document_needs_a_viewer() {
        let viewer = |subject: &str, role, seconds| {
            let expires_at = chrono::DateTime::from_timestamp(seconds, 0).unwrap();
            Some(Viewer::signed_in(Identity { subject: subject.parse().unwrap(), role, expires_at }))
        };
        let by = |viewer| asked_by(QUERY, json!({ "n": ["note_1"] }), viewer);
        let ana = by(viewer("ana", Role::User, 1));
        assert!(ana == by(viewer("ana", Role::User, 2)), "a newer token of the same user");
        for other in [viewer("ben", Role::User, 1), viewer("ana", Role::Moderator, 1), None] {
            assert!(ana != by(other.clone()), "{other:?}");
        }
        assert!(by(None) != by(Some(Viewer::default())), "shared, and of nobody");
    }

    #[test]
    fn a_request_is_narrowed_to_its_object() {
        let note = Entity::new(EntityKind::Note, "7".parse().unwrap());
        let variables = |asked: Asked| serde_json::to_value(asked.request(note).variables).unwrap();
        let many = json!({ "n": ["note_1", "note_7"], "first": 3 });
        assert_eq!(variables(asked(QUERY, many)), json!({ "n": ["note_7"], "first": 3 }));
    }

    #[test]
    fn what_is_unclear_is_not_narrowed() {
        for unclear in [
            "subscription ($n: [ID!]!) { a: noteCountsChanged(noteIds: $n) { id } b: noteCountsChanged(noteIds: $n) { id } }",
            "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) @include(if: $n) { id } }",
            "subscription ($n: ID!) { noteCountsChanged(noteIds: [$n]) { id } }",
            "subscription ($n: [ID!]!) { ... on Subscription { noteCountsChanged(noteIds: $n) { id } } }",
        ] {
            assert_eq!(ids_variable(&parse_query(unclear).unwrap(), None), None, "{unclear}");
        }
    }

    /// One of three names of variables.
    fn name() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["a", "b", "c"])
    }

    proptest! {
        #[test]
        fn a_variable_is_narrowed_only_if_nothing_else_depends_on_it(
            ids in name(), inner in name(), nested in name(), condition in name(), in_fragment in name(),
        ) {
            let query = format!("subscription Q($a: X, $b: X, $c: X) {{
                noteCountsChanged(noteIds: ${ids}, maxRate: 3) {{
                    likers(first: ${inner}, after: {{ deep: [1, {{ deeper: ${nested} }}] }}) {{ nodes {{ id }} }}
                    ... @skip(if: ${condition}) {{ title }}
                    ...More
                }} }} fragment More on Note {{ comments(first: ${in_fragment}) {{ nodes {{ id }} }} }}");
            let elsewhere = [inner, nested, condition, in_fragment];
            let found = ids_variable(&parse_query(&query).unwrap(), Some("Q"));
            let expected = (!elsewhere.contains(&ids)).then(|| Name::new(ids));
            prop_assert_eq!(found, expected, "{}", query);
        }
    }
}
