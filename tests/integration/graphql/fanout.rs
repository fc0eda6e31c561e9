//! Shared subscriptions: equal ones are executed once, changes are coalesced, versions never go backwards.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{SOON, Server, Socket, eventually, note, token_as, user};
use tokio::task::JoinHandle;

const COUNTS: &str = "subscription ($n: [ID!]!) {
    noteCountsChanged(noteIds: $n) { __typename id likeCount countsVersion author { id name } } }";
const OWN: &str = "subscription ($n: [ID!]!) {
    noteCountsChanged(noteIds: $n) { id likeCount countsVersion viewerHasLiked } }";

const EXECUTIONS: &str = "plaudit_fanout_executions_total";
const DELIVERIES: &str = "plaudit_fanout_deliveries_total";
const SHARED_SUBSCRIPTIONS: &str = "plaudit_fanout_questions";

async fn watch(mut socket: Socket, query: &str, notes: &[&str]) -> Socket {
    socket.subscribe("notes", query, json!({ "n": notes })).await;
    socket
}

/// A socket that watches these notes and has received their first messages.
async fn watching(socket: Socket, query: &str, notes: &[&str]) -> Socket {
    let mut socket = watch(socket, query, notes).await;
    for _ in notes {
        socket.note_until(|_| true).await;
    }
    socket
}

/// Likes of different users, `concurrency` at a time.
async fn like(server: &Server, note: &str, likes: usize, concurrency: usize) {
    let like = |i| async move { server.client(&format!("{i} likes {note}")).like(note).await };
    stream::iter(0..likes).map(like).buffer_unordered(concurrency).collect::<Vec<_>>().await;
}

/// Reads until the note has this many likes; returns the number of messages.
fn count_until(mut socket: Socket, likes: usize) -> JoinHandle<usize> {
    tokio::spawn(async move {
        let (mut newest, mut messages) = (0, 0);
        loop {
            let note = socket.data().await["noteCountsChanged"].clone();
            let version = note["countsVersion"].as_u64().unwrap();
            assert!(version > newest, "a version does not rise: {note}");
            (newest, messages) = (version, messages + 1);
            if note["likeCount"] == likes {
                return messages;
            }
        }
    })
}

#[tokio::test]
async fn equal_subscriptions_share_one_execution_until_the_last_one_ends() {
    let server = Server::start(&[]);
    let (n, m) = (note(server.stores().new_note().await), note(server.stores().new_note().await));
    let mut sockets = vec![
        watching(server.socket("ann").await, COUNTS, &[&n]).await,
        watching(server.socket("bob").await, COUNTS, &[&n]).await,
        watching(Socket::open(&server.url, None).await, COUNTS, &[&m, &n]).await,
    ];
    let before = server.metrics().await;
    assert_eq!(before[SHARED_SUBSCRIPTIONS], 2.0, "one per note, shared by all clients");

    server.client("cat").like(&n).await;
    for socket in &mut sockets {
        assert_eq!(socket.note_until(|note| note["likeCount"] == 1).await["id"], n);
    }
    let after = server.metrics().await;
    assert_eq!(after[EXECUTIONS] - before[EXECUTIONS], 1.0);
    assert_eq!(after[DELIVERIES] - before[DELIVERIES], 3.0);

    let last = sockets.pop();
    drop(sockets);
    let until_shared = async |expected: f64| {
        let has_ended = || async { (server.metrics().await[SHARED_SUBSCRIPTIONS] == expected).then_some(()) };
        eventually("shared subscriptions have ended", SOON, has_ended).await;
    };
    until_shared(2.0).await;
    drop(last);
    until_shared(0.0).await;
    let mut again = watch(server.socket("ann").await, COUNTS, &[&n]).await;
    assert_eq!(again.note_until(|_| true).await["likeCount"], 1);
}

#[tokio::test]
async fn subscriptions_that_differ_in_undefined_variables_only_are_equal_and_keep_none_of_them() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let mut sockets = Vec::new();
    for filler in ["a", "b"] {
        let mut socket = server.socket("ann").await;
        let variables = json!({ "n": [n], "undefined": filler.repeat(50_000) });
        socket.subscribe("notes", COUNTS, variables).await;
        socket.note_until(|_| true).await;
        sockets.push(socket);
    }
    assert_eq!(server.metrics().await[SHARED_SUBSCRIPTIONS], 1.0);
}

#[tokio::test]
async fn fields_of_the_viewer_are_executed_once_per_viewer() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    server.client("ann").like(&n).await;
    let sockets = [
        (server.socket("ann").await, json!(true)),
        (server.socket("ann").await, json!(true)),
        (server.socket("bob").await, json!(false)),
        (Socket::open(&server.url, None).await, json!(null)),
        (Socket::open(&server.url, None).await, json!(null)),
    ];
    let mut watching = Vec::new();
    for (socket, has_liked) in sockets {
        let mut socket = watch(socket, OWN, &[&n]).await;
        assert_eq!(socket.note_until(|_| true).await["viewerHasLiked"], has_liked);
        watching.push((socket, has_liked));
    }
    assert_eq!(server.metrics().await[SHARED_SUBSCRIPTIONS], 3.0);
    server.client("cat").like(&n).await;
    for (socket, has_liked) in &mut watching {
        let note = socket.note_until(|note| note["likeCount"] == 2).await;
        assert_eq!(&note["viewerHasLiked"], has_liked);
    }
}

#[tokio::test]
async fn private_fields_are_not_sent_to_other_subscribers() {
    let server = Server::shared();
    let owner = server.client("a user who is watched");
    owner.act("createNote", json!({ "title": "One", "body": "Text" }), "__typename").await;
    let id = owner.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    let query = "subscription ($u: [ID!]!) { userCountsChanged(userIds: $u) { id visibility { isHidden } } }";
    let subscribe = async |mut socket: Socket| {
        socket.subscribe("users", query, json!({ "u": [id] })).await;
        socket
    };
    let moderator = token_as(Role::Moderator, "a moderator who watches");
    let mut moderators = subscribe(Socket::open(&server.url, Some(moderator)).await).await;
    let mut others = subscribe(server.socket("another user").await).await;
    let mut nobodys = subscribe(Socket::open(&server.url, None).await).await;
    let shown = |message: &Value| message["payload"]["data"]["userCountsChanged"]["visibility"].clone();
    let code = |message: &Value| message["payload"]["errors"][0]["extensions"]["code"].clone();
    for follower in ["first", "second"] {
        assert_eq!(shown(&moderators.receive().await), json!({ "isHidden": false }));
        let (other, nobody) = (others.receive().await, nobodys.receive().await);
        assert_eq!((shown(&other), code(&other)), (json!(null), json!("FORBIDDEN")));
        assert_eq!((shown(&nobody), code(&nobody)), (json!(null), json!("UNAUTHENTICATED")));
        server.client(&format!("{follower} follower who is watched")).follow(id.as_str().unwrap()).await;
    }
}

/// In builds with debug assertions, the scope of a shared subscription panics if a field reads its viewer.
#[tokio::test]
async fn shared_fields_are_executed_without_a_viewer() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let number = stores.new_note().await;
    let (n, c) = (note(number), format!("comment_{}", stores.new_comment(number).await));
    let author = server.client("the author");
    let input = json!({ "name": "A group", "description": "Text" });
    let group = author.act("createGroup", input, "group { id owner { id } }").await["group"].clone();
    let input = json!({ "title": "In it", "body": "Text", "groupId": group["id"] });
    let in_group = author.act("createNote", input, "note { id }").await["note"].clone();
    let u = group["owner"]["id"].clone();
    author.like(&n).await;

    let page = "pageInfo { startCursor endCursor hasNextPage hasPreviousPage }";
    let user = "id name createdAt followerCount followingCount noteCount commentCount likesReceivedCount
        collectsReceivedCount groupCount coinCount countsVersion";
    let comments = format!("edges {{ cursor node {{ id }} }} nodes {{ id likeCount replyCount }} {page}");
    let note_fields = format!(
        "id title body createdAt isFeatured likeCount collectCount commentCount viewCount ratingCount
        ratingAverage countsVersion author {{ {user} }} group {{ id name description createdAt owner {{ id }} }}
        comments(first: 2) {{ {comments} }} likers(first: 2) {{ edges {{ cursor node {{ name }} }} nodes {{ id }} {page} }}"
    );
    for (field, ids, fields) in [
        ("noteCountsChanged(noteIds: $ids)", json!([n, in_group["id"]]), note_fields.clone()),
        (
            "userCountsChanged(userIds: $ids)",
            json!([u]),
            format!(
                "{user}
                followers(first: 2) {{ nodes {{ id }} }} following(first: 2) {{ nodes {{ id }} }}
                groups(first: 2) {{ nodes {{ id name }} edges {{ cursor node {{ id }} }} {page} }}"
            ),
        ),
        (
            "commentCountsChanged(commentIds: $ids)",
            json!([c]),
            format!("id likeCount replyCount countsVersion replies(first: 2) {{ {comments} }}"),
        ),
        (
            "groupCountsChanged(groupIds: $ids)",
            json!([group["id"]]),
            "id name description createdAt owner { id name } memberCount noteCount featuredNoteCount countsVersion
            notes(first: 2) { nodes { id title } } members(first: 2) { nodes { id } }"
                .to_owned(),
        ),
    ] {
        let query = format!("subscription ($ids: [ID!]!) {{ {field} {{ __typename {fields} }} }}");
        let watched = ids.as_array().unwrap().len();
        let mut sockets = [server.socket("ann").await, server.socket("bob").await];
        for socket in &mut sockets {
            socket.subscribe("all", &query, json!({ "ids": ids })).await;
            for _ in 0..watched {
                let message = socket.receive().await;
                assert_eq!(message["payload"]["errors"], json!(null), "{field}: {message}");
            }
        }
        assert_eq!(server.metrics().await[SHARED_SUBSCRIPTIONS], watched as f64, "{field} is shared");
        drop(sockets);
        let has_ended = || async { (server.metrics().await[SHARED_SUBSCRIPTIONS] == 0.0).then_some(()) };
        eventually("the shared subscriptions have ended", SOON, has_ended).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_is_coalesced_at_the_requested_rate_and_ends_with_the_last_value() {
    const LIKES: usize = 500;
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let limited = COUNTS.replace("noteIds: $n", "noteIds: $n, maxRate: 2");
    let default = watch(server.socket("ann").await, COUNTS, &[&n]).await;
    let slow = watch(server.socket("bob").await, &limited, &[&n]).await;
    let (default, slow) = (count_until(default, LIKES), count_until(slow, LIKES));
    let start = Instant::now();
    like(&server, &n, LIKES, 32).await;
    let (default, slow) = (default.await.unwrap(), slow.await.unwrap());
    let seconds = start.elapsed().as_secs_f64();
    // The initial state and the first change after a quiet time are sent in addition to the rate.
    assert!(default as f64 <= seconds * 20.0 + 2.0, "{default} messages in {seconds} s");
    assert!(slow as f64 <= seconds * 2.0 + 2.0, "{slow} messages in {seconds} s");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_during_a_storm_gets_the_current_state_and_never_an_older_one() {
    const LIKES: usize = 300;
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let existing = count_until(watch(server.socket("ann").await, COUNTS, &[&n]).await, LIKES);
    let storm = like(&server, &n, LIKES, 8);
    let newcomers = async {
        let mut watching = Vec::new();
        for i in 0..20 {
            let mut socket = server.socket(&format!("newcomer {i}")).await;
            let queried = server.anonymous().note(&n).await["countsVersion"].as_u64().unwrap();
            socket = watch(socket, COUNTS, &[&n]).await;
            let first = socket.note_until(|_| true).await;
            assert!(
                first["countsVersion"].as_u64().unwrap() >= queried,
                "older than the state of a query: {first}"
            );
            watching.push((socket, first["countsVersion"].as_u64().unwrap()));
        }
        watching
    };
    let ((), mut watching) = tokio::join!(storm, newcomers);
    existing.await.unwrap();
    for (socket, first) in &mut watching {
        let mut newest = *first;
        loop {
            let note = server.anonymous().note(&n).await;
            if newest == note["countsVersion"].as_u64().unwrap() {
                break;
            }
            let version = socket.note_until(|_| true).await["countsVersion"].as_u64().unwrap();
            assert!(version > newest);
            newest = version;
        }
    }
}

#[tokio::test]
async fn an_error_in_an_event_does_not_end_the_subscription() {
    let server = Server::shared();
    let author = server.client("an author who removes");
    let input = json!({ "title": "One", "body": "Text" });
    let n = author.act("createNote", input, "note { id }").await["note"]["id"].clone();
    let n = n.as_str().unwrap();
    let titled = COUNTS.replace("countsVersion", "countsVersion title");
    let mut socket = watching(server.socket("a watcher of a removed note").await, &titled, &[n]).await;
    author.act("deleteNote", json!({ "noteId": n }), "changed").await;
    let message = socket.receive().await;
    assert_eq!(message["type"], "next", "{message}");
    assert_eq!(message["payload"]["errors"][0]["extensions"]["code"], "NOT_FOUND", "{message}");
}

#[tokio::test]
async fn a_rate_beyond_its_bounds_is_refused() {
    let server = Server::shared();
    let u = user(server.stores().new_user().await);
    for rate in [0, 61] {
        let mut socket = server.socket("a client with a bad rate").await;
        let query =
            "subscription ($u: [ID!]!, $r: Int) { userCountsChanged(userIds: $u, maxRate: $r) { id } }";
        socket.subscribe("x", query, json!({ "u": [u], "r": rate })).await;
        let message = socket.receive().await;
        let errors =
            if message["type"] == "error" { &message["payload"] } else { &message["payload"]["errors"] };
        assert_eq!(errors[0]["extensions"]["code"], "BAD_USER_INPUT", "{message}");
        assert_eq!(errors[0]["extensions"]["argument"], "maxRate", "{message}");
    }
}

/// The loop is longer than a like and the two intervals after it.
#[tokio::test]
async fn a_subscription_without_changes_is_not_executed() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let mut socket = watching(server.socket("ann").await, COUNTS, &[&n]).await;
    server.client("bob").like(&n).await;
    socket.note_until(|note| note["likeCount"] == 1).await;
    let before = server.metrics().await[EXECUTIONS];
    let start = Instant::now();
    // Meanwhile the counts of other notes change.
    while start.elapsed() < Duration::from_millis(300) {
        server.client("bob").like(&note(server.stores().new_note().await)).await;
    }
    assert_eq!(server.metrics().await[EXECUTIONS], before);
}

#[tokio::test]
async fn subscriptions_that_name_an_object_by_id_and_by_key_share_one_execution() {
    let server = Server::start(&[]);
    let service = server.client_as(Role::Service, "the app");
    let input = json!({ "title": "One", "body": "Text", "key": "post 1" });
    let id = service.act("createNote", input, "note { id }").await["note"]["id"].clone();
    let query = "subscription ($n: ID!) { noteCountsChanged(noteIds: [$n]) { id likeCount } }";
    let mut sockets = Vec::new();
    for form in [id.clone(), json!("note:post 1"), id.clone(), json!("note:post 1")] {
        let mut socket = server.socket("a watcher").await;
        socket.subscribe("one", query, json!({ "n": form })).await;
        assert_eq!(socket.data().await["noteCountsChanged"]["id"], id);
        sockets.push(socket);
    }
    assert_eq!(server.metrics().await[SHARED_SUBSCRIPTIONS], 1.0);
}
