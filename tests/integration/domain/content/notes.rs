//! Notes: posting, removing and featuring, the counts that they move, and who may do it.

use std::time::Duration;

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually, note, number, user};

const USER_COUNTS: &str =
    "query ($id: ID!) { user(id: $id) { noteCount likesReceivedCount collectsReceivedCount commentCount } }";

async fn post(client: &Client, input: Value) -> Value {
    let fields = "note { id title body author { id noteCount } group { id noteCount } likeCount }";
    client.act("createNote", input, fields).await
}

fn text(title: &str) -> Value {
    json!({ "title": title, "body": "Some text." })
}

#[tokio::test]
async fn a_new_note_is_counted_for_its_author_and_shown_in_the_feed() {
    let server = Server::shared();
    let client = server.client("ann posts");
    for count in 1..=2 {
        let payload = post(&client, text("  A first note \n")).await;
        let note = &payload["note"];
        assert_eq!((&note["title"], &note["likeCount"]), (&json!("A first note"), &json!(0)));
        assert_eq!(note["author"]["noteCount"], count);
        let feed = client.data("{ feed(first: 100) { nodes { id } } }", json!({})).await;
        let ids: Vec<&Value> =
            feed["feed"]["nodes"].as_array().unwrap().iter().map(|node| &node["id"]).collect();
        assert!(ids.contains(&&note["id"]));
        assert_eq!(client.like(note["id"].as_str().unwrap()).await["note"]["likeCount"], 1);
    }
}

#[tokio::test]
async fn a_note_may_be_without_title_and_text_and_null_removes_them() {
    let server = Server::shared();
    let client = server.client("ann counts what her app shows");
    let note = post(&client, json!({})).await["note"].clone();
    assert_eq!(
        (&note["title"], &note["body"], &note["author"]["noteCount"]),
        (&Value::Null, &Value::Null, &json!(1))
    );
    assert_eq!(client.like(note["id"].as_str().unwrap()).await["note"]["likeCount"], 1);
    let of = |part: &str, text: Value| json!({ "noteId": note["id"], part: text });
    for (input, changed, title, body) in [
        (of("title", json!("Later")), true, json!("Later"), Value::Null),
        (of("body", json!("Text")), true, json!("Later"), json!("Text")),
        (of("title", Value::Null), true, Value::Null, json!("Text")),
        (of("title", Value::Null), false, Value::Null, json!("Text")),
        (of("body", Value::Null), true, Value::Null, Value::Null),
    ] {
        let payload = client.act("updateNote", input.clone(), "changed note { title body }").await;
        assert_eq!(
            payload,
            json!({ "changed": changed, "note": { "title": title, "body": body } }),
            "{input}"
        );
    }
    for argument in ["title", "body"] {
        let expected = ("BAD_USER_INPUT".to_owned(), Some(argument.to_owned()));
        assert_eq!(client.refused("updateNote", of(argument, json!(" "))).await, expected);
        assert_eq!(client.refused("createNote", json!({ argument: "" })).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_with_the_same_idempotency_key_post_one_note() {
    let server = Server::shared();
    let client = server.client("bob posts once");
    let mut input = text("Only once");
    input["idempotencyKey"] = json!("note 1");
    let payloads = join_all((0..16).map(|_| post(&client, input.clone()))).await;
    for payload in &payloads {
        assert_eq!(payload["note"]["id"], payloads[0]["note"]["id"]);
    }
    let author = payloads[0]["note"]["author"]["id"].clone();
    assert_eq!(client.data(USER_COUNTS, json!({ "id": author })).await["user"]["noteCount"], 1);

    // The key is rejected for another text, and for an edge.
    let reused = ("BAD_USER_INPUT".to_owned(), Some("idempotencyKey".to_owned()));
    input["title"] = json!("Another one");
    assert_eq!(client.refused("createNote", input).await, reused);
    let like = json!({ "noteId": payloads[0]["note"]["id"], "idempotencyKey": "note 1" });
    assert_eq!(client.refused("likeNote", like).await, reused);
    let mut like = json!({ "noteId": payloads[0]["note"]["id"], "idempotencyKey": "like 1" });
    client.act("likeNote", like.clone(), "changed").await;
    like["title"] = json!("t");
    like["body"] = json!("b");
    like.as_object_mut().unwrap().remove("noteId");
    assert_eq!(client.refused("createNote", like).await, reused);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_posts_of_one_author_are_each_counted() {
    let server = Server::shared();
    let client = server.client("cyd posts a lot");
    let posts = join_all((0..64).map(|i| post(&client, text(&format!("Note {i}"))))).await;
    let author = posts[0]["note"]["author"]["id"].clone();
    let counts = posts.iter().map(|post| post["note"]["author"]["noteCount"].as_i64().unwrap());
    assert_eq!(counts.max(), Some(64));
    assert_eq!(client.data(USER_COUNTS, json!({ "id": author })).await["user"]["noteCount"], 64);
    let rows = "SELECT count(*) FROM note WHERE author_id = $1";
    assert_eq!(server.stores().number(rows, number(&author)).await, 64);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_posts_in_a_new_group_do_not_deadlock_on_the_connection_pool() {
    let server = Server::shared();
    let owner = server.client("lea posts in her group");
    let group =
        owner.act("createGroup", json!({ "name": "Lea's" }), "group { id }").await["group"]["id"].clone();
    // More requests than connections in the pool.
    let posts = join_all((0..64).map(|i| {
        let mut input = text(&format!("Note {i}"));
        input["groupId"] = group.clone();
        post(&owner, input)
    }));
    posts.await;
}

#[tokio::test]
async fn removing_a_note_adjusts_every_counter_that_it_had_changed() {
    let server = Server::shared();
    let stores = server.stores();
    let (author, fan) = (server.client("dan removes"), server.client("a fan of dan"));
    let group =
        author.act("createGroup", json!({ "name": "Dan's" }), "group { id }").await["group"]["id"].clone();
    let mut input = text("To be removed");
    input["groupId"] = group.clone();
    let kept = post(&author, input.clone()).await["note"]["id"].clone();
    let removed = post(&author, input).await["note"].clone();
    let (me, removed) = (removed["author"]["id"].clone(), removed["id"].clone());
    let moderator = server.client_as(Role::Moderator, "a moderator of dan");
    for id in [&kept, &removed] {
        fan.act("likeNote", json!({ "noteId": id }), "changed").await;
        fan.act("collectNote", json!({ "noteId": id }), "changed").await;
        moderator.act("featureNote", json!({ "noteId": id }), "changed").await;
    }
    let commenter = stores.new_user().await;
    for _ in 0..3 {
        stores.new_comment_by(commenter, number(&removed)).await;
    }
    let counts = |id: Value| async move { user_counts(server, id).await };
    let before =
        json!({ "noteCount": 2, "likesReceivedCount": 2, "collectsReceivedCount": 2, "commentCount": 0 });
    assert_eq!(counts(me.clone()).await, before);
    assert_eq!(group_counts(server, &group).await, json!({ "noteCount": 2, "featuredNoteCount": 2 }));

    // Until a like is persisted, a removal leaves it in the author's total.
    stores.rest().await;
    let fields = "changed deletedNoteId author { noteCount likesReceivedCount collectsReceivedCount }";
    let refused = fan.refused("deleteNote", json!({ "noteId": removed })).await;
    assert_eq!(refused.0, "FORBIDDEN");
    for changed in [true, false] {
        let payload = author.act("deleteNote", json!({ "noteId": removed }), fields).await;
        let remaining = json!({ "noteCount": 1, "likesReceivedCount": 1, "collectsReceivedCount": 1 });
        assert_eq!(payload, json!({ "changed": changed, "deletedNoteId": removed, "author": remaining }));
    }
    assert_eq!(group_counts(server, &group).await, json!({ "noteCount": 1, "featuredNoteCount": 1 }));
    assert_eq!(fan.refused("deleteNote", json!({ "noteId": removed })).await.0, "NOT_FOUND");
    for mutation in ["likeNote", "unlikeNote", "collectNote", "featureNote"] {
        let client = if mutation == "featureNote" { &moderator } else { &fan };
        assert_eq!(client.refused(mutation, json!({ "noteId": removed })).await.0, "NOT_FOUND", "{mutation}");
    }
    eventually("the removed comments are subtracted", SOON, || async {
        (counts(json!(user(commenter))).await["commentCount"] == 0).then_some(())
    })
    .await;
    stores.rest().await;
    let after =
        json!({ "noteCount": 1, "likesReceivedCount": 1, "collectsReceivedCount": 1, "commentCount": 0 });
    assert_eq!(counts(me).await, after);
}

async fn user_counts(server: &Server, id: Value) -> Value {
    server.anonymous().data(USER_COUNTS, json!({ "id": id })).await["user"].clone()
}

async fn group_counts(server: &Server, group: &Value) -> Value {
    let query = "query ($id: ID!) { group(id: $id) { noteCount featuredNoteCount } }";
    server.anonymous().data(query, json!({ "id": group })).await["group"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_concurrent_with_the_removal_of_their_note_leave_the_total_of_its_author_at_zero() {
    let server = Server::shared();
    let stores = server.stores();
    let author = server.client("eve removes in a storm");
    let posted = post(&author, text("Short-lived")).await["note"].clone();
    let (n, me) = (posted["id"].clone(), posted["author"]["id"].clone());
    let likes = join_all((0..64).map(|i| {
        let (client, n) = (server.client(&format!("stormy {i}")), n.clone());
        async move { client.try_act("likeNote", json!({ "noteId": n }), "changed").await }
    }));
    let (replies, removed) = tokio::join!(likes, author.act("deleteNote", json!({ "noteId": n }), "changed"));
    assert_eq!(removed["changed"], true);
    for reply in replies {
        assert!(
            reply.as_ref().is_ok_and(|liked| liked["changed"] == true) || reply == Err("NOT_FOUND".into()),
            "{reply:?}"
        );
    }
    stores.rest().await;
    let counts = user_counts(server, me).await;
    assert_eq!((&counts["noteCount"], &counts["likesReceivedCount"]), (&json!(0), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_is_removed_on_one_instance_disappears_on_the_other() {
    let stores = support::Stores::start(plaudit_embedded_stores::AppendFsync::EverySec).await;
    let one = Server::start_on(&stores, &[]);
    let two = Server::start_on(&stores, &["--roles", "api"]);
    let author = one.client("fay removes");
    let n = post(&author, text("Here")).await["note"]["id"].clone();
    let id = n.as_str().unwrap();
    let reader = two.client("gus reads elsewhere");
    assert_eq!(reader.like(id).await["changed"], true);
    author.act("deleteNote", json!({ "noteId": n }), "changed").await;
    eventually("the note disappears on the other instance", Duration::from_secs(2), || async {
        (reader.data("query ($n: ID!) { note(id: $n) { id } }", json!({ "n": n })).await["note"].is_null())
            .then_some(())
    })
    .await;
    assert_eq!(reader.refused("likeNote", json!({ "noteId": n })).await.0, "NOT_FOUND");
}

#[tokio::test]
async fn only_members_and_the_creator_of_a_group_post_in_it() {
    let server = Server::shared();
    let (owner, member) = (server.client("hal owns"), server.client("ida joins"));
    let group = owner
        .act(
            "createGroup",
            json!({ "name": "Hal's", "description": "All about Hal" }),
            "group { id name memberCount owner { id } viewerIsMember }",
        )
        .await;
    assert_eq!(group["group"]["memberCount"], 0);
    assert_eq!(group["group"]["viewerIsMember"], false);
    let mut input = text("In the group");
    input["groupId"] = group["group"]["id"].clone();
    assert_eq!(member.refused("createNote", input.clone()).await.0, "FORBIDDEN");
    assert_eq!(post(&owner, input.clone()).await["note"]["group"]["noteCount"], 1);
    member.act("joinGroup", json!({ "groupId": input["groupId"] }), "changed").await;
    assert_eq!(post(&member, input.clone()).await["note"]["group"]["noteCount"], 2);
    member.act("leaveGroup", json!({ "groupId": input["groupId"] }), "changed").await;
    assert_eq!(member.refused("createNote", input.clone()).await.0, "FORBIDDEN");
    input["groupId"] = json!("group_9000000000");
    assert_eq!(member.refused("createNote", input).await.0, "NOT_FOUND");
}

#[tokio::test]
async fn moderators_feature_notes_in_any_group() {
    let server = Server::shared();
    let moderator = server.client_as(Role::Moderator, "jim moderates");
    let owner = server.client("kim owns");
    let group =
        owner.act("createGroup", json!({ "name": "Kim's" }), "group { id }").await["group"]["id"].clone();
    let mut input = text("Worth reading");
    input["groupId"] = group.clone();
    let n = post(&owner, input).await["note"]["id"].clone();
    let input = json!({ "noteId": n });
    let fields = "changed note { isFeatured group { featuredNoteCount } }";
    for (mutation, changed, featured) in [
        ("featureNote", true, 1),
        ("featureNote", false, 1),
        ("unfeatureNote", true, 0),
        ("unfeatureNote", false, 0),
    ] {
        let payload = moderator.act(mutation, input.clone(), fields).await;
        let expected = json!({ "isFeatured": featured == 1, "group": { "featuredNoteCount": featured } });
        assert_eq!(payload, json!({ "changed": changed, "note": expected }), "{mutation}");
    }
    assert_eq!(server.client("kit reads").refused("featureNote", input.clone()).await.0, "FORBIDDEN");
    assert_eq!(server.anonymous().refused("featureNote", input).await.0, "UNAUTHENTICATED");
    let alone = note(server.stores().new_note().await);
    assert_eq!(moderator.refused("featureNote", json!({ "noteId": alone })).await.0, "BAD_USER_INPUT");
}
