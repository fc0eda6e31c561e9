use serde_json::json;

use crate::support::{SOON, Server, eventually, note};

#[tokio::test]
async fn a_script_flush_is_unnoticed() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let n = note(stores.new_note().await);
    for expected in 1..=3 {
        let () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut stores.redis().await).await.unwrap();
        let payload = server.client(&format!("user {expected}")).like(&n).await;
        assert_eq!(payload["note"]["likeCount"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_flushall_counts_come_back_from_postgresql_and_versions_do_not_go_backwards() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, liker) = (note(id), server.client("ann stays"));
    liker.like(&n).await;
    let mut socket = server.socket("bob stays").await;
    socket.watch_notes(&[&n]).await;
    stores.rest().await;
    for expected in 1..=2 {
        let before = liker.note(&n).await["countsVersion"].as_u64().unwrap();
        let () = redis::cmd("FLUSHALL").query_async(&mut stores.redis().await).await.unwrap();
        let found = eventually("likes work again", SOON, || async {
            let query =
                "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { likeCount countsVersion } } }";
            let reply = server.client(&format!("user {expected}")).send(query, json!({ "n": n })).await;
            reply.body["data"]["likeNote"].is_object().then(|| reply.body["data"]["likeNote"]["note"].clone())
        })
        .await;
        assert_eq!(found["likeCount"], expected + 1);
        assert!(found["countsVersion"].as_u64().unwrap() > before);
        assert_eq!(liker.note(&n).await["viewerHasLiked"], true);
        socket.note_until(|note| note["likeCount"] == expected + 1).await;
        stores.rest().await;
    }
}

#[tokio::test]
async fn a_counter_that_expired_is_loaded_again_with_what_is_pending() {
    let server = Server::start(&["--batch-wait", "2s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    server.client("ann is persisted").like(&n).await;
    stores.rest().await;
    let () = redis::cmd("UNLINK")
        .arg(format!("{{{}}}:c:note:{id}", id % 2))
        .query_async(&mut stores.redis().await)
        .await
        .unwrap();
    // The event finds a counter without a base: it is published as unknown, and loaded.
    let payload = server.client("bob is pending").like(&n).await;
    assert_eq!(payload["note"]["likeCount"], 2);
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (2, 2, Some(2)));
}

/// The other shard's log is folded further than it is persisted, and nobody acts there afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_begun_anew_alone_catches_up_with_the_idle_logs_of_the_others() {
    let server = Server::start(&["--batch-wait", "3s"]);
    let stores = server.stores();
    let (id, subject) = (stores.new_note_of_shard(0).await, stores.new_subject_of_shard(1).await);
    let n = note(id);
    assert_eq!(server.client(&subject).like(&n).await["note"]["likeCount"], 1);
    // Near the end of its change numbers a shard begins a new epoch.
    let mut redis = stores.redis().await;
    let () = redis::cmd("HSET")
        .arg("{0}:meta")
        .arg("seq")
        .arg((1_u64 << 36) + 1)
        .query_async(&mut redis)
        .await
        .unwrap();
    eventually("the shard has a new epoch", SOON, || async {
        let seq: u64 = redis::cmd("HGET")
            .arg("{0}:meta")
            .arg("seq")
            .query_async(&mut stores.redis().await)
            .await
            .unwrap();
        (seq < 1 << 36).then_some(())
    })
    .await;
    eventually("the like is counted again", SOON, || async {
        let query = "query ($n: ID!) { note(id: $n) { likeCount } }";
        let reply = server.anonymous().send(query, json!({ "n": n })).await;
        let count = reply.body["data"]["note"]["likeCount"].as_i64();
        assert_ne!(count, Some(0), "a like that was shown disappeared");
        (count == Some(1)).then_some(())
    })
    .await;
    stores.rest().await;
}
