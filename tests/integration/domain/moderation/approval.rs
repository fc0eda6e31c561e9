//! Approved comments: whom they are shown to, what they count, and who is notified.

use serde_json::{Value, json};

use super::{Scene, comments_of, decisions, holding_service, line, replies_to, replies_unread, state};
use crate::support::{SOON, Server, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_comment_is_shown_soon_and_everyone_concerned_is_notified_once() {
    let server = Server::shared();
    let scene = Scene::new(server, "ann is discussed").await;
    let (bea, cem) = (server.client("bea comments"), server.client("cem replies"));
    let dot = Scene::new(server, "dot is mentioned").await.owner;
    let dot_id = dot.data("{ viewer { id } }", json!({})).await["viewer"]["id"].clone();

    let first = scene.comment(&bea, "I like it.").await;
    assert!(first["state"] == "PENDING" || first["state"] == "APPROVED", "{first}");
    scene.until_approved(&first).await;
    assert_eq!(scene.unpublished(&bea).await, json!([]));
    let ann_id = scene.owner.data("{ viewer { id } }", json!({})).await["viewer"]["id"].clone();
    // Concerned in two ways, still told once.
    let mentions = json!([dot_id, ann_id, first["author"]["id"]]);
    let input = json!({ "body": "So do I.", "parentId": first["id"], "mentions": mentions });
    let reply = scene.say(&cem, input).await;
    scene.until_approved(&reply).await;
    // One's own deeds are no news.
    let own = scene.comment(&scene.owner, "Thank you both.").await;
    scene.until_approved(&own).await;

    server.stores().rest().await;
    let (count, shown) = scene.shown(&server.anonymous()).await;
    assert_eq!((count, shown), (3, vec![own["id"].clone(), first["id"].clone()]));
    assert_eq!(replies_to(&dot, &first).await, 1);
    for (author, comment) in [(&bea, &first), (&cem, &reply), (&scene.owner, &own)] {
        assert_eq!(comments_of(author, &comment["author"]["id"]).await, 1);
    }
    for (told, unread) in [(&scene.owner, 2), (&bea, 1), (&cem, 0), (&dot, 1)] {
        assert_eq!(replies_unread(told).await, unread);
    }
    let query =
        "{ viewer { inbox { entries(first: 5) { nodes { kind about { ... on Comment { id } } } } } } }";
    for (told, kind) in [(&scene.owner, "NOTE_COMMENTED"), (&bea, "COMMENT_ANSWERED"), (&dot, "MENTIONED")] {
        let entry = told.data(query, json!({})).await["viewer"]["inbox"]["entries"]["nodes"][0].clone();
        assert_eq!(entry, json!({ "kind": kind, "about": { "id": reply["id"] } }));
    }
    assert_eq!(decisions(&server.stores(), &reply).await, [line("approved", "", "accept_all")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_comment_is_visible_to_its_author_only_and_counts_once_it_is_approved() {
    let service = holding_service().await;
    let server = Server::start(&service.flags("60s"));
    let scene = Scene::new(&server, "ann waits").await;
    let (bea, cem) = (server.client("bea is shown"), server.client("cem is held"));
    let dot = Scene::new(&server, "dot is not told yet").await.owner;
    let dot_id = dot.data("{ viewer { id } }", json!({})).await["viewer"]["id"].clone();
    let first = scene.comment(&bea, "Fine").await;
    scene.until_approved(&first).await;
    server.stores().rest().await;
    let counts = "subscription ($n: [ID!]!) {
        noteCountsChanged(noteIds: $n) { __typename id commentCount countsVersion } }";
    let mut socket = server.socket("eve watches").await;
    socket.subscribe("notes", counts, json!({ "n": [scene.note] })).await;
    socket.note_until(|note| note["commentCount"] == 1).await;

    let input = json!({ "body": "hold this", "parentId": first["id"], "mentions": [dot_id] });
    let held = scene.say(&cem, input).await;
    let top = scene.comment(&cem, "hold this too").await;
    for comment in [&held, &top] {
        assert_eq!(comment["state"], "PENDING");
        assert_eq!(state(&cem, comment).await, "PENDING");
    }
    let waits = |comment: &Value| json!({ "id": comment["id"], "state": "PENDING", "rejectionReason": null });
    assert_eq!(scene.unpublished(&cem).await, json!([waits(&top), waits(&held)]));
    eventually("both are with the service", SOON, || async {
        (!service.asked("hold this").is_empty() && !service.asked("hold this too").is_empty()).then_some(())
    })
    .await;
    for other in [&server.anonymous(), &bea, &scene.owner, &dot] {
        for comment in [&held, &top] {
            assert_eq!(state(other, comment).await, Value::Null);
        }
        assert_eq!(scene.shown(other).await, (1, vec![first["id"].clone()]));
        assert_eq!(scene.unpublished(other).await, json!([]));
        assert_eq!(replies_to(other, &first).await, 0);
    }
    assert_eq!(scene.shown(&cem).await, (1, vec![first["id"].clone()]));
    assert_eq!(comments_of(&cem, &held["author"]["id"]).await, 0);
    for (told, unread) in [(&scene.owner, 1), (&bea, 0), (&dot, 0)] {
        assert_eq!(replies_unread(told).await, unread);
    }
    // Nothing can be done to it, as if it were not there.
    let answer = json!({ "noteId": scene.note, "parentId": held["id"], "body": "What?" });
    assert_eq!(bea.refused("addComment", answer).await.0, "NOT_FOUND");
    assert_eq!(bea.refused("likeComment", json!({ "commentId": held["id"] })).await.0, "NOT_FOUND");
    assert_eq!(bea.refused("deleteComment", json!({ "commentId": held["id"] })).await.0, "NOT_FOUND");

    service.open();
    for comment in [&held, &top] {
        scene.until_approved(comment).await;
    }
    socket.note_until(|note| note["commentCount"] == 3).await;
    server.stores().rest().await;
    assert_eq!(scene.shown(&bea).await, (3, vec![top["id"].clone(), first["id"].clone()]));
    assert_eq!(scene.unpublished(&cem).await, json!([]));
    assert_eq!(replies_to(&bea, &first).await, 1);
    assert_eq!(comments_of(&bea, &held["author"]["id"]).await, 2);
    for (told, unread) in [(&scene.owner, 3), (&bea, 1), (&dot, 1), (&cem, 0)] {
        assert_eq!(replies_unread(told).await, unread);
    }
    assert_eq!(decisions(&server.stores(), &held).await, [line("approved", "", "http")]);
}
