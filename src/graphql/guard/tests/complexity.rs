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
fn a_text_under_a_second_alias_costs_its_greatest_length() {
    let body = 4 * 10_000 / 256;
    let note = |fields: &str| complexity(&format!("{{ note(id: \"a\") {{ {fields} }} }}"), json!({}));
    assert_eq!(note("body"), 2);
    assert_eq!(note("text: body"), 2);
    assert_eq!(note("body body ...{ body }"), 4);
    assert_eq!(note("body text: body"), 3 + body);
    assert_eq!(note("a: body ... on Note { b: body ... { c: body } }"), 4 + 2 * body);
    assert_eq!(note("body title author { name } comments(first: 1) { nodes { body } }"), 8);
    let spread = "{ feed(first: 5) { nodes { a: body ...B } } } fragment B on Note { b: body }";
    assert_eq!(complexity(spread, json!({})), 1 + 5 * (3 + body));
    let types = "{ nodes(ids: [\"a\"]) { ... on Note { body } ... on Comment { text: body } } }";
    assert_eq!(complexity(types, json!({})), 3);
}

#[test]
fn a_subscription_costs_as_many_events_as_it_watches_objects() {
    let text = "subscription ($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) { id likeCount } }";
    for objects in [1, 7] {
        assert_eq!(complexity(text, json!({ "ids": vec!["a"; objects] })), 1 + objects as u64 * 2);
    }
    assert_eq!(complexity("subscription { inboxCountsChanged { id } }", json!({})), 2);
}

#[test]
fn an_event_has_a_limit_of_its_own_in_which_lists_count_by_their_length() {
    let guard = usual();
    let watch = |comments: u32| {
        let text = "subscription ($c: Int) { ...S } fragment S on Subscription {
            noteCountsChanged(noteIds: [\"a\"]) { id ...C } }
            fragment C on Note { comments(first: $c) { nodes { id body } } }";
        admit(&guard, text, json!({ "c": comments }))
    };
    // 2 + c · 3
    assert!(watch(82).is_ok());
    let refused = &watch(83).unwrap_err()[0]["extensions"];
    assert_eq!((&refused["reason"], &refused["maximum"]), (&json!("TOO_COMPLEX"), &json!(250)));
    assert_eq!(refused["measured"], 251);
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

#[test]
fn lists_inside_lists_count_for_each_item() {
    assert_eq!(lists("{ note(id: 1) { id author { name } } }", json!({})), 0);
    assert_eq!(lists("{ feed(first: 5) { nodes { id comments { nodes { id } } } } }", json!({})), 1 + 5);
    let fragment = "query ($ids: [ID!]!, $n: Int) { nodes(ids: $ids) { ...N } }
        fragment N on Note { likers(first: $n) { nodes { id } } ...C }
        fragment C on Note { comments(first: 3) { nodes { replies(first: $n) { nodes { id } } } } }";
    assert_eq!(lists(fragment, json!({ "ids": ["a", "b"], "n": 4 })), 2 * (1 + 1 + 3));
}
