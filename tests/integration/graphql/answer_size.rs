//! The size of answers and events: bytes are counted while they are written.

use serde_json::{Value, json};
use support::{Client, Server, Socket, note, raw::Raw};

/// The default of `max_answer`.
const MAX_ANSWER: usize = 4 << 20;

/// The longest body: 10,000 characters of 4 bytes.
fn longest_body() -> String {
    "\u{1F426}".repeat(10_000)
}

async fn new_note(client: &Client) -> Value {
    let input = json!({ "title": "Long", "body": longest_body() });
    client.act("createNote", input, "note { id author { id } }").await["note"].clone()
}

/// Code, reason and maximum of the only error of an answer without data.
fn refusal(answer: &Value) -> (Value, Value, Value) {
    let errors = answer["errors"].as_array().unwrap_or_else(|| panic!("no errors"));
    assert_eq!((errors.len(), &answer["data"]), (1, &Value::Null), "{errors:?}");
    let extensions = &errors[0]["extensions"];
    (extensions["code"].clone(), extensions["reason"].clone(), extensions["maximum"].clone())
}

fn too_large(maximum: usize) -> (Value, Value, Value) {
    (json!("GRAPHQL_VALIDATION_FAILED"), json!("TOO_COMPLEX"), json!(maximum))
}

#[tokio::test]
async fn an_answer_has_an_end_and_a_page_of_the_longest_texts_is_below_it() {
    let server = Server::start(&[]);
    let client = server.client("a writer of long notes");
    let ids = vec![new_note(&client).await["id"].clone(); 100];
    let page = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { id title body } } }";
    for _ in 0..2 {
        let answer = client.data(page, json!({ "ids": ids })).await;
        assert_eq!(answer["nodes"][99]["body"], longest_body());
    }
    let twice = "query ($ids: [ID!]!) { a: nodes(ids: $ids) { ...N } b: nodes(ids: $ids) { ...N } }
        fragment N on Note { id body }";
    for _ in 0..2 {
        let answer = client.send(twice, json!({ "ids": ids })).await.body;
        assert_eq!(refusal(&answer), too_large(MAX_ANSWER));
    }
    let metrics = server.metrics().await;
    assert!(metrics["plaudit_guard_refusals_total{reason=\"TOO_COMPLEX\"}"] >= 2.0);
}

#[tokio::test]
async fn a_mutation_whose_answer_is_too_large_has_taken_effect() {
    let server = Server::start(&[]);
    let client = server.client("a writer of long notes");
    let note = new_note(&client).await["id"].clone();
    for _ in 0..13 {
        new_note(&client).await;
    }
    let notes = (0..8).map(|n| format!("n{n}: notes(first: {}) {{ nodes {{ body }} }}", 14 + n));
    let like = format!(
        "mutation ($n: ID!) {{ likeNote(input: {{ noteId: $n }}) {{ note {{ author {{ {} }} }} }} }}",
        notes.collect::<String>()
    );
    let answer = client.send(&like, json!({ "n": note })).await.body;
    assert_eq!(refusal(&answer), too_large(MAX_ANSWER));
    let liked = client.note(note.as_str().unwrap()).await;
    assert_eq!((&liked["likeCount"], &liked["viewerHasLiked"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn an_event_has_an_end_that_is_lower() {
    let server = Server::start(&[]);
    let client = server.client("a writer of long notes");
    let note = new_note(&client).await;
    for _ in 0..3 {
        new_note(&client).await;
    }
    let variables = json!({ "n": [note["id"]] });
    let query = |notes: u8| {
        format!(
            "subscription ($n: [ID!]!) {{ noteCountsChanged(noteIds: $n) {{
               likeCount author {{ notes(first: {notes}) {{ nodes {{ body }} }} }} }} }}"
        )
    };
    let mut socket = Socket::open(&server.url, None).await;
    socket.subscribe("one", &query(1), variables.clone()).await;
    assert_eq!(socket.data().await["noteCountsChanged"]["likeCount"], 0);
    let mut socket = Socket::open(&server.url, None).await;
    socket.subscribe("two", &query(4), variables).await;
    assert_eq!(refusal(&socket.receive().await["payload"]), too_large(128 << 10));
}

#[tokio::test]
async fn a_long_answer_arrives_whole_with_and_without_compression() {
    let server = Server::start(&[]);
    let client = server.client("a writer of long notes");
    let note = new_note(&client).await["id"].clone();
    let body = json!({
        "query": "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { body } } }",
        "variables": { "ids": vec![note; 20] },
    });
    let request = || reqwest::Client::new().post(format!("{}/graphql", server.url)).json(&body);
    let plain = Raw::of(request()).await;
    assert_eq!(plain.header("content-length"), Some(plain.bytes.len().to_string().as_str()));
    let answer: Value = serde_json::from_slice(&plain.bytes).unwrap();
    assert_eq!(answer["data"]["nodes"][19]["body"], longest_body());
    let compressed = Raw::of(request().header("accept-encoding", "gzip")).await;
    assert_eq!(compressed.header("content-encoding"), Some("gzip"));
    assert!(compressed.bytes.len() < plain.bytes.len() / 50, "{} bytes", compressed.bytes.len());
}

#[tokio::test]
async fn the_same_list_is_read_once_in_a_request() {
    let server = Server::start(&[]);
    let client = server.client("a writer");
    for title in ["One", "Two", "Three"] {
        client.act("createNote", json!({ "title": title, "body": "Text" }), "note { id }").await;
    }
    let page = "feed(first: 1, after: $after) { nodes { id } pageInfo { endCursor } }";
    let first = client.data("{ feed(first: 1) { pageInfo { endCursor } } }", json!({})).await;
    let variables = json!({ "after": first["feed"]["pageInfo"]["endCursor"] });
    let statements = async |query: String| {
        let reply = client.send(&query, variables.clone()).await;
        assert!(reply.body.get("errors").is_none(), "{}", reply.body);
        (reply.sql_statements, reply.body["data"].clone())
    };
    let (once, data) = statements(format!("query ($after: String) {{ a: {page} }}")).await;
    assert_eq!(once, 1);
    let aliases: String = (0..24).map(|n| format!("a{n}: {page} ")).collect();
    let (often, all) = statements(format!("query ($after: String) {{ {aliases} }}")).await;
    assert_eq!(often, 1);
    assert!(all.as_object().unwrap().values().all(|page| *page == data["a"]), "{all}");
}

#[tokio::test]
async fn errors_count_for_the_size_of_an_answer_with_their_paths() {
    let server = Server::start(&[]);
    let ids = vec![note(server.stores().new_note().await); 100];
    let refused: String = (0..18).map(|n| format!("a{n}: visibility {{ isHidden }} ")).collect();
    let query = |alias: &str| {
        let notes = format!("{alias}: author {{ {alias}: notes(first: 1) {{ {alias}: nodes {{");
        let nested = format!("{notes} {notes} {notes} {alias}: author {{ {refused}");
        let end = "}".repeat(nested.matches('{').count() - nested.matches('}').count());
        format!("query ($ids: [ID!]!) {{ {alias}: nodes(ids: $ids) {{ ... on Note {{ {nested} {end} }} }} }}")
    };
    let client = server.anonymous();
    let answer = client.send(&query("short"), json!({ "ids": ids })).await.body;
    assert_eq!(answer["errors"].as_array().map(Vec::len), Some(1_800), "{answer}");
    let answer = client.send(&query(&"long".repeat(64)), json!({ "ids": ids })).await.body;
    assert_eq!(refusal(&answer), too_large(MAX_ANSWER));
}

#[tokio::test]
async fn a_subscription_whose_plan_is_not_kept_has_whole_events() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    // Null for a variable with a default: the document is validated again at each request.
    let query = "subscription ($n: [ID!]!, $after: String = \"x\") { ... on Subscription {
        noteCountsChanged(noteIds: $n) { id likeCount countsVersion comments(after: $after) { nodes { id } } } } }";
    let mut socket = Socket::open(&server.url, None).await;
    for id in ["one", "two"] {
        socket.subscribe(id, query, json!({ "n": [n], "after": null })).await;
        let note = socket.data().await["noteCountsChanged"].clone();
        assert_eq!((&note["id"], &note["comments"]), (&json!(n), &json!({ "nodes": [] })));
    }
    server.client("a fan").like(&n).await;
    assert_eq!(socket.note_until(|note| note["likeCount"] == 1).await["id"], n);
}
