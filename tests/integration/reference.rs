//! Reference pages: the tables of docs/reference are the output of `plaudit docs`, and what they say of limits is true.

use std::{collections::BTreeSet, fs};

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use support::{
    Place, Server, printed,
    raw::{Raw, post},
    text_of,
};

use crate::graphql::schema_types::Types;

#[test]
fn the_tables_of_the_reference_pages_agree_with_the_code() {
    for (name, file) in [
        ("settings", "settings.md"),
        ("metrics", "metrics.md"),
        ("limits", "limits.md"),
        ("rights", "rights.md"),
        ("cli", "command-line.md"),
        ("errors", "errors.md"),
    ] {
        let text = text_of(&format!("docs/reference/{file}"));
        let begin = format!("<!-- plaudit docs {name} -->\n\n");
        let (_, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
        let (written, _) = rest.split_once("\n<!-- /plaudit docs -->").unwrap();
        let expected = printed(&["docs", name]);
        assert!(
            written == expected,
            "docs/reference/{file} needs what `plaudit docs {name}` prints:\n{expected}"
        );
    }
}

#[test]
fn the_default_of_pages_is_that_of_the_schema() {
    let types = Types::read();
    let other = types.fields().filter_map(|(_, field)| {
        let argument = |name: &str| field.arguments.iter().find(|it| it.node.name.node == name);
        let default = argument("after").and(argument("first"))?.node.default_value.as_ref()?.node.to_string();
        (default != "20").then(|| format!("`{}` {default}", field.name.node))
    });
    let other: Vec<String> = other.collect::<BTreeSet<_>>().into_iter().collect();
    let row = format!("| Pages | `first`: 1 to 100; default 20, {} |", other.join(", "));
    assert!(text_of("docs/reference/limits.md").contains(&row), "{row}");
}

/// Rows of the table of limits, and requests beyond them.
fn beyond_limits(url: &str) -> Vec<(&'static str, RequestBuilder)> {
    let send = |query: &str, variables: Value| {
        post(url, json!({ "query": query, "variables": variables }).to_string())
    };
    let document = |text: String| send(&text, json!({}));
    let many = |count: usize, text: fn(usize) -> String| (0..count).map(text).collect::<String>();
    let deep = (0..7)
        .fold("id".to_owned(), |inner, _| format!("author {{ notes(first: 1) {{ nodes {{ {inner} }} }} }}"));
    let wide = "{ feed(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }";
    let lists = (0..9).fold(json!(1), |inner, _| json!([inner]));
    let typename = "{ __typename }";
    vec![
        ("Bytes of a token", document(typename.into()).bearer_auth("x".repeat(8_193))),
        ("Body of a request", document(" ".repeat(256 * 1024))),
        ("Batches", post(url, json!([{ "query": typename }]).to_string())),
        ("Tokens of a document", document(format!("{{ {} }}", many(999, |_| "__typename ".into())))),
        ("Bytes of a name", document(format!("{{ {}: __typename }}", "x".repeat(257)))),
        (
            "Nested brackets",
            document(format!("{{ feed(after: {}{}) {{ nodes {{ id }} }} }}", "[".repeat(31), "]".repeat(31))),
        ),
        ("Depth", document(format!("{{ hotNotes(first: 1) {{ nodes {{ {deep} }} }} }}"))),
        ("Aliases", document(format!("{{ {} }}", many(101, |n| format!("a{n}: __typename "))))),
        (
            "Selections",
            document(format!(
                "{{ {} }} fragment F on Query {{ {} }}",
                many(9, |_| "...F ".into()),
                many(111, |_| "__typename ".into())
            )),
        ),
        ("Complexity |", document(wide.into())),
        (
            "Root fields",
            document(format!(
                "mutation {{ {} }}",
                many(11, |n| format!("l{n}: likeNote(input: {{ noteId: \"note_1\" }}) {{ changed }} "))
            )),
        ),
        ("Page size", document("{ feed(first: 101) { nodes { id } } }".into())),
        ("JSON values", send(typename, json!({ "x": vec![1; 20_000] }))),
        ("Values of all variables", send(typename, json!({ "x": vec![1; 5_000] }))),
        ("Nested lists", send(typename, json!({ "x": lists }))),
        ("Introspection", document("{ __schema { types { name } } }".into())),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_a_limit_the_answer_has_the_status_and_the_code_of_its_row() {
    let server = Server::start(&["--introspection=false"]);
    let place = Place::new();
    let manifest = place.path().join("documents.json");
    fs::write(&manifest, json!({ "typename": "{ __typename }" }).to_string()).unwrap();
    let flags = ["--only-trusted-documents", "--trusted-documents", manifest.to_str().unwrap()];
    let trusting = Server::start(&flags);
    let input = json!({ "title": "Long", "body": "\u{1F426}".repeat(10_000) });
    let created = server.client("a writer of a long note").act("createNote", input, "note { id }").await;
    let notes = "query ($ids: [ID!]!) { a: nodes(ids: $ids) { ...N } b: nodes(ids: $ids) { ...N } }
        fragment N on Note { body }";
    let long = json!({ "query": notes, "variables": { "ids": vec![&created["note"]["id"]; 60] } });
    let mut requests = beyond_limits(&server.url);
    requests.push(("Bytes of an answer", post(&server.url, long.to_string())));
    requests.push(("Only trusted", post(&trusting.url, r#"{ "query": "{ __typename }" }"#)));

    let page = text_of("docs/reference/limits.md");
    let cell = |row: &str| row.split(" | ").nth(3).unwrap().to_owned();
    let rows: Vec<&str> = page.lines().filter(|line| line.matches(" | ").count() == 4).collect();
    let has_status = rows.iter().filter(|row| [", 422", ", 294"].iter().any(|end| cell(row).ends_with(end)));
    let mut unsent: BTreeSet<&str> = has_status.copied().collect();
    assert_eq!(unsent.len(), 16);
    for (name, request) in requests {
        let row = *rows.iter().find(|row| row.starts_with(&format!("| {name}"))).unwrap();
        let answer = Raw::of(request.header("accept", "application/graphql-response+json")).await;
        let code = answer.json()["errors"][0]["extensions"]["code"].as_str().unwrap().to_owned();
        let code = if cell(row).contains('`') { format!("`{code}`, ") } else { String::new() };
        assert_eq!(format!("{code}{}", answer.status), cell(row), "{row}");
        unsent.remove(row);
    }
    assert_eq!(unsent, BTreeSet::new());
}
