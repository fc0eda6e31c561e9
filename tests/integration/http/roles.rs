//! Roles: API and pipeline in separate processes, takeover by another pipeline, and stalled owners.

use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use support::{Server, Stores, note};

#[tokio::test(flavor = "multi_thread")]
async fn api_and_pipeline_run_in_separate_processes_and_another_pipeline_takes_over() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let lease = ["--lease", "2s"];
    let mut first = Server::start_on(&stores, &[&["--roles", "pipeline"], &lease[..]].concat());
    let (one, two) =
        (Server::start_on(&stores, &["--roles", "api"]), Server::start_on(&stores, &["--roles", "api"]));
    let id = stores.new_note().await;
    let n = note(id);

    // An action on one instance is pushed by the other one.
    let mut socket = two.socket("bob watches elsewhere").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|note| note["likeCount"] == 0).await;
    assert_eq!(one.client("ann is here").like(&n).await["note"]["likeCount"], 1);
    socket.note_until(|note| note["likeCount"] == 1).await;

    let _second = Server::start_on(&stores, &[&["--roles", "pipeline"], &lease[..]].concat());
    first.kill();
    // No process folds now. Likes are still accepted, and the next owner counts them.
    let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
    assert_eq!(
        one.client("cat comes in between").data(query, json!({ "n": n })).await["likeNote"]["changed"],
        true
    );
    socket.note_until(|note| note["likeCount"] == 2).await;
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (2, 2, Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stalled_owner_is_replaced_and_does_no_harm_when_it_wakes() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let pipeline = ["--roles", "pipeline", "--lease", "2s", "--batch-wait", "0s"];
    let first = Server::start_on(&stores, &pipeline);
    let api = Server::start_on(&stores, &["--roles", "api"]);
    let id = stores.new_note().await;
    let n = note(id);
    let likes = |from: usize| {
        let (api, n) = (&api, n.clone());
        async move {
            for user in from..from + 20 {
                api.client(&format!("user {user}")).like(&n).await;
            }
        }
    };
    likes(0).await;
    let _second = Server::start_on(&stores, &pipeline);
    // In the middle of likes, so that it probably has a transaction open.
    let (_, ()) = tokio::join!(likes(20), async { first.stall() });
    likes(40).await;
    stores.rest().await;
    first.wake();
    likes(60).await;
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (80, 80, Some(80)));
    assert_eq!(api.anonymous().note(&n).await["likeCount"], 80);
}
