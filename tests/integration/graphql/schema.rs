//! The exported schema and the example operations agree with the code.

use std::fs;

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Server, Socket, in_days, note, path_of, printed, text_of, token_as, user};

#[test]
fn the_exported_schema_agrees_with_the_code() {
    assert!(
        text_of("schema/schema.graphql") == printed(&["schema"]),
        "schema/schema.graphql differs from the code: run `cargo run -- schema > schema/schema.graphql` and review the diff"
    );
}

#[test]
fn the_exported_subgraph_agrees_with_the_code() {
    assert!(
        text_of("schema/federation.graphql") == printed(&["schema", "--subgraph"]),
        "schema/federation.graphql differs from the code: run `cargo run -- schema --subgraph > \
         schema/federation.graphql` and review the diff"
    );
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
