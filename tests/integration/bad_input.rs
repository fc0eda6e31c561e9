use serde_json::{Value, json};

use crate::support::{Server, note, user};

const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";

async fn refused(subject: &str, query: &str, variables: Value) -> (Value, Value) {
    let error = Server::shared().client(subject).error(query, variables).await;
    assert_eq!(error["extensions"]["retryable"], false, "{error}");
    (error["extensions"]["code"].clone(), error["extensions"]["argument"].clone())
}

#[tokio::test]
async fn unknown_and_removed_notes_are_not_found() {
    let stores = Server::shared().stores();
    let removed = stores.new_note().await;
    sqlx::query("UPDATE note SET removed_at = now() WHERE id = $1")
        .bind(removed)
        .execute(&stores.sql().await)
        .await
        .unwrap();
    for id in [note(removed), note(9_000_000_000)] {
        assert_eq!(refused("ann errs", LIKE, json!({ "n": id })).await.0, "NOT_FOUND");
        assert_eq!(
            refused("ann errs", &LIKE.replace("likeNote", "unlikeNote"), json!({ "n": id })).await.0,
            "NOT_FOUND"
        );
        let found = Server::shared()
            .anonymous()
            .data("query ($n: ID!) { note(id: $n) { id } }", json!({ "n": id }))
            .await;
        assert_eq!(found["note"], Value::Null);
    }
}

#[tokio::test]
async fn a_bad_id_is_refused_and_its_argument_is_named() {
    for bad in [
        "",
        "note",
        "note_",
        "note_0",
        "note_-1",
        "note_01",
        "note_1x",
        "42",
        "user_1",
        "note_9007199254740992",
    ] {
        let (code, argument) = refused("bob errs", LIKE, json!({ "n": bad })).await;
        assert_eq!((code, argument), (json!("BAD_USER_INPUT"), json!("noteId")), "{bad:?}");
    }
    let follow = "mutation ($u: ID!) { follow(input: { userId: $u }) { changed } }";
    assert_eq!(
        refused("bob errs", follow, json!({ "u": "note_1" })).await,
        (json!("BAD_USER_INPUT"), json!("userId"))
    );
    let node = "query ($id: ID!) { node(id: $id) { id } }";
    assert_eq!(
        refused("bob errs", node, json!({ "id": "cat_1" })).await,
        (json!("BAD_USER_INPUT"), json!("id"))
    );
}

#[tokio::test]
async fn pages_and_cursors_outside_the_limits_are_refused() {
    for first in [0, -1, 101] {
        let (code, argument) = refused(
            "cat errs",
            "query ($f: Int!) { feed(first: $f) { nodes { id } } }",
            json!({ "f": first }),
        )
        .await;
        assert_eq!((code, argument), (json!("BAD_USER_INPUT"), json!("first")), "{first}");
    }
    let (code, argument) =
        refused("cat errs", "{ feed(after: \"nonsense\") { nodes { id } } }", json!({})).await;
    assert_eq!((code, argument), (json!("BAD_USER_INPUT"), json!("after")));
}

#[tokio::test]
async fn pages_in_pages_are_refused_however_deep() {
    for depth in [4, 8, 12, 15] {
        let (open, close) = ("followers(first: 100) { nodes { ".repeat(depth), "} }".repeat(depth));
        let query = format!("{{ user(subject: \"x\") {{ {open} id {close} }} }}");
        assert_eq!(refused("cat errs", &query, json!({})).await.0, "GRAPHQL_VALIDATION_FAILED", "{depth}");
    }
}

#[tokio::test]
async fn an_empty_or_too_long_idempotency_key_is_refused() {
    let n = note(Server::shared().stores().new_note().await);
    let query =
        "mutation ($n: ID!, $k: String) { likeNote(input: { noteId: $n, idempotencyKey: $k }) { changed } }";
    for key in [String::new(), "k".repeat(65)] {
        let (code, argument) = refused("dan errs", query, json!({ "n": n, "k": key })).await;
        assert_eq!((code, argument), (json!("BAD_USER_INPUT"), json!("idempotencyKey")));
    }
    let longest =
        Server::shared().client("dan errs").data(query, json!({ "n": n, "k": "k".repeat(64) })).await;
    assert_eq!(longest["likeNote"]["changed"], true);
}

#[tokio::test]
async fn mutations_need_a_token_and_a_bad_token_is_refused_everywhere() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let error = server.anonymous().error(LIKE, json!({ "n": n })).await;
    assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED");
    for token in ["nonsense", "a.b.c", ""] {
        let bad = server.anonymous().with_token(token);
        for query in
            ["{ feed { nodes { id } } }", "mutation { likeNote(input: { noteId: \"note_1\" }) { changed } }"]
        {
            let reply = bad.send(query, json!({})).await;
            assert_eq!(reply.status, 401, "{token:?}");
            assert_eq!(reply.body["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
        }
    }
}

#[tokio::test]
async fn syntax_and_validation_errors_have_codes() {
    let client = Server::shared().anonymous();
    assert_eq!(client.error("{ feed { ", json!({})).await["extensions"]["code"], "GRAPHQL_PARSE_FAILED");
    assert_eq!(
        client.error("{ nonsense }", json!({})).await["extensions"]["code"],
        "GRAPHQL_VALIDATION_FAILED"
    );
}

#[tokio::test]
async fn a_user_is_looked_up_by_id_or_by_subject_and_not_by_both() {
    let server = Server::shared();
    let follower = server.client("eve is looked up");
    let me = follower.follow(&user(server.stores().new_user().await)).await["viewer"]["id"].clone();
    let query = "query ($id: ID, $s: String) { user(id: $id, subject: $s) { id } }";
    let by_subject = follower.data(query, json!({ "s": "eve is looked up" })).await;
    assert_eq!(by_subject["user"]["id"], me);
    assert_eq!(follower.data(query, json!({ "id": me })).await["user"]["id"], me);
    assert_eq!(follower.data(query, json!({ "s": "nobody at all" })).await["user"], Value::Null);
    for both_or_none in [json!({}), json!({ "id": me, "s": "eve is looked up" })] {
        assert_eq!(refused("eve is looked up", query, both_or_none).await.0, "BAD_USER_INPUT");
    }
}
