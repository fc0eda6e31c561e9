//! Inbox: unread counts, entries, marking as read, and access rules.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use plaudit_catalogue::{EdgeKind, EventKind, InboxKind};
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{SOON, Server, Stores, eventually, user};

const BADGES: &str = "unreadReplyCount unreadLikeCount unreadFollowerCount unreadMessageCount";

async fn unread(server: &Server, subject: &str) -> Value {
    let query = format!("{{ viewer {{ inbox {{ {BADGES} }} }} }}");
    server.client(subject).data(&query, json!({})).await["viewer"]["inbox"].clone()
}

fn badges(replies: i64, likes: i64, followers: i64, messages: i64) -> Value {
    json!({
        "unreadReplyCount": replies,
        "unreadLikeCount": likes,
        "unreadFollowerCount": followers,
        "unreadMessageCount": messages,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_counts_each_event_once_and_is_marked_read_once() {
    let server = Server::shared();
    let stores = server.stores();
    let (me, service) = ("ann is liked", server.client_as(Role::Service, "the messenger"));
    let owner = server.client(me);
    let created = owner
        .act("createNote", json!({ "title": "Mine", "body": "Mine" }), "note { id author { id } }")
        .await["note"]
        .clone();
    let (n, my_id) = (created["id"].clone(), created["author"]["id"].clone());
    let comment =
        format!("comment_{}", stores.new_comment_by(stores.user_of(me).await, stores.new_note().await).await);
    let mut socket = server.socket(me).await;
    socket
        .subscribe(
            "inbox",
            &format!("subscription {{ inboxCountsChanged {{ __typename id {BADGES} countsVersion }} }}"),
            json!({}),
        )
        .await;
    let first = socket.data().await["inboxCountsChanged"].clone();
    assert_eq!((&first["__typename"], &first["unreadLikeCount"]), (&json!("Inbox"), &json!(0)));

    let fans = ["fan one", "fan two"].map(|fan| server.client(fan));
    for fan in &fans {
        // An action that is undone and done again counts once.
        for mutation in ["likeNote", "unlikeNote", "likeNote"] {
            fan.act(mutation, json!({ "noteId": n }), "changed").await;
            stores.rest().await;
        }
        fan.act("likeComment", json!({ "commentId": comment }), "changed").await;
        fan.act("follow", json!({ "userId": my_id }), "changed").await;
    }
    owner.act("likeNote", json!({ "noteId": n }), "changed").await; // the owner's own actions add no entry
    let message = json!({ "senderId": user(stores.new_user().await), "recipientId": my_id });
    for _ in 0..2 {
        let sent = service.act("recordMessage", message.clone(), "recipient { id }").await;
        assert_eq!(sent, json!({ "recipient": { "id": my_id } }));
    }
    let expected = badges(0, 4, 2, 2);
    eventually("the unread counts", SOON, || async { (unread(server, me).await == expected).then_some(()) })
        .await;
    loop {
        let pushed = socket.data().await["inboxCountsChanged"].clone();
        if pushed["unreadLikeCount"] == 4
            && pushed["unreadFollowerCount"] == 2
            && pushed["unreadMessageCount"] == 2
        {
            break;
        }
    }

    let read = |kinds: Value| {
        let owner = &owner;
        let fields = format!("changed inbox {{ {BADGES} }}");
        async move { owner.act("markInboxRead", json!({ "badges": kinds }), &fields).await }
    };
    for changed in [true, false] {
        let payload = read(json!(["LIKES", "LIKES"])).await;
        assert_eq!(payload, json!({ "changed": changed, "inbox": badges(0, 0, 2, 2) }));
    }
    let payload = read(json!(["REPLIES", "LIKES", "FOLLOWERS", "MESSAGES"])).await;
    assert_eq!(payload, json!({ "changed": true, "inbox": badges(0, 0, 0, 0) }));
    // Later entries are unread.
    server.client("fan three").act("likeNote", json!({ "noteId": n }), "changed").await;
    eventually("one more unread like", SOON, || async {
        (unread(server, me).await == badges(0, 1, 0, 0)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn entries_are_listed_newest_first() {
    let server = Server::shared();
    let stores = server.stores();
    let me = "bob reads entries";
    let owner = server.client(me);
    let n = owner
        .act("createNote", json!({ "title": "Mine", "body": "Mine" }), "note { id author { id } }")
        .await["note"]
        .clone();
    let fan = server.client("a fan of bob");
    fan.act("likeNote", json!({ "noteId": n["id"] }), "changed").await;
    stores.rest().await;
    fan.act("follow", json!({ "userId": n["author"]["id"] }), "changed").await;
    stores.rest().await;
    let query = "query ($after: String) { viewer { inbox { entries(first: 1, after: $after) {
        nodes { kind actors { name } about { __typename id } createdAt } pageInfo { hasNextPage endCursor } } } } }";
    let first = owner.data(query, json!({})).await["viewer"]["inbox"]["entries"].clone();
    assert_eq!(first["nodes"][0]["kind"], "FOLLOWED");
    assert_eq!(first["nodes"][0]["actors"][0]["name"], "a fan of bob");
    assert_eq!(first["nodes"][0]["about"], json!({ "__typename": "User", "id": n["author"]["id"] }));
    assert_eq!(first["pageInfo"]["hasNextPage"], true);
    let after = &first["pageInfo"]["endCursor"];
    let second = owner.data(query, json!({ "after": after })).await["viewer"]["inbox"]["entries"].clone();
    assert_eq!(second["nodes"][0]["kind"], "NOTE_LIKED");
    assert_eq!(second["nodes"][0]["about"], json!({ "__typename": "Note", "id": n["id"] }));
    assert_eq!(second["pageInfo"]["hasNextPage"], false);
    owner.act("deleteNote", json!({ "noteId": n["id"] }), "changed").await;
    let removed = owner.data(query, json!({ "after": after })).await["viewer"]["inbox"]["entries"].clone();
    assert_eq!(removed["nodes"][0]["about"], Value::Null);
}

#[tokio::test]
async fn the_table_of_kind_names_has_the_numbers_of_the_catalogue() {
    let edges = EdgeKind::ALL.iter().map(|kind| InboxKind::Edge(*kind));
    let known: BTreeMap<i16, String> =
        edges.chain(InboxKind::all()).map(|kind| (kind.number(), kind.name().to_owned())).collect();
    let numbers: BTreeSet<i16> =
        known.keys().copied().chain(EventKind::all().map(EventKind::number)).collect();
    let sql = Server::shared().stores().sql().await;
    let stored: Vec<(i16, String)> =
        sqlx::query_as("SELECT kind, name FROM kind_name ORDER BY kind").fetch_all(&sql).await.unwrap();
    assert_eq!(stored.iter().map(|(kind, _)| *kind).collect::<BTreeSet<_>>(), numbers);
    for (kind, name) in stored.iter().filter(|(kind, _)| known.contains_key(kind)) {
        assert_eq!(*name, known[kind]);
    }
}

#[tokio::test]
async fn only_the_viewer_has_an_inbox_and_private_lists() {
    let server = Server::shared();
    let id = user(server.stores().new_user().await);
    // A user has no such fields, so nobody can ask for those of somebody else.
    for field in ["inbox { id }", "likedNotes { nodes { id } }", "collectedNotes { nodes { id } }"] {
        let query = format!("query ($id: ID!) {{ user(id: $id) {{ {field} }} }}");
        let moderator = server.client_as(Role::Moderator, "a curious moderator");
        let error = moderator.error(&query, json!({ "id": id })).await;
        assert_eq!(error["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{field}");
    }
    let error = server
        .anonymous()
        .error("mutation { markInboxRead(input: { badges: [LIKES] }) { changed } }", json!({}))
        .await;
    assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_concurrent_messages_counts_and_a_retry_does_not() {
    let server = Server::shared();
    let stores = server.stores();
    let me = server.client("dan is popular");
    let my_id = me.follow(&user(stores.new_user().await)).await["viewer"]["user"]["id"].clone();
    let service = server.client_as(Role::Service, "the busy messenger");
    let mut senders = Vec::new();
    for _ in 0..16 {
        senders.push(stores.new_user().await);
    }
    // Two of each sender, and each is sent twice with its key.
    let messages = senders.iter().enumerate().flat_map(|(number, sender)| {
        [0, 0, 1, 1].map(|message| {
            let key = format!("message {message} of {number}");
            json!({ "senderId": user(*sender), "recipientId": my_id, "idempotencyKey": key })
        })
    });
    let sent = messages.map(|input| service.act("recordMessage", input, "recipient { id }"));
    assert!(join_all(sent).await.iter().all(|payload| payload["recipient"]["id"] == my_id));
    assert_eq!(unread(server, "dan is popular").await, badges(0, 0, 0, 32));
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_first_action_there_is_no_inbox_and_then_an_open_subscription_has_it() {
    let stores = Stores::start(AppendFsync::Always).await;
    let (server, other) = (Server::start_on(&stores, &[]), Server::start_on(&stores, &[]));
    // The user is created by the process of the socket, and by another one.
    for (subject, acting) in [("new here", &server), ("new there", &other)] {
        let mut socket = server.socket(subject).await;
        let watch = "subscription { inboxCountsChanged { unreadFollowerCount } }";
        for id in ["one", "two"] {
            socket.subscribe(id, watch, json!({})).await;
        }
        socket.subscribe("viewer", "{ viewer { user { id } } }", json!({})).await;
        assert_eq!(socket.data().await["viewer"]["user"], Value::Null, "no user, and no event before");
        assert_eq!(socket.receive().await["type"], "complete");
        let acting = acting.client(subject);
        let acted = acting.act("createGroup", json!({ "name": "A group" }), "group { owner { id } }").await;
        let me = acted["group"]["owner"]["id"].clone();
        for _ in 0..2 {
            assert_eq!(socket.data().await["inboxCountsChanged"]["unreadFollowerCount"], 0, "{subject}");
        }
        other.client("a fan").act("follow", json!({ "userId": me }), "changed").await;
        assert_eq!(socket.data().await["inboxCountsChanged"]["unreadFollowerCount"], 1, "{subject}");
    }
}
