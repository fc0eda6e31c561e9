//! Limits on the cost of a request: each is tested at the limit and one beyond it.

use std::{fmt::Write, sync::OnceLock};

use serde_json::{Value, json};
use support::{Client, Server, note};

/// A server as in production: introspection is off.
fn production() -> &'static Server {
    static PRODUCTION: OnceLock<Server> = OnceLock::new();
    PRODUCTION.get_or_init(|| Server::start(&["--introspection", "false"]))
}

/// Code, reason and maximum of the only error of a response without data.
async fn refused(client: &Client, query: &str, variables: Value) -> (Value, Value, Value) {
    let reply = client.send(query, variables).await.body;
    let errors = reply["errors"].as_array().unwrap_or_else(|| panic!("{reply}"));
    assert_eq!((errors.len(), reply.get("data").unwrap_or(&Value::Null)), (1, &Value::Null), "{reply}");
    assert_eq!((&errors[0]["path"], &errors[0]["extensions"]["retryable"]), (&Value::Null, &json!(false)));
    let extensions = &errors[0]["extensions"];
    (extensions["code"].clone(), extensions["reason"].clone(), extensions["maximum"].clone())
}

fn beyond(reason: &str, maximum: u32) -> (Value, Value, Value) {
    (json!("GRAPHQL_VALIDATION_FAILED"), json!(reason), json!(maximum))
}

/// `count` fields of a query, each with its own alias.
fn aliases(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        write!(text, " a{n}: __typename").unwrap();
        text
    })
}

#[tokio::test]
async fn a_document_may_have_a_thousand_tokens() {
    let client = Server::shared().anonymous();
    let fields = |count: usize| format!("{{ {} }}", "__typename ".repeat(count));
    assert_eq!(client.data(&fields(998), json!({})).await["__typename"], "Query");
    assert_eq!(refused(&client, &fields(999), json!({})).await, beyond("TOO_MANY_TOKENS", 1_000));
}

#[tokio::test]
async fn a_document_may_have_32_kib_of_any_characters() {
    let client = Server::shared().anonymous();
    for filling in [" ", "#", ","] {
        let text = |size: usize| {
            let begin = "{ __typename }\n#";
            format!("{begin}{}", filling.repeat(size - begin.len()))
        };
        assert_eq!(client.data(&text(32_768), json!({})).await["__typename"], "Query");
        assert_eq!(refused(&client, &text(32_769), json!({})).await, beyond("DOCUMENT_TOO_LONG", 32_768));
    }
}

#[tokio::test]
async fn brackets_may_be_nested_32_levels_deep() {
    let client = Server::shared().anonymous();
    let list = |levels: usize| {
        format!("{{ feed(after: {}{}) {{ nodes {{ id }} }} }}", "[".repeat(levels), "]".repeat(levels))
    };
    let within = client.send(&list(30), json!({})).await.body;
    assert!(!within.to_string().contains("TOO_DEEPLY_NESTED"), "{within}");
    for levels in [31, 10_000] {
        assert_eq!(refused(&client, &list(levels), json!({})).await, beyond("TOO_DEEPLY_NESTED", 32));
    }
}

#[tokio::test]
async fn fragments_may_be_nested_32_levels_deep() {
    let client = Server::shared().anonymous();
    let chain = |levels: usize| {
        let spread = |n: usize| format!("fragment F{n} on Query {{ ...F{} }}", n + 1);
        let fragments: String = (1..levels).map(spread).collect();
        format!("{{ ...F1 }} {fragments} fragment F{levels} on Query {{ __typename }}")
    };
    assert_eq!(client.data(&chain(32), json!({})).await["__typename"], "Query");
    assert_eq!(refused(&client, &chain(33), json!({})).await, beyond("TOO_DEEPLY_NESTED", 32));
}

#[tokio::test]
async fn fields_may_be_nested_15_levels_deep() {
    let client = Server::shared().anonymous();
    let deep = |levels: usize| {
        let inner = (0..levels - 2).fold("name".to_owned(), |inner, _| format!("ofType {{ {inner} }}"));
        format!("{{ __type(name: \"Note\") {{ {inner} }} }}")
    };
    assert!(client.data(&deep(15), json!({})).await["__type"].is_object());
    assert_eq!(refused(&client, &deep(16), json!({})).await, beyond("TOO_DEEP", 15));
}

#[tokio::test]
async fn a_document_may_have_a_hundred_aliases() {
    let client = Server::shared().anonymous();
    let text = |count: usize| format!("{{ {} }}", aliases(count));
    assert_eq!(client.data(&text(100), json!({})).await.as_object().unwrap().len(), 100);
    assert_eq!(refused(&client, &text(101), json!({})).await, beyond("TOO_MANY_ALIASES", 100));
}

#[tokio::test]
async fn a_document_may_have_a_hundred_directives_and_a_field_eight() {
    let client = Server::shared().anonymous();
    let text = |count: usize| format!("{{ {} }}", "__typename @skip(if: false) ".repeat(count));
    assert_eq!(client.data(&text(100), json!({})).await["__typename"], "Query");
    assert_eq!(refused(&client, &text(101), json!({})).await, beyond("TOO_MANY_DIRECTIVES", 100));
    let field =
        |count: usize| format!("{{ viewer {} {{ user {{ id }} }} }}", "@skip(if: false) ".repeat(count));
    let within = client.send(&field(8), json!({})).await.body;
    assert!(within["errors"].to_string().contains("Duplicate directive"), "{within}");
    assert_eq!(refused(&client, &field(9), json!({})).await, beyond("TOO_MANY_DIRECTIVES", 8));
}

#[tokio::test]
async fn a_mutation_may_have_ten_root_fields_and_a_subscription_one() {
    let server = Server::shared();
    let client = server.client("a liker of many notes");
    let id = note(server.stores().new_note().await);
    let likes = |count: usize| {
        let like = |n: usize| format!(" l{n}: likeNote(input: {{ noteId: $n }}) {{ changed }}");
        format!("mutation ($n: ID!) {{ {} }}", (0..count).map(like).collect::<String>())
    };
    let liked = client.data(&likes(10), json!({ "n": id })).await;
    assert_eq!((&liked["l0"]["changed"], &liked["l9"]["changed"]), (&json!(true), &json!(false)));
    assert_eq!(refused(&client, &likes(11), json!({ "n": id })).await, beyond("TOO_MANY_ROOT_FIELDS", 10));

    let mut socket = server.socket("a watcher of two notes").await;
    let watch = "subscription ($n: [ID!]!) { a: noteCountsChanged(noteIds: $n) { id }
        b: noteCountsChanged(noteIds: $n) { id } }";
    socket.subscribe("two", watch, json!({ "n": [id] })).await;
    let message = socket.receive().await.to_string();
    assert!(message.contains("TOO_MANY_ROOT_FIELDS") && message.contains("\"maximum\":1"), "{message}");
}

#[tokio::test]
async fn fragments_may_expand_to_a_thousand_selections() {
    let client = Server::shared().anonymous();
    // 9 spreads of 1 + 104 selections, and 55 or 56 more.
    let text = |more: usize| {
        let fragment = format!("fragment F on Query {{ {} }}", "__typename ".repeat(104));
        format!("{{ {} {} }} {fragment}", "...F ".repeat(9), "__typename ".repeat(more))
    };
    assert_eq!(client.data(&text(55), json!({})).await["__typename"], "Query");
    assert_eq!(refused(&client, &text(56), json!({})).await, beyond("TOO_MANY_SELECTIONS", 1_000));
}

#[tokio::test]
async fn a_fragment_that_contains_itself_or_does_not_exist_is_refused() {
    let client = Server::shared().anonymous();
    let cycle = "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }";
    assert_eq!(refused(&client, cycle, json!({})).await.1, "FRAGMENT_CYCLE");
    assert_eq!(refused(&client, "{ ...A }", json!({})).await.1, "UNKNOWN_FRAGMENT");
}

/// A document of about 656 bytes whose check takes 16.7 seconds if only depth and complexity are limited.
fn bomb() -> String {
    let mut text = "{feed{nodes{...F0}}}".to_owned();
    for n in 0..15 {
        write!(text, "fragment F{n} on Note{{...F{next} ...F{next}}}", next = n + 1).unwrap();
    }
    text + "fragment F15 on Note{id}"
}

#[tokio::test]
async fn fragments_that_multiply_are_refused_after_a_few_hundred_steps() {
    let server = production();
    let steps = || async { server.metrics().await.get("plaudit_guard_steps_total").copied().unwrap_or(0.0) };
    let before = steps().await;
    assert!((500..700).contains(&bomb().len()), "{}", bomb().len());
    for _ in 0..10 {
        let refusal = refused(&server.anonymous(), &bomb(), json!({})).await;
        assert_eq!(refusal, beyond("TOO_MANY_SELECTIONS", 1_000));
    }
    let each = (steps().await - before) / 10.0;
    assert!((100.0..500.0).contains(&each), "{each} steps");
    let metrics = server.metrics().await;
    assert!(metrics["plaudit_guard_refusals_total{reason=\"TOO_MANY_SELECTIONS\"}"] >= 10.0);
}

#[tokio::test]
async fn a_response_may_have_five_thousand_fields() {
    let client = Server::shared().anonymous();
    let text = "query ($n: Int!, $c: Int = 10) { feed(first: $n) { nodes { comments(first: $c) { nodes { id } } } } }";
    // 1 + n · (1 + 1 + c · 2)
    assert!(client.data(text, json!({ "n": 100, "c": 23 })).await["feed"].is_object());
    assert_eq!(refused(&client, text, json!({ "n": 100, "c": 24 })).await, beyond("TOO_COMPLEX", 5_000));
    assert!(client.data(text, json!({ "n": 100 })).await["feed"].is_object());
    let ids = vec!["note_1"; 100];
    let text =
        "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { comments(first: 25) { nodes { id } } } } }";
    assert_eq!(refused(&client, text, json!({ "ids": ids })).await, beyond("TOO_COMPLEX", 5_000));
}

#[tokio::test]
async fn documents_of_common_clients_are_executed() {
    let client = Server::shared().client("a user of common clients");
    let read = |name: &str| support::text_of(&format!("tests/documents/{name}.graphql"));
    for (name, variables, field) in [
        ("introspection", json!({}), "__schema"),
        ("relay", json!({ "count": 50, "cursor": null, "withComments": true }), "feed"),
        ("relay", json!({ "count": 50, "cursor": null, "withComments": false }), "feed"),
        ("apollo", json!({ "first": 100 }), "feed"),
    ] {
        assert!(client.data(&read(name), variables).await[field].is_object(), "{name}");
    }
}

// Variables.

#[tokio::test]
async fn a_variable_of_the_wrong_type_is_refused_before_anything_is_executed() {
    let client = Server::shared().client("a sender of bad variables");
    for (query, variables, place) in [
        ("query ($id: ID!) { note(id: $id) { id } }", json!({}), "id"),
        ("query ($n: Int) { feed(first: $n) { nodes { id } } }", json!({ "n": "x" }), "n"),
        (
            "mutation ($i: AddCommentInput!) { addComment(input: $i) { __typename } }",
            json!({ "i": { "noteId": "note_1", "body": "x", "mentions": ["user_1", false] } }),
            "i.mentions[1]",
        ),
        (
            "mutation ($i: LikeNoteInput!) { likeNote(input: $i) { changed } }",
            json!({ "i": { "noteId": "note_1", "userId": "user_1" } }),
            "i.userId",
        ),
        ("query ($w: HotOrder!) { hotNotes(orderBy: $w) { nodes { id } } }", json!({ "w": "DECADE" }), "w"),
    ] {
        let reply = client.send(query, variables).await.body;
        let error = &reply["errors"][0];
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{reply}");
        assert_eq!(error["extensions"]["reason"], "INVALID_VARIABLE", "{reply}");
        assert_eq!((&error["extensions"]["place"], &error["path"]), (&json!(place), &Value::Null), "{reply}");
        assert!(reply.get("data").is_none_or(Value::is_null), "{reply}");
    }
}

#[tokio::test]
async fn an_undefined_variable_is_ignored_and_a_default_controls_a_directive() {
    let client = Server::shared().anonymous();
    let text = "query ($on: Boolean = true) { viewer @skip(if: $on) { __typename }
         a: viewer @include(if: $on) { __typename } }";
    assert_eq!(client.data(text, json!({ "unknown": [1] })).await, json!({ "a": null }));
    assert_eq!(client.data(text, json!({ "on": false })).await, json!({ "viewer": null }));
}

#[tokio::test]
async fn variables_may_be_eight_levels_deep_and_have_five_thousand_values() {
    let client = Server::shared().anonymous();
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let text = "{ __typename }";
    assert_eq!(client.data(text, json!({ "x": deep(8) })).await["__typename"], "Query");
    let input = |reason: &str, maximum: u32| (json!("BAD_USER_INPUT"), json!(reason), json!(maximum));
    assert_eq!(refused(&client, text, json!({ "x": deep(9) })).await, input("VARIABLES_TOO_DEEP", 8));
    assert_eq!(client.data(text, json!({ "x": vec![1; 4_999] })).await["__typename"], "Query");
    for many in [json!({ "x": vec![1; 5_000] }), json!({ "x": "y".repeat(256 * 900), "z": vec![1; 4_100] })] {
        assert_eq!(refused(&client, text, many).await, input("TOO_MANY_VARIABLE_VALUES", 5_000));
    }
}

// Introspection and error messages in production.

#[tokio::test]
async fn in_production_neither_introspection_nor_errors_reveal_the_schema() {
    let client = production().anonymous();
    for query in ["{ __schema { types { name } } }", "{ __type(name: \"Note\") { fields { name } } }"] {
        let (code, reason, _) = refused(&client, query, json!({})).await;
        assert_eq!((code, reason), (json!("GRAPHQL_VALIDATION_FAILED"), json!("INTROSPECTION_OFF")));
    }
    assert_eq!(client.data("{ __typename }", json!({})).await["__typename"], "Query");

    for (query, variables, secret) in [
        ("{ fee { nodes { id } } }", json!({}), "feed"),
        ("{ feed(firs: 1) { nodes { id } } }", json!({}), "first"),
        ("{ feed { nodes { titl } } }", json!({}), "title"),
        ("{ feed { nodes { ...on Not { id } } } }", json!({}), "\"Note\""),
        ("{ hotNotes(orderBy: WEE) { nodes { id } } }", json!({}), "WEEK"),
        ("query ($w: HotOrder) { hotNotes(orderBy: $w) { nodes { id } } }", json!({ "w": "WEE" }), "WEEK"),
        (
            "mutation { likeNote(input: { noteId: \"note_1\", idempotency: 1 }) { changed } }",
            json!({}),
            "idempotencyKey",
        ),
    ] {
        let reply = client.send(query, variables).await.body.to_string();
        assert!(reply.contains("errors") && !reply.contains(secret), "{query}: {reply}");
        assert!(!reply.contains("Did you mean"), "{query}: {reply}");
    }
    let suggested = Server::shared().anonymous().error("{ fee { nodes { id } } }", json!({})).await;
    assert!(suggested["message"].as_str().unwrap().contains("Did you mean \"feed\""), "{suggested}");
}

#[tokio::test]
async fn a_document_with_a_thousand_errors_gets_sixteen() {
    let client = production().anonymous();
    let wrong: String = (0..900).map(|n| format!(" wrong{n}")).collect();
    let reply = client.send(&format!("{{ {wrong} }}"), json!({})).await.body;
    assert_eq!(reply["errors"].as_array().unwrap().len(), 16);
}

#[tokio::test]
async fn a_document_is_parsed_once_and_an_invalid_one_is_not_cached() {
    let server = Server::start(&["--introspection", "false"]);
    let client = server.anonymous();
    let parsed = || async {
        let metrics = server.metrics().await;
        metrics.get("plaudit_documents_total{from=\"text\"}").copied().unwrap_or(0.0)
    };
    let before = parsed().await;
    for n in 0..5 {
        client.data("query ($n: Int!) { feed(first: $n) { nodes { id } } }", json!({ "n": n + 1 })).await;
    }
    assert_eq!(parsed().await - before, 1.0);
    for _ in 0..3 {
        client.error("{ feed { nodes { wrong } } }", json!({})).await;
    }
    assert_eq!(parsed().await - before, 4.0);
}

#[tokio::test]
async fn a_batch_is_refused() {
    let url = format!("{}/graphql", Server::shared().url);
    let batch = json!([{ "query": "{ __typename }" }, { "query": "{ __typename }" }]);
    let reply = reqwest::Client::new().post(url).json(&batch).send().await.unwrap();
    assert!(reply.status().is_client_error(), "{}", reply.status());
}
