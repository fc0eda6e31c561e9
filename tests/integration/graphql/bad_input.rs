//! Bad input: every argument is checked, and the error has a code and names the argument.

use std::collections::BTreeSet;

use async_graphql::parser::types::{BaseType, InputValueDefinition};
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::schema_types::{Types, named};
use support::{Client, Server, in_days, note, number, user};

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
    let explain = "query ($id: ID!) { explain(id: $id) }";
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
async fn values_beyond_their_rules_are_refused_and_named() {
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
        for mutation in ["featureNote", "unfeatureNote"] {
            cases.push((moderator, mutation, json!({ "noteId": bad }), "noteId"));
        }
        cases.push((user_, "recordViews", json!({ "noteIds": [n, bad] }), "noteIds"));
    }
    for bad in ["", "comment", "note_1"] {
        for mutation in ["likeComment", "unlikeComment", "deleteComment"] {
            cases.push((user_, mutation, json!({ "commentId": bad }), "commentId"));
        }
        cases.push((user_, "reportComment", json!({ "commentId": bad, "reason": "SPAM" }), "commentId"));
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
            "decide",
            json!({ "aboutId": "comment_1", "reason": bad, "decision": "REJECT" }),
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
    for bad in ["", "42", "user_1", "group_1", "note_0", "comment", "note_9007199254740992", "note_1\u{0}"] {
        for decision in ["APPROVE", "REJECT", "KEEP", "REMOVE"] {
            let input = json!({ "aboutId": bad, "decision": decision, "reason": "r" });
            cases.push((moderator, "decide", input, "aboutId"));
        }
    }
    for bad in [0, 1_000_001, -1_000_001, i32::MIN] {
        cases.push((service, "grantCoins", json!({ "userId": u, "amount": bad, "reason": "r" }), "amount"));
    }
    cases.push((service, "recordMessage", json!({ "senderId": u, "recipientId": u }), "recipientId"));
    cases.push((user_, "markInboxRead", json!({ "badges": [] }), "badges"));
    cases.push((user_, "markInboxRead", json!({}), "badges"));
    for bad in ["", "note_1", "entry_5_1_42", "bGlrZXJzIDE"] {
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

fn clients_of_all_roles(name: &str) -> [Client; 3] {
    [Role::User, Role::Moderator, Role::Service]
        .map(|role| Server::shared().client_as(role, &format!("{name}: {role:?}")))
}

/// A value of the right type that is wrong; `None` if the type has none.
fn wrong_value(mutation: &str, field: &InputValueDefinition) -> Option<Value> {
    let is_list = matches!(field.ty.node.base, BaseType::List(_));
    let value = match named(&field.ty.node) {
        "ID" => json!("42"),
        "String" | "URL" => json!("nul\u{0}"),
        "Int" => json!(i32::MAX),
        "DateTime" => json!("1970-01-01T00:00:00.000Z"),
        // Badges and elements: only how many there are can be wrong. Each element has a result of its own.
        _ if is_list => return Some(json!([])),
        _ => return None,
    };
    let has_results = mutation == "removeNotes";
    Some(if has_results {
        json!([])
    } else if is_list {
        json!([value])
    } else {
        value
    })
}

/// Refused with the name of the argument; who may not give it at all gets that instead.
async fn must_be_refused(clients: &[Client], mutation: &str, input: &Value, argument: &str) {
    let mut is_named = false;
    for client in clients {
        let (code, named) = client.refused(mutation, input.clone()).await;
        let is_bad = code == "BAD_USER_INPUT" && named.as_deref() == Some(argument);
        assert!(is_bad || code == "FORBIDDEN", "{mutation} {input}: {code} {named:?}");
        is_named |= is_bad;
    }
    assert!(is_named, "{mutation} {input}: nobody is told that {argument} is wrong");
}

#[tokio::test]
async fn every_field_of_every_input_is_checked_and_named() {
    let clients = clients_of_all_roles("gil errs everywhere");
    let types = Types::read();
    for (mutation, fields) in types.mutations() {
        for field in fields {
            if let Some(wrong) = wrong_value(mutation, &field.node) {
                let (mut input, name) =
                    (types.smallest_input(mutation, fields), field.node.name.node.as_str());
                input[name] = wrong;
                must_be_refused(&clients, mutation, &input, name).await;
            }
        }
    }
    // No refused mutation created a user.
    for client in clients {
        assert_eq!(client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"], Value::Null);
    }
}

#[tokio::test]
async fn an_idempotency_key_is_checked_by_every_mutation() {
    let clients = clients_of_all_roles("gus keys");
    let types = Types::read();
    for (mutation, fields) in types.mutations() {
        if fields.iter().all(|field| field.node.name.node != "idempotencyKey") {
            continue;
        }
        for key in [String::new(), "k".repeat(65), "a\u{0}b".into()] {
            let mut input = types.smallest_input(mutation, fields);
            input["idempotencyKey"] = json!(key);
            must_be_refused(&clients, mutation, &input, "idempotencyKey").await;
        }
    }
}

#[tokio::test]
async fn every_list_checks_page_size_and_cursor_and_names_the_argument() {
    let server = Server::shared();
    let stores = server.stores();
    let client = server.client("hal pages");
    let moderator = server.client_as(Role::Moderator, "a moderator pages");
    let service = server.client_as(Role::Service, "a service pages");
    let made =
        client.act("createNote", json!({ "title": "t", "body": "b" }), "note { id author { id } }").await;
    let (n, u) = (made["note"]["id"].as_str().unwrap(), made["note"]["author"]["id"].as_str().unwrap());
    let (c, g) = (stores.new_comment(number(&json!(n))).await, stores.new_group().await);
    moderator.act("reportNote", json!({ "noteId": n, "reason": "SPAM" }), "changed").await;
    let lists = [
        ("Query.feed", &client, "feed(ARGS)".to_owned()),
        ("Query.followingFeed", &client, "followingFeed(ARGS)".into()),
        ("Query.hotNotes", &client, "hotNotes(ARGS)".into()),
        ("Query.groups", &client, "groups(ARGS)".into()),
        ("Query.groups", &client, "groups(orderBy: NEWEST, ARGS)".into()),
        ("Query.users", &client, "users(prefix: \"a\", ARGS)".into()),
        ("Query.exportUser", &client, format!("exportUser(userId: \"{u}\", ARGS)")),
        ("Query.events", &service, "events(ARGS)".into()),
        ("ReviewQueue.items", &moderator, "reviewQueue { items(ARGS)".into()),
        ("ReviewQueue.items", &moderator, "reviewQueue { items(state: WAITING, kind: NOTE, ARGS)".into()),
        ("ReviewQueue.items", &moderator, "reviewQueue { items(state: REPORTED, ARGS)".into()),
        (
            "ReviewItem.reports",
            &moderator,
            "reviewQueue { items(state: REPORTED, first: 1) { nodes { reports(ARGS)".into(),
        ),
        ("User.notes", &client, "viewer { user { notes(ARGS)".into()),
        ("User.notes", &client, "viewer { user { notes(orderBy: HOT, ARGS)".into()),
        ("User.followers", &client, "viewer { user { followers(ARGS)".into()),
        ("User.following", &client, "viewer { user { following(ARGS)".into()),
        ("User.groups", &client, "viewer { user { groups(ARGS)".into()),
        ("Viewer.likedNotes", &client, "viewer { likedNotes(ARGS)".into()),
        ("Viewer.collectedNotes", &client, "viewer { collectedNotes(ARGS)".into()),
        ("Viewer.likedComments", &client, "viewer { likedComments(ARGS)".into()),
        ("Viewer.unpublishedComments", &client, "viewer { unpublishedComments(ARGS)".into()),
        ("Viewer.unpublishedNotes", &client, "viewer { unpublishedNotes(ARGS)".into()),
        ("Viewer.coinEntries", &client, "viewer { coinEntries(ARGS)".into()),
        ("Inbox.entries", &client, "viewer { inbox { entries(ARGS)".into()),
        ("Note.likers", &client, format!("note(id: \"{n}\") {{ likers(ARGS)")),
        ("Note.comments", &client, format!("note(id: \"{n}\") {{ comments(ARGS)")),
        ("Note.ratings", &client, format!("note(id: \"{n}\") {{ ratings(ARGS)")),
        ("Comment.likers", &client, format!("node(id: \"comment_{c}\") {{ ... on Comment {{ likers(ARGS)")),
        ("Comment.replies", &client, format!("node(id: \"comment_{c}\") {{ ... on Comment {{ replies(ARGS)")),
        ("Group.notes", &client, format!("group(id: \"group_{g}\") {{ notes(ARGS)")),
        ("Group.notes", &client, format!("group(id: \"group_{g}\") {{ notes(orderBy: HOT, ARGS)")),
        ("Group.members", &client, format!("group(id: \"group_{g}\") {{ members(ARGS)")),
    ];
    // Pages of subscriptions are checked where they begin.
    let types = Types::read();
    let pages =
        types.arguments().filter(|(of, _, argument)| *of != "Subscription" && argument.name.node == "after");
    let of_schema: BTreeSet<String> = pages.map(|(of, field, _)| format!("{of}.{field}")).collect();
    assert_eq!(lists.iter().map(|(of, ..)| (*of).to_owned()).collect::<BTreeSet<_>>(), of_schema);
    for (_, client, list) in lists {
        let bad_cursors = ["", "x", "bm90ZXMgMQ", "bGlrZXJzIDE", "\u{0}"];
        let bad_sizes = [0, -1, 101, i32::MAX, i32::MIN];
        let sizes = bad_sizes.iter().map(|size| (format!("first: {size}"), "first"));
        let cursors = bad_cursors.iter().map(|cursor| (format!("after: {}", json!(cursor)), "after"));
        for (arguments, named) in sizes.chain(cursors) {
            let open = list.replace("ARGS", &arguments);
            let closing = "}".repeat(open.matches('{').count());
            let error = client
                .error(&format!("{{ {open} {{ pageInfo {{ hasNextPage }} }} {closing} }}"), json!({}))
                .await;
            assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{open}: {error}");
            assert_eq!(error["extensions"]["argument"], named, "{open}: {error}");
        }
    }
}
