//! Subscription keys: subscriptions with equal keys share one execution per message.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use async_graphql::{
    Name, Positioned, Variables,
    parser::types::{Field, Selection},
};

use crate::{
    definition::{list_size::ListSize, schema::Schema},
    guard::Document,
    request::viewer::Viewer,
};

/// The argument of lists that only says what the client has.
const AFTER: &str = "after";

/// What determines the response for a topic: document, operation, variables, and the viewer if it matters.
pub struct SubscriptionKey {
    document: Arc<Document>,
    operation: Option<String>,
    /// Without those that list the watched objects, or say what the client has.
    variables: Variables,
    /// The variables as text, for comparison.
    variables_text: String,
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
        schema: &Schema,
    ) -> Self {
        for name in left_out(&document, operation.as_deref(), schema) {
            variables.remove(&name);
        }
        let variables_text = serde_json::to_string(&variables).unwrap_or_default();
        Self { document, operation, variables, variables_text, viewer }
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

/// The variables that only say what is watched from where: each is such an argument of the only root field, and is used
/// nowhere else.
fn left_out(document: &Document, operation: Option<&str>, schema: &Schema) -> Vec<Name> {
    let Some(root) = only_root(document, operation) else { return Vec::new() };
    let subscription = schema.object("Subscription");
    let ids = match subscription.and_then(|of| of.field_named(&root.name.node)).map(|field| field.size) {
        Some(ListSize::Messages { argument }) => argument,
        _ => None,
    };
    let variable = |argument: &str| match &root.get_argument(argument)?.node {
        async_graphql_value::Value::Variable(name) if document.uses_of(name) == 1 => Some(name.clone()),
        _ => None,
    };
    ids.into_iter().chain([AFTER]).filter_map(variable).collect()
}

fn only_root<'a>(document: &'a Document, operation: Option<&str>) -> Option<&'a Field> {
    match &document.definition_named(operation)?.selection_set.node.items[..] {
        [Positioned { node: Selection::Field(root), .. }] => Some(&root.node),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use plaudit_token_auth::{Identity, Role, TokenProfile};

    use crate::{guard::Guard, schema};
    use plaudit_catalogue::settings::CostSettings;

    fn key(query: &str, variables: serde_json::Value) -> SubscriptionKey {
        key_of(query, variables, None)
    }

    fn key_of(query: &str, variables: serde_json::Value, viewer: Option<Viewer>) -> SubscriptionKey {
        SubscriptionKey::new(document(query), None, Variables::from_json(variables), viewer, schema::get())
    }

    fn document(query: &str) -> Arc<Document> {
        Guard::new(schema::get(), CostSettings::of_development()).read(query).unwrap()
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
    fn keys_do_not_depend_on_the_position_of_the_client() {
        let list = "subscription ($a: ChangePosition!) { feedChanged(after: $a) { position noteIds } }";
        let (one, other) = (json!({ "a": "1" }), json!({ "a": "2" }));
        assert!(key(list, one) == key(list, other));
    }

    #[test]
    fn an_ambiguous_list_of_ids_is_not_narrowed() {
        for unclear in [
            "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) @include(if: $n) { id } }",
            "subscription ($n: ID!) { noteCountsChanged(noteIds: [$n]) { id } }",
            "subscription ($n: [ID!]!) { ... on Subscription { noteCountsChanged(noteIds: $n) { id } } }",
        ] {
            assert!(left_out(&document(unclear), None, schema::get()).is_empty(), "{unclear}");
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
            let found = left_out(&document(&query), Some("Q"), schema::get());
            let expected = (!elsewhere.contains(&ids)).then(|| Name::new(ids));
            prop_assert_eq!(found, Vec::from_iter(expected), "{}", query);
        }
    }
}
