//! Subscription keys: subscriptions with equal keys share one execution per event.

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
    definition::watch::Subject,
    guard::Document,
    request::{ids::global_id, operation::operation_of, viewer::Viewer},
};
use plaudit_catalogue::primitives::ChangePosition;

/// Arguments of root fields that only list the objects to watch.
const IDS: [&str; 4] = ["noteIds", "userIds", "commentIds", "groupIds"];
/// The argument of lists that only says what the client has.
const AFTER: [&str; 1] = ["after"];

/// What determines the response for a topic: document, operation, variables, and the viewer if it matters.
pub struct SubscriptionKey {
    document: Arc<Document>,
    operation: Option<String>,
    /// Without the variables of [`Self::ids`] and [`Self::after`].
    variables: Variables,
    /// The variables as text, for comparison.
    variables_text: String,
    /// The variable that lists the watched objects and is used for nothing else, if there is one.
    ids: Option<Name>,
    /// The same for the position that the client has.
    after: Option<Name>,
    /// `None` if the response is the same for all viewers.
    viewer: Option<Viewer>,
}

impl SubscriptionKey {
    /// `viewer`: only if the response depends on it.
    pub fn new(
        document: Arc<Document>,
        operation: Option<String>,
        mut variables: Variables,
        viewer: Option<Viewer>,
    ) -> Self {
        let variable = |of: &[&str]| only_variable(document.parsed(), operation.as_deref(), of);
        let (ids, after) = (variable(&IDS), variable(&AFTER));
        for left_out in ids.iter().chain(&after) {
            variables.remove(left_out);
        }
        let variables_text = serde_json::to_string(&variables).unwrap_or_default();
        Self { document, operation, variables, variables_text, ids, after, viewer }
    }

    /// The viewer, if the response depends on it.
    pub const fn viewer(&self) -> Option<&Viewer> {
        self.viewer.as_ref()
    }

    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Without the variables that list the watched objects, or say what the client has.
    pub const fn variables(&self) -> &Variables {
        &self.variables
    }

    /// Most bytes that the variables take, which are kept as values and as text.
    pub const fn variables_size(&self) -> usize {
        8 * self.variables_text.len()
    }

    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// The request for one subject.
    pub fn request(&self, subject: Subject) -> Request {
        let mut variables = self.variables.clone();
        if let (Some(ids), Subject::Counts(entity)) = (&self.ids, subject) {
            variables.insert(ids.clone(), value!([global_id(entity).0]));
        }
        if let Some(after) = &self.after {
            // It may not be null; the event does not depend on it.
            variables.insert(after.clone(), value!(ChangePosition::default().to_string()));
        }
        let mut request = Request::new(&**self.document.text()).variables(variables);
        request.operation_name.clone_from(&self.operation);
        request.set_parsed_query(self.document.parsed().clone());
        request
    }

    fn parts(&self) -> impl PartialEq + Hash {
        let viewer = self.viewer.as_ref().map(Viewer::identity);
        (self.document.text(), &self.operation, &self.variables_text, viewer)
    }
}

impl PartialEq for SubscriptionKey {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for SubscriptionKey {}

impl Hash for SubscriptionKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.parts().hash(hasher);
    }
}

/// The variable that is one of these arguments of the only root field and is used nowhere else.
fn only_variable(document: &ExecutableDocument, operation: Option<&str>, arguments: &[&str]) -> Option<Name> {
    let operation = operation_of(document, operation)?;
    let [Positioned { node: Selection::Field(root), .. }] = &operation.selection_set.node.items[..] else {
        return None;
    };
    let (_, ids) =
        root.node.arguments.iter().find(|(argument, _)| arguments.contains(&argument.node.as_str()))?;
    let variable = Name::new(ids.node.to_string().strip_prefix('$')?);
    let mut uses = VariableUses::default();
    uses.directives(&operation.directives);
    uses.selections(&operation.selection_set.node);
    for fragment in document.fragments.values() {
        uses.directives(&fragment.node.directives);
        uses.selections(&fragment.node.selection_set.node);
    }
    let count = uses.0.iter().filter(|name| **name == variable).count();
    (count == 1).then_some(variable)
}

/// All uses of variables, in any order.
#[derive(Default)]
struct VariableUses(Vec<Name>);

impl VariableUses {
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
    use plaudit_token_auth::{Identity, Role, TokenProfile};

    use crate::{costs, schema};
    use plaudit_catalogue::{Entity, EntityKind, settings::CostSettings};

    fn key(query: &str, variables: serde_json::Value) -> SubscriptionKey {
        key_of(query, variables, None)
    }

    fn key_of(query: &str, variables: serde_json::Value, viewer: Option<Viewer>) -> SubscriptionKey {
        static SDL: OnceLock<String> = OnceLock::new();
        let guard = costs::guard(SDL.get_or_init(schema::sdl), CostSettings::of_development());
        let document = guard.read(query).unwrap();
        SubscriptionKey::new(document, None, Variables::from_json(variables), viewer)
    }

    const QUERY: &str = "subscription ($n: [ID!]!, $first: Int) { noteCountsChanged(noteIds: $n) { id
        ...More } } fragment More on Note { likers(first: $first) { nodes { id } } }";

    #[test]
    fn keys_do_not_depend_on_the_watched_objects() {
        let one = key(QUERY, json!({ "n": ["note_1"], "first": 3 }));
        assert!(one == key(QUERY, json!({ "first": 3, "n": ["note_2", "note_1"] })));
        assert!(one != key(QUERY, json!({ "n": ["note_1"], "first": 4 })), "another variable");
        assert!(one != key(&format!("{QUERY} "), json!({ "n": ["note_1"], "first": 3 })), "another text");
    }

    #[test]
    fn the_viewer_is_part_of_the_key_if_the_response_depends_on_it() {
        let viewer = |subject: &str, role, seconds| {
            let expires_at = chrono::DateTime::from_timestamp(seconds, 0).unwrap();
            Some(Viewer::signed_in(Identity {
                subject: subject.parse().unwrap(),
                role,
                profile: TokenProfile::default(),
                expires_at,
            }))
        };
        let by = |viewer| key_of(QUERY, json!({ "n": ["note_1"] }), viewer);
        let ana = by(viewer("ana", Role::User, 1));
        assert!(ana == by(viewer("ana", Role::User, 2)), "a newer token of the same user");
        for other in [viewer("ben", Role::User, 1), viewer("ana", Role::Moderator, 1), None] {
            assert!(ana != by(other.clone()), "{other:?}");
        }
        assert!(by(None) != by(Some(Viewer::default())), "shared by all, and of a viewer without a token");
    }

    #[test]
    fn a_request_is_narrowed_to_one_object() {
        let note = Entity::new(EntityKind::Note, "7".parse().unwrap());
        let variables = |key: SubscriptionKey| {
            serde_json::to_value(key.request(Subject::Counts(note)).variables).unwrap()
        };
        let many = json!({ "n": ["note_1", "note_7"], "first": 3 });
        assert_eq!(variables(key(QUERY, many)), json!({ "n": ["note_7"], "first": 3 }));
    }

    #[test]
    fn keys_do_not_depend_on_the_position_of_the_client() {
        let list = "subscription ($a: ChangePosition!) { feedChanged(after: $a) { position noteIds } }";
        let (one, other) = (json!({ "a": "1" }), json!({ "a": "2" }));
        assert!(key(list, one.clone()) == key(list, other));
        let request = key(list, one).request(Subject::Feed);
        assert!(request.variables.contains_key("a"), "it may not be null");
    }

    #[test]
    fn an_ambiguous_list_of_ids_is_not_narrowed() {
        for unclear in [
            "subscription ($n: [ID!]!) { a: noteCountsChanged(noteIds: $n) { id } b: noteCountsChanged(noteIds: $n) { id } }",
            "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) @include(if: $n) { id } }",
            "subscription ($n: ID!) { noteCountsChanged(noteIds: [$n]) { id } }",
            "subscription ($n: [ID!]!) { ... on Subscription { noteCountsChanged(noteIds: $n) { id } } }",
        ] {
            assert_eq!(only_variable(&parse_query(unclear).unwrap(), None, &IDS), None, "{unclear}");
        }
    }

    /// One of three names of variables.
    fn name() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["a", "b", "c"])
    }

    proptest! {
        #[test]
        fn a_variable_is_narrowed_only_if_nothing_else_uses_it(
            ids in name(), inner in name(), nested in name(), condition in name(), in_fragment in name(),
        ) {
            let query = format!("subscription Q($a: X, $b: X, $c: X) {{
                noteCountsChanged(noteIds: ${ids}, maxRate: 3) {{
                    likers(first: ${inner}, after: {{ deep: [1, {{ deeper: ${nested} }}] }}) {{ nodes {{ id }} }}
                    ... @skip(if: ${condition}) {{ title }}
                    ...More
                }} }} fragment More on Note {{ comments(first: ${in_fragment}) {{ nodes {{ id }} }} }}");
            let elsewhere = [inner, nested, condition, in_fragment];
            let found = only_variable(&parse_query(&query).unwrap(), Some("Q"), &IDS);
            let expected = (!elsewhere.contains(&ids)).then(|| Name::new(ids));
            prop_assert_eq!(found, expected, "{}", query);
        }
    }
}
