//! Approval: who sees a comment before and after it, which counts include it, and who is notified.

use serde_json::{Value, json};

use super::{Scene, comments_of, decisions, holding_service, line, replies_to, state, unread_replies};
use support::{SOON, Server, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_comment_is_shown_and_each_recipient_is_notified_once() {
    let server = Server::shared();
    let scene = Scene::new(server, "ann is discussed").await;
    let (bea, cem) = (server.client("bea comments"), server.client("cem replies"));
    let dot = Scene::new(server, "dot is mentioned").await.owner;
    let dot_id = dot.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();

    let first = scene.comment(&bea, "I like it.").await;
    assert!(first["state"] == "PENDING" || first["state"] == "APPROVED", "{first}");
    scene.until_approved(&first).await;
    assert_eq!(scene.unpublished(&bea).await, json!([]));
    let ann_id =
        scene.owner.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    // These users are recipients for two reasons, and still get one entry.
    let mentions = json!([dot_id, ann_id, first["author"]["id"]]);
    let input = json!({ "body": "So do I.", "replyToId": first["id"], "mentions": mentions });
    let reply = scene.comment_with(&cem, input).await;
    scene.until_approved(&reply).await;
    // A user's own comment adds no entry.
    let own = scene.comment(&scene.owner, "Thank you both.").await;
    scene.until_approved(&own).await;

    server.stores().rest().await;
    let (count, ids) = scene.public_comments(&server.anonymous()).await;
    assert_eq!((count, ids), (3, vec![own["id"].clone(), first["id"].clone()]));
    assert_eq!(replies_to(&dot, &first).await, 1);
    for (author, comment) in [(&bea, &first), (&cem, &reply), (&scene.owner, &own)] {
        assert_eq!(comments_of(author, &comment["author"]["id"]).await, 1);
    }
    for (recipient, unread) in [(&scene.owner, 2), (&bea, 1), (&cem, 0), (&dot, 1)] {
        assert_eq!(unread_replies(recipient).await, unread);
    }
    let query =
        "{ viewer { inbox { entries(first: 5) { nodes { kind about { ... on Comment { id } } } } } } }";
    for (recipient, kind) in
        [(&scene.owner, "NOTE_COMMENTED"), (&bea, "COMMENT_ANSWERED"), (&dot, "MENTIONED")]
    {
        let entry = recipient.data(query, json!({})).await["viewer"]["inbox"]["entries"]["nodes"][0].clone();
        assert_eq!(entry, json!({ "kind": kind, "about": { "id": reply["id"] } }));
    }
    assert_eq!(decisions(&server.stores(), &reply).await, [line("approved", "", "accept_all")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_mentioned_repeatedly_is_notified_once_per_author_note_and_hour() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (one, other) = (Scene::new(&server, "ann writes").await, Scene::new(&server, "cem writes").await);
    let dot = Scene::new(&server, "dot is mentioned often").await.owner;
    let dot_id = dot.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    let mention = async |scene: &Scene, author: &str, times: usize| {
        let author = server.client(author);
        let mut sent = Vec::new();
        for number in 0..times {
            let input = json!({ "body": format!("Look {number}"), "mentions": [dot_id] });
            sent.push(scene.comment_with(&author, input).await);
        }
        for comment in &sent {
            scene.until_approved(comment).await;
        }
        stores.rest().await;
        unread_replies(&dot).await
    };
    assert_eq!(mention(&one, "eve mentions", 12).await, 1);
    assert_eq!(mention(&other, "eve mentions", 2).await, 2, "on another note");
    assert_eq!(mention(&one, "fay mentions", 2).await, 3, "by another author");
    let sql = stores.sql().await;
    sqlx::query("UPDATE inbox_entry SET created_at = created_at - interval '61 minutes'")
        .execute(&sql)
        .await
        .unwrap();
    assert_eq!(mention(&one, "eve mentions", 3).await, 4, "in another hour");
    // A reply is no mention.
    let comment = one.comment(&dot, "What?").await;
    one.until_approved(&comment).await;
    let reply = json!({ "body": "Yes", "replyToId": comment["id"], "mentions": [dot_id] });
    for expected in [5, 6] {
        let sent = one.comment_with(&server.client("eve mentions"), reply.clone()).await;
        one.until_approved(&sent).await;
        stores.rest().await;
        assert_eq!(unread_replies(&dot).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_author_sees_a_pending_comment_and_it_is_counted_after_its_approval() {
    let service = holding_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann waits").await;
    let (bea, cem) = (server.client("bea comments first"), server.client("cem waits"));
    let dot = Scene::new(&server, "dot is mentioned later").await.owner;
    let dot_id = dot.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    let first = scene.comment(&bea, "Fine").await;
    scene.until_approved(&first).await;
    server.stores().rest().await;
    let counts = "subscription ($n: [ID!]!) {
        noteCountsChanged(noteIds: $n) { __typename id commentCount countsVersion } }";
    let mut socket = server.socket("eve watches").await;
    socket.subscribe("notes", counts, json!({ "n": [scene.note] })).await;
    socket.note_until(|note| note["commentCount"] == 1).await;

    let input = json!({ "body": "hold this", "replyToId": first["id"], "mentions": [dot_id] });
    let reply = scene.comment_with(&cem, input).await;
    let top = scene.comment(&cem, "hold this too").await;
    for comment in [&reply, &top] {
        assert_eq!(comment["state"], "PENDING");
        assert_eq!(state(&cem, comment).await, "PENDING");
    }
    let pending =
        |comment: &Value| json!({ "id": comment["id"], "state": "PENDING", "rejectionReason": null });
    assert_eq!(scene.unpublished(&cem).await, json!([pending(&top), pending(&reply)]));
    eventually("the service has a request for each", SOON, || async {
        (!service.requests_with("hold this").is_empty() && !service.requests_with("hold this too").is_empty())
            .then_some(())
    })
    .await;
    for other in [&server.anonymous(), &bea, &scene.owner, &dot] {
        for comment in [&reply, &top] {
            assert_eq!(state(other, comment).await, Value::Null);
        }
        assert_eq!(scene.public_comments(other).await, (1, vec![first["id"].clone()]));
        assert_eq!(scene.unpublished(other).await, json!([]));
        assert_eq!(replies_to(other, &first).await, 0);
    }
    assert_eq!(scene.public_comments(&cem).await, (1, vec![first["id"].clone()]));
    assert_eq!(comments_of(&cem, &reply["author"]["id"]).await, 0);
    for (recipient, unread) in [(&scene.owner, 1), (&bea, 0), (&dot, 0)] {
        assert_eq!(unread_replies(recipient).await, unread);
    }
    // To others it does not exist.
    let answer = json!({ "noteId": scene.note, "replyToId": reply["id"], "body": "What?" });
    assert_eq!(bea.refused("addComment", answer).await.0, "NOT_FOUND");
    assert_eq!(bea.refused("likeComment", json!({ "commentId": reply["id"] })).await.0, "NOT_FOUND");
    assert_eq!(bea.refused("deleteComment", json!({ "commentId": reply["id"] })).await.0, "NOT_FOUND");

    service.open();
    for comment in [&reply, &top] {
        scene.until_approved(comment).await;
    }
    socket.note_until(|note| note["commentCount"] == 3).await;
    server.stores().rest().await;
    assert_eq!(scene.public_comments(&bea).await, (3, vec![top["id"].clone(), first["id"].clone()]));
    assert_eq!(scene.unpublished(&cem).await, json!([]));
    assert_eq!(replies_to(&bea, &first).await, 1);
    assert_eq!(comments_of(&bea, &reply["author"]["id"]).await, 2);
    for (recipient, unread) in [(&scene.owner, 3), (&bea, 1), (&dot, 1), (&cem, 0)] {
        assert_eq!(unread_replies(recipient).await, unread);
    }
    assert_eq!(decisions(&server.stores(), &reply).await, [line("approved", "", "http")]);
}
