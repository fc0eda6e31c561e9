//! The exported schema and the example operations agree with the code.

use std::fs;

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Server, Socket, in_days, note, path_of, printed, text_of, token_as, user};

#[test]
fn the_exported_schema_agrees_with_the_code() {
    assert!(
        text_of("schema/schema.graphql") == printed(&["schema"]),
        "schema/schema.graphql differs from the code: run `target/debug/plaudit schema > schema/schema.graphql` and review the diff"
    );
}

/// The lines of the subgraph's schema that differ from those of the schema.
const OF_SUBGRAPH: &str = r#"type Comment implements Node & Likeable & Counted @key(fields: "id") @key(fields: "key") {
type Group implements Node & Counted @key(fields: "id") @key(fields: "key") {
type Note implements Node & Likeable & Collectable & Counted @key(fields: "id") @key(fields: "key") {
type PageInfo @shareable {
type User implements Node & Counted @key(fields: "id") @key(fields: "subject") {
extend schema @link(
  url: "https://specs.apollo.dev/federation/v2.5",
  import: ["@key", "@tag", "@shareable", "@inaccessible", "@override", "@external", "@provides", "@requires", "@composeDirective", "@interfaceObject", "@requiresScopes"]
)"#;

#[test]
fn the_subgraph_is_the_schema_with_keys_of_entities_shared_pages_and_a_link() {
    let (schema, subgraph) = (printed(&["schema"]), printed(&["schema", "--subgraph"]));
    let pairs = schema.lines().zip(subgraph.lines()).filter(|(line, of_subgraph)| line != of_subgraph);
    let (lines, of_subgraph): (Vec<&str>, Vec<&str>) = pairs.unzip();
    assert_eq!(of_subgraph.join("\n"), OF_SUBGRAPH);
    let types = of_subgraph.iter().map(|line| format!("{} {{", line.split(" @").next().unwrap()));
    assert_eq!(lines[..5], types.take(5).collect::<Vec<_>>());
    let roots = "schema {\n  query: Query\n  mutation: Mutation\n  subscription: Subscription\n}\n";
    assert!(schema.ends_with(roots) && schema.lines().count() == subgraph.lines().count() + 1);
}

/// The example operations of one kind, with the names of their files.
fn examples(kind: &str) -> Vec<(String, String)> {
    let folder = path_of("schema/examples").join(kind);
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.display().to_string(), fs::read_to_string(path).unwrap())
    };
    fs::read_dir(folder).unwrap().map(read).collect()
}

#[tokio::test]
async fn every_example_is_a_valid_operation() {
    let server = Server::shared();
    let stores = server.stores();
    let number = stores.new_note().await;
    let (n, u, other) = (note(number), user(stores.new_user().await), user(stores.new_user().await));
    let comment = format!("comment_{}", stores.new_comment(number).await);
    let group = format!("group_{}", stores.new_group().await);
    let variables = json!({
        "id": n, "ids": [n, u, comment, group],
        "noteId": n, "userId": u, "commentId": comment, "groupId": group,
        "noteIds": [n], "userIds": [u], "commentIds": [comment], "groupIds": [group],
        "senderId": u, "recipientId": other,
        "title": "An example", "body": "Text", "name": "Examples", "description": "Text",
        "badges": ["LIKES"], "amount": 1, "score": 7, "reason": "An example",
        "why": "SPAM", "text": "Text", "decision": "KEEP", "until": in_days(1),
        "users": [{ "subject": "a user of the examples" }],
        "groups": [{ "key": "an example", "ownerId": u, "name": "Examples" }],
        "notes": [{ "key": "an example", "authorId": u, "title": "An example", "body": "Text" }],
        "subject": "a user of the examples", "prefix": "a", "from": "2026-01-01T00:00:00.000Z",
    });

    let client = server.client("a user of the examples");
    for (file, example) in [examples("queries"), examples("mutations")].concat() {
        let reply = client.send(&example, variables.clone()).await.body;
        // Some examples are for other roles, but all must be valid.
        let is_of_the_engine = |error: &Value| error["extensions"]["code"].to_string().contains("GRAPHQL_");
        let mut errors = reply["errors"].as_array().into_iter().flatten();
        assert!(!errors.any(is_of_the_engine), "{file}: {reply}");
    }
    for (file, example) in examples("subscriptions") {
        // Some examples are for moderators, and one is for services.
        let role = if example.contains(" events(") { Role::Service } else { Role::Moderator };
        let token = token_as(role, "a user of the examples");
        let mut socket = Socket::open(&server.url, Some(token)).await;
        socket.subscribe("example", &example, variables.clone()).await;
        assert!(socket.data().await.is_object(), "{file}");
    }
}
