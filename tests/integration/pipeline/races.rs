//! Races: of 64 concurrent requests for an action that is not an edge, exactly one takes effect. Requests that add
//! something each take effect.

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually, note, user};

const CONCURRENCY: usize = 64;

/// Sends the same action 64 times concurrently, each with its own idempotency key. Returns how many replies say that
/// they changed something.
async fn race(client: &Client, mutation: &'static str, input: &Value) -> usize {
    // What creates something always changes something, and has no `changed`.
    let creates = ["addComment", "createGroup"].contains(&mutation);
    let field = if creates { "__typename" } else { "changed" };
    let client = client.retrying();
    let sent = (0..CONCURRENCY).map(|_| client.act(mutation, input.clone(), field));
    join_all(sent).await.into_iter().filter(|payload| creates || payload["changed"] == true).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_applies_once_is_applied_once_by_concurrent_requests() {
    let server = Server::shared();
    let author = server.client("an author in races");
    let moderator = server.client_as(Role::Moderator, "a moderator in races");
    let group =
        author.act("createGroup", json!({ "name": "Races" }), "group { id }").await["group"]["id"].clone();
    let input = json!({ "title": "Raced", "body": "Text", "groupId": group });
    let n = author.act("createNote", input, "note { id }").await["note"]["id"].clone();
    for mutation in ["featureNote", "unfeatureNote"] {
        assert_eq!(race(&moderator, mutation, &json!({ "noteId": n })).await, 1, "{mutation}");
    }
    let actor = server.client("an actor in races");
    let actor_id =
        actor.follow(&user(server.stores().new_user().await)).await["viewer"]["user"]["id"].clone();
    for mutation in ["hideUser", "restoreUser"] {
        assert_eq!(race(&moderator, mutation, &json!({ "userId": actor_id })).await, 1, "{mutation}");
    }
    let comment = author.act("addComment", json!({ "noteId": n, "body": "Raced" }), "comment { id }").await;
    let comment = comment["comment"]["id"].clone();
    eventually("the comment is counted", SOON, || async {
        let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
        (author.data(query, json!({ "n": n })).await["note"]["commentCount"] == 1).then_some(())
    })
    .await;
    assert_eq!(race(&moderator, "decide", &json!({ "aboutId": comment, "decision": "APPROVE" })).await, 0);
    assert_eq!(race(&author, "deleteComment", &json!({ "commentId": comment })).await, 1);
    assert_eq!(race(&author, "deleteNote", &json!({ "noteId": n })).await, 1);
    let query = "query ($g: ID!) { group(id: $g) { noteCount featuredNoteCount } viewer { user { noteCount commentCount } } }";
    let left = author.data(query, json!({ "g": group })).await;
    assert_eq!(left["group"], json!({ "noteCount": 0, "featuredNoteCount": 0 }));
    assert_eq!(left["viewer"]["user"], json!({ "noteCount": 0, "commentCount": 0 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_mark_an_inbox_read_once() {
    let server = Server::shared();
    let stores = server.stores();
    let owner = server.client("an owner in races");
    let input = json!({ "title": "Liked", "body": "Text" });
    let n = owner.act("createNote", input, "note { id }").await["note"]["id"].clone();
    server.client("a fan in races").act("likeNote", json!({ "noteId": n }), "changed").await;
    stores.rest().await;
    assert_eq!(race(&owner, "markInboxRead", &json!({ "badges": ["LIKES"] })).await, 1);
    let unread = owner.data("{ viewer { inbox { unreadLikeCount } } }", json!({})).await;
    assert_eq!(unread["viewer"]["inbox"]["unreadLikeCount"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_concurrent_additions_is_counted() {
    let server = Server::shared();
    let stores = server.stores();
    let (n, author) = (note(stores.new_note().await), server.client("a busy author in races"));
    assert_eq!(race(&author, "recordViews", &json!({ "noteIds": [n] })).await, CONCURRENCY);
    assert_eq!(race(&author, "addComment", &json!({ "noteId": n, "body": "Raced" })).await, CONCURRENCY);
    assert_eq!(race(&author, "createGroup", &json!({ "name": "Raced" })).await, CONCURRENCY);
    let query =
        "query ($n: ID!) { note(id: $n) { viewCount commentCount } viewer { user { commentCount } } }";
    let expected = json!({
        "note": { "viewCount": CONCURRENCY, "commentCount": CONCURRENCY }, "viewer": { "user": { "commentCount": CONCURRENCY } },
    });
    eventually("everything is counted", SOON, || async {
        (author.data(query, json!({ "n": n })).await == expected).then_some(())
    })
    .await;
}
