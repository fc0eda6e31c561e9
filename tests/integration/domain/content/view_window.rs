//! The window of views: a viewer counts once per note, also without a token.

use futures_util::future::join_all;
use serde_json::{Value, json};
use support::{
    Client, SOON, Server, eventually, note,
    raw::{Raw, post},
};

async fn view(client: &Client, n: &str) {
    let payload = client.act("recordViews", json!({ "noteIds": [n] }), "changed notes { id }").await;
    assert_eq!(payload, json!({ "changed": true, "notes": [{ "id": n }] }));
}

async fn view_count(server: &Server, n: &str) -> Value {
    let query = "query ($n: ID!) { note(id: $n) { viewCount } }";
    server.anonymous().data(query, json!({ "n": n })).await["note"]["viewCount"].clone()
}

/// Waits until the views that were sent are counted: one of a new viewer comes last.
async fn until_counted(server: &Server, n: &str, count: i64, last: &str) {
    view(&server.client(last), n).await;
    eventually("the last view is counted", SOON, || async {
        (view_count(server, n).await.as_i64() > Some(count)).then_some(())
    })
    .await;
    server.stores().rest().await;
    assert_eq!(view_count(server, n).await, count + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_counts_once_per_note_however_often_and_at_once_they_view_it() {
    let server = Server::start(&["--view-window", "1h"]);
    let (n, other) = (note(server.stores().new_note().await), note(server.stores().new_note().await));
    let ann = server.client("ann views");
    join_all((0..64).map(|_| view(&ann, &n))).await;
    until_counted(&server, &n, 1, "the first one after ann").await;
    join_all((0..64).map(|_| view(&ann, &n))).await;
    view(&ann, &other).await;
    until_counted(&server, &n, 2, "the second one after ann").await;
    until_counted(&server, &other, 1, "one on the other note").await;
    // Without a token the address counts, and no user comes to be.
    let users = "SELECT count(*) FROM app_user WHERE $1 > 0";
    let before = server.stores().number(users, 1).await;
    join_all((0..8).map(|_| async { view(&server.anonymous(), &n).await })).await;
    assert_eq!(server.stores().number(users, 1).await, before);
    until_counted(&server, &n, 4, "the third one after ann").await;
    let keyed = json!({ "noteIds": [n], "idempotencyKey": "of nobody" });
    let refused = server.anonymous().refused("recordViews", keyed).await;
    assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("idempotencyKey".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_reads_counts_once_and_gets_no_user_also_after_their_erasure() {
    let server = Server::start(&["--view-window", "1h"]);
    let n = note(server.stores().new_note().await);
    let reader = server.client("ann reads");
    let user =
        async || reader.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    join_all((0..8).map(|_| view(&reader, &n))).await;
    assert_eq!(user().await, Value::Null);
    until_counted(&server, &n, 1, "the first one after ann").await;

    reader.act("likeNote", json!({ "noteId": n }), "changed").await;
    let id = user().await;
    reader.act("eraseUser", json!({ "userId": id, "confirmation": id }), "changed").await;
    view(&reader, &n).await;
    assert_eq!(user().await, Value::Null);
    // An idempotency key belongs to a user, so this creates one.
    reader.act("recordViews", json!({ "noteIds": [n], "idempotencyKey": "of ann" }), "changed").await;
    assert!(user().await.is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_counts_again_when_the_window_has_ended() {
    let server = Server::start(&["--view-window", "1s"]);
    let n = note(server.stores().new_note().await);
    let ann = server.client("ann comes back");
    eventually("three windows have counted", SOON, || async {
        view(&ann, &n).await;
        (view_count(&server, &n).await.as_i64() >= Some(3)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_forgets_who_viewed_what_so_a_viewer_counts_again() {
    let mut server = Server::start(&["--view-window", "1h"]);
    let n = note(server.stores().new_note().await);
    let ann = "ann views before and after a kill";
    view(&server.client(ann), &n).await;
    until_counted(&server, &n, 1, "one before the kill").await;
    server.kill();
    server.start_again();
    view(&server.client(ann), &n).await;
    until_counted(&server, &n, 3, "one after the kill").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_each_network_is_a_viewer() {
    let server = Server::start(&["--view-window", "1h", "--trusted-proxies", "127.0.0.0/8"]);
    let n = note(server.stores().new_note().await);
    let document = format!("mutation {{ recordViews(input: {{ noteIds: [\"{n}\"] }}) {{ changed }} }}");
    // The IPv6 addresses are of two networks.
    for address in
        ["203.0.113.1", "203.0.113.2", "203.0.113.1", "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:2::1"]
    {
        let body = json!({ "query": document }).to_string();
        let reply = Raw::of(post(&server.url, body).header("X-Forwarded-For", address)).await.json();
        assert_eq!(reply["data"]["recordViews"]["changed"], true, "{reply}");
    }
    until_counted(&server, &n, 4, "one with a token").await;
}
