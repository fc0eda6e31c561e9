//! Subscriptions: the current counts first, then each change, with the same versions as replies and queries.

use redis::AsyncCommands;
use serde_json::json;
use support::{Server, Socket, key, note, user};

#[tokio::test]
async fn a_subscription_sends_the_current_count_first_and_then_each_change() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let (liker, mut socket) = (server.client("ann likes"), server.socket("bob watches").await);
    liker.like(&n).await;
    socket.watch_notes(&[&n]).await;
    let first = socket.note_until(|_| true).await;
    assert_eq!(
        (&first["__typename"], &first["id"], &first["likeCount"]),
        (&json!("Note"), &json!(n), &json!(1))
    );
    server.client("cat likes").like(&n).await;
    assert_eq!(socket.note_until(|note| note["likeCount"] == 2).await["viewerHasLiked"], false);
    liker.unlike(&n).await;
    socket.note_until(|note| note["likeCount"] == 1).await;
}

#[tokio::test]
async fn the_state_of_the_viewer_in_a_subscription_is_current() {
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
async fn counts_of_users_are_pushed() {
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
async fn counts_of_comments_and_groups_are_pushed() {
    let server = Server::shared();
    let stores = server.stores();
    let comment = format!("comment_{}", stores.new_comment(stores.new_note().await).await);
    let group = format!("group_{}", stores.new_group().await);
    let mut socket = server.socket("ida watches").await;
    let fan = server.client("ida's friend");

    let query =
        "subscription ($c: [ID!]!) { commentCountsChanged(commentIds: $c) { __typename id likeCount } }";
    socket.subscribe("comments", query, json!({ "c": [comment] })).await;
    let event = |likes: i32| json!({ "__typename": "Comment", "id": comment, "likeCount": likes });
    assert_eq!(socket.data().await["commentCountsChanged"], event(0));
    fan.act("likeComment", json!({ "commentId": comment }), "changed").await;
    while socket.data().await["commentCountsChanged"] != event(1) {}
    let mut socket = server.socket("ida watches").await;
    let query = "subscription ($g: [ID!]!) { groupCountsChanged(groupIds: $g) { __typename id memberCount viewerIsMember } }";
    socket.subscribe("groups", query, json!({ "g": [group] })).await;
    let event = |members: i32| json!({ "__typename": "Group", "id": group, "memberCount": members, "viewerIsMember": false });
    assert_eq!(socket.data().await["groupCountsChanged"], event(0));
    fan.act("joinGroup", json!({ "groupId": group }), "changed").await;
    while socket.data().await["groupCountsChanged"] != event(1) {}
}

#[tokio::test]
async fn direct_changes_are_pushed() {
    let server = Server::shared();
    let author = server.client("jim is watched");
    let input = json!({ "title": "One", "body": "Text" });
    let first =
        author.act("createNote", input.clone(), "note { author { id } }").await["note"]["author"].clone();
    let mut socket = server.socket("kim watches").await;
    let query = "subscription ($u: [ID!]!) { userCountsChanged(userIds: $u) { noteCount countsVersion } }";
    socket.subscribe("users", query, json!({ "u": [first["id"]] })).await;
    assert_eq!(socket.data().await["userCountsChanged"]["noteCount"], 1);
    let reply = author.act("createNote", input, "note { author { noteCount countsVersion } }").await;
    let reply = &reply["note"]["author"];
    loop {
        let pushed = socket.data().await["userCountsChanged"].clone();
        if pushed["noteCount"] == 2 {
            assert_eq!(&pushed, reply, "the reply has the same counts and version");
            break;
        }
    }
}

#[tokio::test]
async fn a_subscription_to_an_inbox_needs_a_token() {
    let server = Server::shared();
    let mut socket = Socket::open(&server.url, None).await;
    socket.subscribe("inbox", "subscription { inboxCountsChanged { unreadLikeCount } }", json!({})).await;
    let message = socket.receive().await;
    let errors = if message["type"] == "error" { &message["payload"] } else { &message["payload"]["errors"] };
    assert_eq!(errors[0]["extensions"]["code"], "UNAUTHENTICATED", "{message}");
}

#[tokio::test]
async fn a_subscription_to_a_missing_object_is_an_error() {
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

/// Both notes are loaded together, and the second one takes a while. An invalidation of the first one meanwhile must
/// cause another load.
#[tokio::test(flavor = "multi_thread")]
async fn an_invalidation_during_a_load_reaches_subscribers() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (first, second) = (stores.new_note_of_shard(0).await, stores.new_note_of_shard(1).await);
    for corrected in [5, 7] {
        let mut redis = stores.redis().await;
        let counters = [key(0, format!("c:note_{first}")), key(1, format!("c:note_{second}"))];
        let () = redis::cmd("UNLINK").arg(&counters[..]).query_async(&mut redis).await.unwrap();
        let epoch: String = redis.hget(key(1, "meta"), "epoch").await.unwrap();
        let load_of_another_process = [("epoch", epoch.as_str()), ("load", "1"), ("likes", "0")];
        let () = redis.hset_multiple(&counters[1], &load_of_another_process).await.unwrap();
        let () = redis.pexpire(&counters[1], 1_000).await.unwrap();
        let mut socket = server.socket("ann").await;
        socket.watch_notes(&[&note(first), &note(second)]).await;
        socket.note_until(|counts| counts["id"] == note(first)).await;
        let correct = "WITH moved AS (UPDATE note_counts SET likes = $2 WHERE id = $1)
                       INSERT INTO invalidation (shard, names, reason) VALUES (0, 'note_' || $1, 'a test')";
        sqlx::query(correct).bind(first).bind(corrected).execute(&stores.sql().await).await.unwrap();
        socket.note_until(|counts| counts["id"] == note(first) && counts["likeCount"] == corrected).await;
    }
}
