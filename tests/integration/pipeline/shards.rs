//! Many virtual shards: a batch touches few of them, and the others follow; one that is lost holds up no other.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures_util::future::join_all;
use serde_json::json;
use support::{SOON, Server, eventually, key, note};

const COUNTS: &str = "query ($n: ID!) { note(id: $n) { likeCount author { likesReceivedCount } } }";

#[tokio::test(flavor = "multi_thread")]
async fn cold_counts_on_16_shards_are_loaded_while_likes_arrive_on_all_of_them() {
    let server = Server::start(&["--virtual-shards", "16"]);
    let stores = server.stores();
    let mut liked = Vec::new();
    for _ in 0..32 {
        liked.push(note(stores.new_note().await));
    }
    let is_over = AtomicBool::new(false);
    let likers = (0..16).map(|i| {
        let (client, liked, is_over) = (server.client(&format!("liker {i} of 16")), &liked, &is_over);
        async move {
            for n in liked.iter().cycle().skip(2 * i) {
                if is_over.load(Relaxed) {
                    return;
                }
                client.like(n).await;
                client.unlike(n).await;
            }
        }
    });
    let reads = async {
        let reader = server.anonymous();
        for _ in 0..50 {
            let cold = note(stores.new_note().await);
            let counts = reader.data(COUNTS, json!({ "n": cold })).await["note"].clone();
            assert_eq!(counts, json!({ "likeCount": 0, "author": { "likesReceivedCount": 0 } }));
        }
        is_over.store(true, Relaxed);
    };
    tokio::join!(join_all(likers), reads);
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_on_16_shards_are_counted_in_every_store_and_every_shard_catches_up() {
    let server = Server::start(&["--virtual-shards", "16"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    for i in 0..20 {
        let fan = server.client(&format!("fan {i} on 16 shards"));
        assert_eq!(fan.like(&n).await["note"]["likeCount"], i + 1);
    }
    stores.rest().await;
    assert_eq!(stores.number("SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on", id).await, 20);
    assert_eq!(stores.number("SELECT likes FROM note_counts WHERE id = $1", id).await, 20);
    assert_eq!(server.anonymous().note(&n).await["likeCount"], 20);
    eventually("no shard is behind", SOON, || async {
        let metrics = server.metrics().await;
        let lags = metrics.iter().filter(|(series, _)| series.starts_with("plaudit_fold_lag_events"));
        let lags: Vec<f64> = lags.map(|(_, events)| *events).collect();
        (lags.len() == 16 && lags.iter().all(|events| *events == 0.0)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_goes_on_with_its_number_of_shards_whatever_the_setting_says_later() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let shards = async || stores.number("SELECT count(*) FROM shard WHERE id >= $1", 0).await;
    assert_eq!(shards().await, 2);
    server.stop();
    assert!(server.try_start(&[("PLAUDIT_VIRTUAL_SHARDS", "16")]), "{}", server.log());
    let n = note(stores.new_note().await);
    assert_eq!(server.client("after the default has changed").like(&n).await["note"]["likeCount"], 1);
    assert_eq!(shards().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_not_recovered_holds_up_no_count_of_another() {
    let server = Server::start(&["--lease", "1s"]);
    let stores = server.stores();
    let author = "SELECT author_id FROM note WHERE id = $1";
    let id = loop {
        let id = stores.new_note_of_shard(0).await;
        if stores.number(author, id).await % 2 == 1 {
            break id;
        }
        stores.new_user().await; // otherwise ids of notes and authors rise together
    };
    let n = note(id);
    let mut fans = Vec::new();
    for _ in 0..3 {
        fans.push(server.client(&stores.new_subject_of_shard(0).await));
    }
    // Nobody recovers the shard until the lease ends.
    let taken =
        "UPDATE shard SET owner = 'elsewhere', lease_until = now() + interval '1 hour', fence = fence + 1
         WHERE id = $1 RETURNING fence";
    stores.number(taken, 1).await;
    stores.command(&["DEL", &key(1, "meta")]).await;

    // The author's counts are on the lost shard.
    let (like, read) = (
        "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }",
        "query ($n: ID!) { note(id: $n) { likeCount } }",
    );
    for (number, fan) in (1..).zip(&fans) {
        assert_eq!(fan.data(like, json!({ "n": n })).await["likeNote"]["changed"], true);
        eventually("the like is counted", SOON, || async {
            let counted = server.anonymous().data(read, json!({ "n": n })).await;
            (counted["note"]["likeCount"] == number).then_some(())
        })
        .await;
    }

    stores.number("UPDATE shard SET lease_until = now() WHERE id = $1 RETURNING fence", 1).await;
    stores.rest().await;
    let received =
        "SELECT likes_received FROM user_counts WHERE id = (SELECT author_id FROM note WHERE id = $1)";
    assert_eq!(stores.number(received, id).await, 3);
    let counts = server.anonymous().data(COUNTS, json!({ "n": n })).await["note"].clone();
    assert_eq!(counts, json!({ "likeCount": 3, "author": { "likesReceivedCount": 3 } }));
}
