//! Bad input: every argument is checked, and the error has a code and names the argument.

use plaudit_token_auth::Role;
use serde_json::{Value, json};

use crate::support::{Client, Server, in_days, note, user};

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
        let data = Server::shared()
            .anonymous()
            .data("query ($n: ID!) { note(id: $n) { id } }", json!({ "n": id }))
            .await;
        assert_eq!(data["note"], Value::Null);
    }
}

#[tokio::test]
async fn a_bad_id_is_refused_and_the_error_names_its_argument() {
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
    let explain = "query ($id: ID!) { explain(id: $id) { verdict } }";
    let moderator = Server::shared().client_as(Role::Moderator, "a moderator errs");
    for bad in ["", "cat_1", "inbox_1", "note:", "note_0"] {
        let error = moderator.error(explain, json!({ "id": bad })).await;
        let extensions = &error["extensions"];
        assert_eq!((&extensions["code"], &extensions["argument"]), (&json!("BAD_USER_INPUT"), &json!("id")));
    }
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
async fn pages_within_pages_are_refused_at_any_depth() {
    for depth in [4, 8, 12, 15] {
        let (open, close) = ("followers(first: 100) { nodes { ".repeat(depth), "} }".repeat(depth));
        let query = format!("{{ userBySubject(subject: \"x\") {{ {open} id {close} }} }}");
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
async fn a_user_is_looked_up_by_id_and_by_subject() {
    let server = Server::shared();
    let follower = server.client("eve is looked up");
    let me = follower.follow(&user(server.stores().new_user().await)).await["viewer"]["user"]["id"].clone();
    let by_id = "query ($id: ID!) { user(id: $id) { id } }";
    assert_eq!(follower.data(by_id, json!({ "id": me })).await["user"]["id"], me);
    let by_subject = "query ($s: String!) { userBySubject(subject: $s) { id } }";
    let found = follower.data(by_subject, json!({ "s": "eve is looked up" })).await;
    assert_eq!(found["userBySubject"]["id"], me);
    let none = follower.data(by_subject, json!({ "s": "nobody at all" })).await;
    assert_eq!(none["userBySubject"], Value::Null);
    for bad in [String::new(), "x".repeat(256)] {
        let refusal = refused("eve is looked up", by_subject, json!({ "s": bad })).await;
        assert_eq!(refusal, (json!("BAD_USER_INPUT"), json!("subject")));
    }
}

#[tokio::test]
async fn every_argument_of_every_mutation_is_checked_and_named() {
    let server = Server::shared();
    let stores = server.stores();
    let (n, u) = (note(stores.new_note().await), user(stores.new_user().await));
    let clients = [
        server.client("fay errs everywhere"),
        server.client_as(Role::Moderator, "a moderator with bad input"),
        server.client_as(Role::Service, "a service with bad input"),
    ];
    let [user_, moderator, service] = &clients;
    let long = |length: usize| "x".repeat(length);
    let note_id = ["", "42", "note_0", "user_1", "note_9007199254740992", "note_1\u{0}"];
    let mut cases: Vec<(&Client, &str, Value, &str)> = Vec::new();
    for bad in note_id {
        for mutation in ["likeNote", "unlikeNote", "collectNote", "uncollectNote", "deleteNote"] {
            cases.push((user_, mutation, json!({ "noteId": bad }), "noteId"));
        }
        cases.push((user_, "reportNote", json!({ "noteId": bad, "reason": "SPAM" }), "noteId"));
        for mutation in ["featureNote", "unfeatureNote", "approveNote"] {
            cases.push((moderator, mutation, json!({ "noteId": bad }), "noteId"));
        }
        cases.push((moderator, "rejectNote", json!({ "noteId": bad, "reason": "r" }), "noteId"));
        cases.push((user_, "recordViews", json!({ "noteIds": [n, bad] }), "noteIds"));
    }
    for bad in ["", "comment", "note_1"] {
        for mutation in ["likeComment", "unlikeComment", "deleteComment"] {
            cases.push((user_, mutation, json!({ "commentId": bad }), "commentId"));
        }
        cases.push((user_, "reportComment", json!({ "commentId": bad, "reason": "SPAM" }), "commentId"));
        cases.push((moderator, "approveComment", json!({ "commentId": bad }), "commentId"));
        cases.push((moderator, "rejectComment", json!({ "commentId": bad, "reason": "r" }), "commentId"));
    }
    for bad in ["", "group_x", "user_1"] {
        for mutation in ["joinGroup", "leaveGroup", "deleteGroup"] {
            cases.push((user_, mutation, json!({ "groupId": bad }), "groupId"));
        }
        let (member, in_group) =
            (json!({ "groupId": bad, "userId": u }), json!({ "groupId": bad, "noteId": n }));
        cases.push((user_, "removeGroupMember", member, "groupId"));
        cases.push((user_, "removeGroupNote", in_group, "groupId"));
        cases.push((user_, "createNote", json!({ "title": "t", "body": "b", "groupId": bad }), "groupId"));
    }
    for bad in ["", "note_1", "user_-1"] {
        for mutation in ["follow", "unfollow"] {
            cases.push((user_, mutation, json!({ "userId": bad }), "userId"));
        }
        let until = in_days(1);
        cases.push((moderator, "suspendUser", json!({ "userId": bad, "until": until }), "userId"));
        for mutation in ["hideUser", "restoreUser", "unsuspendUser"] {
            cases.push((moderator, mutation, json!({ "userId": bad }), "userId"));
        }
        cases.push((service, "grantCoins", json!({ "userId": bad, "amount": 1, "reason": "r" }), "userId"));
        let message = json!({ "senderId": bad, "recipientId": u });
        cases.push((service, "recordMessage", message, "senderId"));
        let message = json!({ "senderId": u, "recipientId": bad });
        cases.push((service, "recordMessage", message, "recipientId"));
    }
    for bad in [String::new(), "  ".into(), long(201), "two\nlines".into(), "nul\u{0}".into()] {
        cases.push((user_, "createNote", json!({ "title": bad, "body": "b" }), "title"));
        cases.push((service, "grantCoins", json!({ "userId": u, "amount": 1, "reason": bad }), "reason"));
        cases.push((
            moderator,
            "rejectComment",
            json!({ "commentId": "comment_1", "reason": bad }),
            "reason",
        ));
    }
    for bad in [String::new(), long(10_001), "nul\u{0}".into()] {
        cases.push((user_, "createNote", json!({ "title": "t", "body": bad }), "body"));
    }
    for bad in [String::new(), long(81), "bell\u{7}".into()] {
        cases.push((user_, "createGroup", json!({ "name": bad }), "name"));
    }
    for bad in [long(1_001), "nul\u{0}".into()] {
        cases.push((user_, "createGroup", json!({ "name": "n", "description": bad }), "description"));
    }
    for bad in ["", "42", "user_1", "group_1", "note_0"] {
        cases.push((
            moderator,
            "decideReports",
            json!({ "reportedId": bad, "decision": "KEEP" }),
            "reportedId",
        ));
    }
    for bad in [0, 1_000_001, -1_000_001, i32::MIN] {
        cases.push((service, "grantCoins", json!({ "userId": u, "amount": bad, "reason": "r" }), "amount"));
    }
    cases.push((service, "recordMessage", json!({ "senderId": u, "recipientId": u }), "recipientId"));
    cases.push((user_, "markInboxRead", json!({ "badges": [] }), "badges"));
    cases.push((user_, "markInboxRead", json!({}), "badges"));
    for bad in ["", "note_1", "entry_5", "entry_5_0", "entry_0_5", "entry_5_x", "entry_+5_5"] {
        cases.push((user_, "markInboxRead", json!({ "upTo": bad }), "upTo"));
    }
    cases.push((user_, "recordViews", json!({ "noteIds": [] }), "noteIds"));
    cases.push((user_, "recordViews", json!({ "noteIds": vec![n.clone(); 101] }), "noteIds"));
    let user_element = json!({ "subject": "s" });
    let note_element = json!({ "key": "k", "authorId": u, "title": "t", "body": "b" });
    let group_element = json!({ "key": "k", "ownerId": u, "name": "n" });
    for length in [0, 501] {
        cases.push((service, "upsertUsers", json!({ "users": vec![user_element.clone(); length] }), "users"));
        cases.push((service, "upsertNotes", json!({ "notes": vec![note_element.clone(); length] }), "notes"));
        cases.push((
            service,
            "upsertGroups",
            json!({ "groups": vec![group_element.clone(); length] }),
            "groups",
        ));
        cases.push((service, "removeNotes", json!({ "noteIds": vec![n.clone(); length] }), "noteIds"));
    }
    for (client, mutation, input, argument) in cases {
        let refusal = client.refused(mutation, input.clone()).await;
        assert_eq!(refusal, ("BAD_USER_INPUT".into(), Some(argument.into())), "{mutation} {input}");
    }
    // No refused mutation created a user.
    for client in clients {
        assert_eq!(client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"], Value::Null);
    }
}

#[tokio::test]
async fn an_idempotency_key_is_checked_by_every_mutation() {
    let server = Server::shared();
    let stores = server.stores();
    let (n, u) = (note(stores.new_note().await), user(stores.new_user().await));
    let clients = [
        server.client("gus keys"),
        server.client_as(Role::Moderator, "a moderator with bad keys"),
        server.client_as(Role::Service, "a service with bad keys"),
    ];
    for (client, mutation, input) in [
        (0, "likeNote", json!({ "noteId": n })),
        (0, "unlikeNote", json!({ "noteId": n })),
        (0, "collectNote", json!({ "noteId": n })),
        (0, "uncollectNote", json!({ "noteId": n })),
        (0, "deleteNote", json!({ "noteId": n })),
        (0, "recordViews", json!({ "noteIds": [n] })),
        (0, "likeComment", json!({ "commentId": "comment_1" })),
        (0, "unlikeComment", json!({ "commentId": "comment_1" })),
        (0, "follow", json!({ "userId": u })),
        (0, "unfollow", json!({ "userId": u })),
        (0, "joinGroup", json!({ "groupId": "group_1" })),
        (0, "leaveGroup", json!({ "groupId": "group_1" })),
        (0, "deleteGroup", json!({ "groupId": "group_1" })),
        (0, "removeGroupMember", json!({ "groupId": "group_1", "userId": u })),
        (0, "removeGroupNote", json!({ "groupId": "group_1", "noteId": n })),
        (0, "createGroup", json!({ "name": "n" })),
        (0, "createNote", json!({ "title": "t", "body": "b" })),
        (0, "markInboxRead", json!({ "badges": ["LIKES"] })),
        (0, "addComment", json!({ "noteId": n, "body": "b" })),
        (0, "deleteComment", json!({ "commentId": "comment_1" })),
        (0, "rateNote", json!({ "noteId": n, "score": 1 })),
        (1, "approveComment", json!({ "commentId": "comment_1" })),
        (1, "rejectComment", json!({ "commentId": "comment_1", "reason": "r" })),
        (1, "approveNote", json!({ "noteId": n })),
        (1, "rejectNote", json!({ "noteId": n, "reason": "r" })),
        (1, "featureNote", json!({ "noteId": n })),
        (1, "unfeatureNote", json!({ "noteId": n })),
        (0, "reportNote", json!({ "noteId": n, "reason": "SPAM" })),
        (0, "reportComment", json!({ "commentId": "comment_1", "reason": "SPAM" })),
        (1, "decideReports", json!({ "reportedId": n, "decision": "KEEP" })),
        (1, "suspendUser", json!({ "userId": u, "until": in_days(1) })),
        (1, "unsuspendUser", json!({ "userId": u })),
        (1, "hideUser", json!({ "userId": u })),
        (1, "restoreUser", json!({ "userId": u })),
        (2, "grantCoins", json!({ "userId": u, "amount": 1, "reason": "r" })),
        (2, "recordMessage", json!({ "senderId": u, "recipientId": u })),
    ] {
        for key in [String::new(), "k".repeat(65), "a\u{0}b".into()] {
            let mut input = input.clone();
            input["idempotencyKey"] = json!(key);
            let refusal = clients[client].refused(mutation, input).await;
            assert_eq!(refusal, ("BAD_USER_INPUT".into(), Some("idempotencyKey".into())), "{mutation}");
        }
    }
}

#[tokio::test]
async fn every_list_checks_page_size_and_cursor_and_names_the_argument() {
    let server = Server::shared();
    let stores = server.stores();
    let client = server.client("hal pages");
    client.like(&note(stores.new_note().await)).await;
    let (n, g) = (stores.new_note().await, stores.new_group().await);
    for list in [
        "feed(ARGS)".to_owned(),
        "followingFeed(ARGS)".into(),
        "hotNotes(ARGS)".into(),
        "groups(ARGS)".into(),
        "groups(orderBy: NEWEST, ARGS)".into(),
        "users(prefix: \"a\", ARGS)".into(),
        "viewer { user { notes(ARGS)".into(),
        "viewer { user { notes(orderBy: HOT, ARGS)".into(),
        "viewer { user { followers(ARGS)".into(),
        "viewer { user { following(ARGS)".into(),
        "viewer { user { groups(ARGS)".into(),
        "viewer { likedNotes(ARGS)".into(),
        "viewer { collectedNotes(ARGS)".into(),
        "viewer { likedComments(ARGS)".into(),
        "viewer { unpublishedComments(ARGS)".into(),
        "viewer { unpublishedNotes(ARGS)".into(),
        "viewer { coinEntries(ARGS)".into(),
        "viewer { inbox { entries(ARGS)".into(),
        format!("note(id: \"note_{n}\") {{ likers(ARGS)"),
        format!("note(id: \"note_{n}\") {{ comments(ARGS)"),
        format!("group(id: \"group_{g}\") {{ notes(ARGS)"),
        format!("group(id: \"group_{g}\") {{ notes(orderBy: HOT, ARGS)"),
        format!("group(id: \"group_{g}\") {{ members(ARGS)"),
    ] {
        let bad_cursors = ["", "x", "bm90ZXMgMQ", "bGlrZXJzIDE", "\u{0}"];
        let bad_sizes = [0, -1, 101, i32::MAX, i32::MIN];
        let sizes = bad_sizes.iter().map(|size| (format!("first: {size}"), "first"));
        let cursors = bad_cursors.iter().map(|cursor| (format!("after: {}", json!(cursor)), "after"));
        for (arguments, named) in sizes.chain(cursors) {
            let open = list.replace("ARGS", &arguments);
            let closing = "}".repeat(open.matches('{').count());
            let error =
                client.error(&format!("{{ {open} {{ nodes {{ id }} }} {closing} }}"), json!({})).await;
            assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{open}: {error}");
            assert_eq!(error["extensions"]["argument"], named, "{open}: {error}");
        }
    }
}
