//! Coercion and limits of variables.

use serde_json::json;

use super::*;

/// Place and message of the only error.
fn coercion_error(text: &str, variables: Json) -> (String, String) {
    let errors = admit(&usual(), text, variables).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let extensions = &errors[0]["extensions"];
    assert_eq!(
        (&extensions["code"], &extensions["reason"]),
        (&json!("BAD_USER_INPUT"), &json!("INVALID_VARIABLE"))
    );
    assert_eq!(errors[0].get("path"), None);
    (extensions["place"].as_str().unwrap().to_owned(), errors[0]["message"].as_str().unwrap().to_owned())
}

const COMMENT: &str = "mutation ($input: AddCommentInput!) { addComment(input: $input) { changed } }";

#[test]
fn an_error_names_the_place_in_the_variable() {
    for (text, variables, place, says) in [
        ("query ($id: ID!) { node(id: $id) { id } }", json!({}), "id", "required"),
        ("query ($id: ID!) { node(id: $id) { id } }", json!({ "id": null }), "id", "not null"),
        (
            "query ($id: ID!) { node(id: $id) { id } }",
            json!({ "id": {} }),
            "id",
            "an object is not a valid ID",
        ),
        (
            "query ($n: Int) { feed(first: $n) { nodes { id } } }",
            json!({ "n": "5" }),
            "n",
            "\"5\" is not a valid Int",
        ),
        (
            "query ($n: Int) { feed(first: $n) { nodes { id } } }",
            json!({ "n": 3_000_000_000_i64 }),
            "n",
            "is not a valid Int",
        ),
        (
            "query ($n: Int) { feed(first: $n) { nodes { id } } }",
            json!({ "n": 1.5 }),
            "n",
            "is not a valid Int",
        ),
        (
            "query ($w: HotOrder) { hotNotes(orderBy: $w) { nodes { id } } }",
            json!({ "w": "YEAR" }),
            "w",
            "\"YEAR\" is not a value of HotOrder",
        ),
        (
            "query ($t: DateTime!) { note(id: 1) { activity(from: $t) { total } } }",
            json!({ "t": "yesterday" }),
            "t",
            "is not a valid DateTime",
        ),
        ("query ($i: [ID!]!) { nodes(ids: $i) { id } }", json!({ "i": ["a", null] }), "i[1]", "not null"),
        (
            "query ($w: HotOrder = YEAR) { hotNotes(orderBy: $w) { nodes { id } } }",
            json!({}),
            "w",
            "YEAR is not a value of HotOrder",
        ),
        (COMMENT, json!({ "input": "x" }), "input", "is not an object of type AddCommentInput"),
        (COMMENT, json!({ "input": { "body": "x" } }), "input.noteId", "required"),
        (
            COMMENT,
            json!({ "input": { "body": "x", "noteId": "n", "parent": 1 } }),
            "input.parent",
            "has no such field",
        ),
        (
            COMMENT,
            json!({ "input": { "body": "x", "noteId": "n", "mentions": ["a", "b", [1]] } }),
            "input.mentions[2]",
            "a list is not a valid ID",
        ),
    ] {
        let (at, message) = coercion_error(text, variables);
        assert_eq!(at, place, "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn no_message_lists_names_of_the_schema() {
    let (_, message) = coercion_error(
        "query ($w: HotOrder) { hotNotes(orderBy: $w) { nodes { id } } }",
        json!({ "w": "DAYS" }),
    );
    assert!(!message.contains("WEEK") && !message.contains("\"DAY\""), "{message}");
    let (_, message) = coercion_error(COMMENT, json!({ "input": { "bod": "x", "noteId": "n" } }));
    assert!(!message.contains("body"), "{message}");
}

#[test]
fn variables_are_converted_to_their_types_and_undefined_ones_removed() {
    let text = "query ($n: Int = 7, $ids: [ID!]!, $on: Boolean) { feed(first: $n) { nodes { id @include(if: $on) } } nodes(ids: $ids) { id } }";
    let sent = json!({ "ids": "a", "on": true, "unknown": { "is": "removed" } });
    let variables = admit(&usual(), text, sent).unwrap();
    assert_eq!(variables.into_value().into_json().unwrap(), json!({ "n": 7, "ids": ["a"], "on": true }));
    let variables = admit(&usual(), text, json!({ "n": 3.0, "ids": [42, "b"] })).unwrap();
    assert_eq!(variables.into_value().into_json().unwrap(), json!({ "n": 3, "ids": [42, "b"] }));
}

#[test]
fn each_wrong_variable_has_an_error() {
    let text = "query ($a: Int!, $b: Int, $c: ID!) { feed(first: $a) { nodes { id } } b: feed(first: $b) { nodes { id } } node(id: $c) { id } }";
    assert_eq!(admit(&usual(), text, json!({ "b": true })).unwrap_err().len(), 3);
}

#[test]
fn variables_are_limited_in_depth_and_number_unknown_ones_too() {
    let guard = guard(CostSettings {
        max_variable_depth: 3,
        max_variable_values: 100,
        ..CostSettings::of_development()
    });
    let reason = |variables: Json| -> Option<String> {
        let errors = admit(
            &guard,
            "query ($ids: [ID!]) { a: nodes(ids: $ids) { id } b: nodes(ids: $ids) { id } }",
            variables,
        )
        .err()?;
        Some(errors[0]["extensions"]["reason"].as_str().unwrap().to_owned())
    };
    assert_eq!(reason(json!({ "x": [[[1]]] })), None);
    assert_eq!(reason(json!({ "x": [[[[1]]]] })).as_deref(), Some("VARIABLES_TOO_DEEP"));
    assert_eq!(reason(json!({ "x": vec![1; 99] })), None);
    assert_eq!(reason(json!({ "x": vec![1; 100] })).as_deref(), Some("TOO_MANY_VARIABLE_VALUES"));
    // It is used twice.
    assert_eq!(reason(json!({ "ids": vec!["a"; 49] })), None);
    assert_eq!(reason(json!({ "ids": vec!["a"; 50] })).as_deref(), Some("TOO_MANY_VARIABLE_VALUES"));
    assert_eq!(reason(json!({ "x": "y".repeat(256 * 100) })).as_deref(), Some("TOO_MANY_VARIABLE_VALUES"));
}
