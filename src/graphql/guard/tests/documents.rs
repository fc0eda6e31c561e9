//! Documents of common clients, and introspection.

use serde_json::json;

use super::*;
use crate::guard::tokens;

/// What GraphiQL sends at its start: the deepest and most complex query that every schema must answer.
pub const INTROSPECTION: &str = include_str!("../../../../tests/documents/introspection.graphql");
/// As Relay's compiler writes it: one query, a fragment per component, `__typename` and ids everywhere.
const RELAY: &str = include_str!("../../../../tests/documents/relay.graphql");
/// As Apollo Client sends it: with `__typename` in each object.
const APOLLO: &str = include_str!("../../../../tests/documents/apollo.graphql");

#[test]
fn documents_of_common_clients_are_within_the_limits() {
    let guard = usual();
    for (text, variables) in [
        (INTROSPECTION, json!({})),
        (RELAY, json!({ "count": 50, "cursor": null, "withComments": true })),
        (APOLLO, json!({ "first": 100 })),
    ] {
        assert!(admit(&guard, text, variables).is_ok(), "{text}");
    }
    let (_, tokens) = tokens::count(RELAY, &CostSettings::of_development());
    assert!((200..1_000).contains(&tokens), "{tokens}");
}

#[test]
fn introspection_is_allowed_once_but_not_twice_nor_in_cycles() {
    let guard = usual();
    assert!(guard.read(INTROSPECTION).is_ok());
    let twice = INTROSPECTION.replacen("types {", "more: types { ...FullType } types {", 1);
    assert_eq!(reason(&guard, &twice), "INTROSPECTION_TOO_COMPLEX");
    let circles = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }";
    assert_eq!(reason(&guard, circles), "INTROSPECTION_TOO_COMPLEX");
}

#[test]
fn without_introspection_only_typename_is_allowed() {
    let guard = guard(CostSettings { introspection: Some(false), ..CostSettings::of_development() });
    for asks in [
        INTROSPECTION,
        "{ __type(name: \"Note\") { name } }",
        "{ ...A } fragment A on Query { ... on Query { a: __schema { queryType { name } } } }",
        "mutation { __schema { queryType { name } } }",
    ] {
        assert_eq!(reason(&guard, asks), "INTROSPECTION_OFF", "{asks}");
    }
    assert!(guard.read("{ __typename feed { __typename nodes { __typename id } } }").is_ok());
}

#[test]
fn what_of_the_specification_the_parser_refuses_is_said() {
    let quirks = include_str!("../../../../docs/quirks.md");
    for (text, named) in [
        ("{ }", "empty selection sets"),
        ("{ viewer { } }", "empty selection sets"),
        ("\"What it asks.\" query A { __typename }", "descriptions in documents"),
        ("query A (\"How many.\" $n: Int) { __typename }", "descriptions in documents"),
        ("{ ...F } \"Its fields.\" fragment F on Query { __typename }", "descriptions in documents"),
        ("{ note(id: \"\\u{6e}\") { id } }", "`\\u{…}` in strings"),
        ("query A ($n: Int = 1 @a) { __typename }", "directives after a variable's default value"),
    ] {
        assert_eq!(refused(&usual(), text)["code"], "GRAPHQL_PARSE_FAILED", "{text}");
        assert!(quirks.contains(named), "{named}");
    }
}
