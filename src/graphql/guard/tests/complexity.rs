//! The complexity of a request.

use serde_json::json;

use super::*;

#[test]
fn each_item_costs_its_selections() {
    assert_eq!(complexity("{ __typename }", json!({})), 1);
    assert_eq!(complexity("{ feed(first: 10) { nodes { id title } } }", json!({})), 1 + 10 * 3);
    assert_eq!(complexity("{ feed { nodes { id } } }", json!({})), 1 + 20 * 2);
    assert_eq!(
        complexity("{ feed(first: 5) { nodes { comments(first: 3) { nodes { id } } } } }", json!({})),
        1 + 5 * (1 + 1 + 3 * 2)
    );
    assert_eq!(
        complexity("{ nodes(ids: [\"a\", \"b\"]) { id ... on Note { title } } }", json!({})),
        1 + 2 * 2
    );
    assert_eq!(
        complexity(
            "mutation { recordViews(input: { noteIds: [\"a\", \"b\"] }) { notes { id } } }",
            json!({})
        ),
        1 + 2 * 2
    );
}

#[test]
fn variables_and_their_defaults_set_the_size_of_lists() {
    let text = "query ($n: Int = 30) { feed(first: $n) { nodes { id } } }";
    assert_eq!(complexity(text, json!({ "n": 7 })), 1 + 7 * 2);
    assert_eq!(complexity(text, json!({})), 1 + 30 * 2);
    assert_eq!(complexity(text, json!({ "n": null })), 1 + 100 * 2);
    let text = "query ($ids: [ID!]!) { a: nodes(ids: $ids) { ...F } b: nodes(ids: $ids) { ...F } } fragment F on Note { comments(first: 2) { nodes { id } } }";
    assert_eq!(complexity(text, json!({ "ids": ["a", "b", "c"] })), 2 * (1 + 3 * (1 + 2 * 2)));
}

#[test]
fn a_fragment_with_variables_costs_as_much_as_its_fields() {
    let plain =
        "query ($n: Int) { feed(first: 3) { nodes { author { notes(first: $n) { nodes { id } } } } } }";
    let spread = "query ($n: Int) { feed(first: 3) { nodes { ...A } } } fragment A on Note { author { ...B } } fragment B on User { notes(first: $n) { nodes { id } } }";
    for n in [1, 50, 100] {
        assert_eq!(complexity(plain, json!({ "n": n })), complexity(spread, json!({ "n": n })), "{n}");
    }
}

#[test]
fn long_texts_cost_for_each_object_that_copies_them() {
    let text = "query ($c: String) { feed(first: 100) { nodes { comments(first: 1, after: $c) { nodes { id } } } } }";
    let short = complexity(text, json!({ "c": "x" }));
    assert_eq!(complexity(text, json!({ "c": "x".repeat(2_560) })), short + 100 * 10);
}

#[test]
fn pages_of_full_pages_are_refused_and_the_numbers_do_not_overflow() {
    let guard = usual();
    let pages = "{ feed(first: 100) { nodes { comments(first: 100) { nodes { replies(first: 100) { nodes { id } } } } } } }";
    let errors = admit(&guard, pages, json!({})).unwrap_err();
    assert_eq!(errors[0]["extensions"]["reason"], "TOO_COMPLEX");
    assert_eq!(errors[0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED");
    let deep =
        (0..7).fold("id".to_owned(), |inner, _| format!("followers(first: 100) {{ nodes {{ {inner} }} }}"));
    let wide = CostSettings { max_depth: 64, ..CostSettings::of_development() };
    let deep = format!("{{ user {{ {} }} }}", ["a", "b"].map(|alias| format!("{alias}: {deep}")).concat());
    assert!(admit(&self::guard(wide), &deep, json!({})).is_err());
}
