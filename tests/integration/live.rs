use serde_json::json;

use crate::support::{Server, Socket, note, user};

#[tokio::test]
async fn a_subscription_tells_the_present_count_first_and_then_each_change() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (liker, mut socket) = (server.client("ann is seen"), server.socket("bob watches").await);
    liker.like(&n).await;
    socket.watch_notes(&[&n]).await;
    let first = socket.note_until(|_| true).await;
    assert_eq!(
        (&first["__typename"], &first["id"], &first["likeCount"]),
        (&json!("Note"), &json!(n), &json!(1))
    );
    server.client("cat is seen").like(&n).await;
    assert_eq!(socket.note_until(|note| note["likeCount"] == 2).await["viewerHasLiked"], false);
    liker.unlike(&n).await;
    socket.note_until(|note| note["likeCount"] == 1).await;
}

#[tokio::test]
async fn own_state_in_a_subscription_is_of_the_moment() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (me, mut socket) =
        (server.client("dan likes and watches"), server.socket("dan likes and watches").await);
    socket.watch_notes(&[&n]).await;
    assert_eq!(socket.note_until(|_| true).await["viewerHasLiked"], false);
    me.like(&n).await;
    assert_eq!(socket.note_until(|note| note["likeCount"] == 1).await["viewerHasLiked"], true);
}

#[tokio::test]
async fn a_count_has_the_same_version_in_the_reply_the_query_and_the_push() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (liker, mut socket) = (server.client("eve compares"), server.socket("eve compares").await);
    socket.watch_notes(&[&n]).await;
    let reply = liker.like(&n).await["note"].clone();
    let queried = liker.note(&n).await;
    let pushed = socket.note_until(|note| note["likeCount"] == 1).await;
    assert_eq!(reply["countsVersion"], queried["countsVersion"]);
    assert_eq!(reply["countsVersion"], pushed["countsVersion"]);
    assert!(reply["countsVersion"].as_u64().unwrap() < 1 << 53);
}

#[tokio::test]
async fn users_counts_are_live_too() {
    let server = Server::shared();
    let u = user(server.stores().new_user().await);
    let mut socket = server.socket("fay watches").await;
    let query = "subscription ($u: [ID!]!) { userCountsChanged(userIds: $u) { id followerCount } }";
    socket.subscribe("users", query, json!({ "u": [u] })).await;
    assert_eq!(socket.data().await["userCountsChanged"], json!({ "id": u, "followerCount": 0 }));
    server.client("gus follows").follow(&u).await;
    assert_eq!(socket.data().await["userCountsChanged"], json!({ "id": u, "followerCount": 1 }));
}

#[tokio::test]
async fn a_subscription_to_what_is_not_there_is_an_error() {
    let server = Server::shared();
    let mut socket = server.socket("hal watches").await;
    for (ids, code) in [
        (json!(["note_9000000000"]), "NOT_FOUND"),
        (json!(["user_1"]), "BAD_USER_INPUT"),
        (json!([]), "BAD_USER_INPUT"),
    ] {
        let query = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { id } }";
        socket.subscribe("x", query, json!({ "n": ids })).await;
        let message = socket.receive().await;
        let errors =
            if message["type"] == "error" { &message["payload"] } else { &message["payload"]["errors"] };
        assert_eq!(errors[0]["extensions"]["code"], code, "{message}");
        if message["type"] == "next" {
            assert_eq!(socket.receive().await["type"], "complete");
        }
    }
}

#[tokio::test]
async fn a_bad_token_does_not_open_a_socket() {
    let mut socket = Socket::connect(&Server::shared().url).await;
    socket
        .send(json!({ "type": "connection_init", "payload": { "Authorization": "Bearer nonsense" } }))
        .await;
    assert_ne!(socket.close_code().await, 1000);
}
