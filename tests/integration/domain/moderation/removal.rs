//! Comments and notes that are removed before the decision.

use futures_util::{StreamExt, future::join_all, stream};
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::{PIPELINE, Scene, comments_of, decisions, holding_service, state, unread_replies};
use support::{Client, SOON, Server, Stores, eventually, number};

#[tokio::test(flavor = "multi_thread")]
async fn comments_that_are_removed_individually_and_with_their_note_are_subtracted_from_totals_once() {
    let server = Server::shared();
    let scene = Scene::new(server, "ann removes her note").await;
    let authors: Vec<Client> = (0..8).map(|i| server.client(&format!("withdrawing {i}"))).collect();
    let comments: Vec<(usize, Value)> = stream::iter(0..128)
        .map(|i| {
            let (scene, author) = (&scene, &authors[i % 8]);
            async move { (i % 8, scene.comment(author, "Never mind").await) }
        })
        .buffer_unordered(16)
        .collect()
        .await;
    let removals = stream::iter(&comments)
        .map(|(author, comment)| {
            let client = &authors[*author];
            let query = "mutation ($id: ID!) { deleteComment(input: { commentId: $id }) { changed } }";
            async move { client.send(query, json!({ "id": comment["id"] })).await.body }
        })
        .buffer_unordered(16)
        .collect::<Vec<Value>>();
    let note_removal = scene.owner.act("deleteNote", json!({ "noteId": scene.note }), "changed");
    let (replies, removed) = tokio::join!(removals, note_removal);
    assert_eq!(removed["changed"], true);
    for reply in replies {
        assert!(reply["data"]["deleteComment"]["changed"].is_boolean(), "{reply}");
    }
    let stores = server.stores();
    let n = number(&json!(scene.note));
    eventually("all comments are removed", SOON, || async {
        let remaining = "SELECT (SELECT count(*) FROM comment_index WHERE note_id = $1 AND removed_at IS NULL)
                         + (SELECT count(*) FROM submission AS q JOIN comment_index AS i ON q.kind = 'comment' AND i.id = q.target_id
                            WHERE i.note_id = $1)";
        (stores.number(remaining, n).await == 0).then_some(())
    })
    .await;
    stores.rest().await;
    for (author, comment) in &comments {
        assert_eq!(comments_of(&authors[*author], &comment["author"]["id"]).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_that_is_removed_during_its_moderation_is_never_approved() {
    let service = holding_service().await;
    let server = Server::start(&service.flags("60s"));
    let (kept, removed) =
        (Scene::new(&server, "ann keeps a note").await, Scene::new(&server, "ann keeps a note").await);
    let author = server.client("bea thinks again");
    let moderator = server.client_as(Role::Moderator, "mia comes late");
    let withdrawn = kept.comment(&author, "hold 1").await;
    let with_note = removed.comment(&author, "hold 2").await;
    eventually("the service has a request for each", SOON, || async {
        (!service.requests_with("hold 1").is_empty() && !service.requests_with("hold 2").is_empty())
            .then_some(())
    })
    .await;
    for changed in [true, false] {
        let payload = author.act("deleteComment", json!({ "commentId": withdrawn["id"] }), "changed").await;
        assert_eq!(payload["changed"], changed);
        let payload = removed.owner.act("deleteNote", json!({ "noteId": removed.note }), "changed").await;
        assert_eq!(payload["changed"], changed);
    }
    for comment in [&withdrawn, &with_note] {
        let decide = json!({ "aboutId": comment["id"], "decision": "APPROVE" });
        assert_eq!(moderator.refused("decide", decide).await.0, "NOT_FOUND");
    }
    service.open();
    let last = kept.comment(&author, "fine").await;
    kept.until_approved(&last).await;
    let stores = server.stores();
    eventually("the queue is empty, and the backfill has ended", SOON, || async {
        let remaining = "SELECT (SELECT count(*) FROM submission)
                         + (SELECT count(*) FROM backfill WHERE finished_at IS NULL) WHERE $1 >= 0";
        (stores.number(remaining, 0).await == 0).then_some(())
    })
    .await;
    stores.rest().await;
    for comment in [&withdrawn, &with_note] {
        assert_eq!(state(&author, comment).await, Value::Null);
        assert_eq!(decisions(&stores, comment).await, []);
        let approved = "SELECT count(*) FROM comment_index WHERE id = $1 AND state = 'approved'";
        assert_eq!(stores.number(approved, number(&comment["id"])).await, 0);
    }
    assert_eq!(kept.public_comments(&author).await, (1, vec![last["id"].clone()]));
    assert_eq!(comments_of(&author, &last["author"]["id"]).await, 1);
    assert_eq!(unread_replies(&kept.owner).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_of_a_note_that_is_removed_before_their_moderation_leave_the_queue() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut pipeline = Server::start_on(&stores, &PIPELINE);
    let api = Server::start_on(&stores, &["--roles", "api"]);
    pipeline.kill();
    let scene = Scene::new(&api, "ann removes at once").await;
    let authors: Vec<Client> = (0..8).map(|i| api.client(&format!("early {i}"))).collect();
    let comments = join_all(authors.iter().map(|author| scene.comment(author, "First!"))).await;
    scene.owner.act("deleteNote", json!({ "noteId": scene.note }), "changed").await;
    // Moderation starts after the note is removed.
    pipeline.start_again();
    eventually("the queue is empty", SOON, || async {
        (stores.number("SELECT count(*) FROM submission WHERE $1 >= 0", 0).await == 0).then_some(())
    })
    .await;
    eventually("the backfill has ended", SOON, || async {
        let remaining = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 >= 0";
        (stores.number(remaining, 0).await == 0).then_some(())
    })
    .await;
    stores.rest().await;
    for (author, comment) in authors.iter().zip(&comments) {
        assert_eq!(comments_of(author, &comment["author"]["id"]).await, 0);
        assert_eq!(decisions(&stores, comment).await, []);
    }
    assert_eq!(unread_replies(&scene.owner).await, 0);
}
