//! Plaudit on a Redis Cluster of three masters and three replicas.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{RedisCluster, SOON, Server, eventually, key, note};

const SHARDS: usize = 8;

fn start_on(cluster: &RedisCluster) -> Server {
    Server::start(&["--redis-url", &cluster.url(), "--virtual-shards", &SHARDS.to_string()])
}

/// Notes of all shards.
async fn notes(server: &Server) -> Vec<i64> {
    let mut notes = Vec::new();
    for _ in 0..2 * SHARDS {
        notes.push(server.stores().new_note().await);
    }
    notes
}

/// Waits until each note has this many likes in rows, in totals, and for everybody who asks.
async fn until_each_has(server: &Server, notes: &[i64], likes: i64) {
    let (stores, asker) = (server.stores(), server.client("asker"));
    let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
    let total = "SELECT likes FROM note_counts WHERE id = $1";
    for id in notes {
        eventually("the likes are persisted", SOON, || async {
            let persisted = (stores.number(rows, *id).await, stores.number(total, *id).await);
            (persisted == (likes, likes)).then_some(())
        })
        .await;
        assert_eq!(asker.note(&note(*id)).await["likeCount"], likes, "note {id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_counts_and_subscriptions_work_on_a_cluster_whose_nodes_have_as_many_shards_each() {
    let cluster = RedisCluster::start(3).await;
    let server = start_on(&cluster);
    let mut ports = Vec::new();
    for shard in 0..SHARDS {
        ports.push(cluster.master_of(&key(shard, "meta")).await.0.port);
    }
    let masters: BTreeSet<u16> = ports.iter().copied().collect();
    for master in &masters {
        let shards = ports.iter().filter(|port| *port == master).count();
        assert!((2..=3).contains(&shards), "{ports:?}");
    }
    assert_eq!(masters.len(), 3);

    let notes = notes(&server).await;
    let ids: Vec<String> = notes.iter().map(|id| note(*id)).collect();
    let mut socket = server.socket("watcher").await;
    socket.watch_notes(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    join_all((0..5).map(|user| {
        let (server, ids) = (&server, &ids);
        async move {
            let client = server.client(&format!("user {user}"));
            for id in ids {
                assert_eq!(client.like(id).await["changed"], true);
                assert_eq!(client.like(id).await["changed"], false);
                assert_eq!(client.note(id).await["viewerHasLiked"], true);
            }
        }
    }))
    .await;
    let mut behind: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    while !behind.is_empty() {
        let message = socket.data().await["noteCountsChanged"].clone();
        if message["likeCount"] == 5 {
            behind.remove(message["id"].as_str().unwrap());
        }
    }
    until_each_has(&server, &notes, 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_death_of_a_master_its_shards_act_again_and_the_others_never_stopped() {
    let mut cluster = RedisCluster::start(3).await;
    let server = start_on(&cluster);
    let notes = notes(&server).await;
    for id in &notes {
        server.client("ann").like(&note(*id)).await;
    }
    until_each_has(&server, &notes, 1).await;

    let dead = cluster.master_of(&key(0, "meta")).await.0.port;
    cluster.nodes().iter().find(|node| node.port == dead).unwrap().kill();
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
    for id in &notes {
        eventually("likes work again", SOON, || async {
            let reply = server.client("bob").send(like, json!({ "n": note(*id) })).await.body;
            reply["data"]["likeNote"].is_object().then_some(())
        })
        .await;
    }
    until_each_has(&server, &notes, 2).await;
    cluster.node_at(dead).start_again();
    for id in &notes {
        server.client("cid").like(&note(*id)).await;
    }
    until_each_has(&server, &notes, 3).await;
}
