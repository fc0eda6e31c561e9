//! Plaudit on a Redis Cluster of three masters and three replicas, and on a master that Sentinel names.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{
    OwnRedis, Place, RedisCluster, SOON, Sentinel, Server, eventually, free_port, key, note, refused_start,
};

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

/// Likes each note, again and again until there is a reply.
async fn like_when_it_works(server: &Server, user: &str, notes: &[i64]) {
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
    for id in notes {
        eventually("likes work again", SOON, || async {
            let reply = server.client(user).send(like, json!({ "n": note(*id) })).await.body;
            reply["data"]["likeNote"].is_object().then_some(())
        })
        .await;
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
    cluster.kill(dead);
    like_when_it_works(&server, "bob", &notes).await;
    until_each_has(&server, &notes, 2).await;
    cluster.start_again(dead).await;
    for id in &notes {
        server.client("cid").like(&note(*id)).await;
    }
    until_each_has(&server, &notes, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_to_another_node_under_likes_loses_none_and_counts_none_twice() {
    let cluster = RedisCluster::start(3).await;
    let server = start_on(&cluster);
    let notes = notes(&server).await;
    like_when_it_works(&server, "ann", &notes).await;
    let from = cluster.master_of(&key(0, "meta")).await.0.port;
    let to = cluster.master_of(&key(1, "meta")).await.0.port;
    // Those of shard 0 are among the first ones.
    let moving = cluster.move_first_slots(from, to, 16);
    tokio::join!(moving, like_when_it_works(&server, "bob", &notes));
    assert_eq!(cluster.master_of(&key(0, "meta")).await.0.port, to);
    like_when_it_works(&server, "cid", &notes).await;
    until_each_has(&server, &notes, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_death_of_a_master_likes_go_to_the_one_that_sentinel_names() {
    let place = Arc::new(Place::new());
    let (first, second) = (free_port(), free_port());
    let (first_text, second_text) = (first.to_string(), second.to_string());
    let master = OwnRedis::start(&place, first, &["--port", &first_text, "--bind", "127.0.0.1"]).await;
    let follow = ["--port", &second_text, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"];
    let follow = [&follow[..], &["--replicaof", "127.0.0.1", &first_text]].concat();
    let _replica = OwnRedis::start(&place, second, &follow).await;
    let sentinel = Sentinel::start(&place, first).await;
    sentinel.knows_a_replica().await;
    let url = format!("redis+sentinel://127.0.0.1:{}/plaudit", sentinel.port);
    let server = Server::start(&["--redis-url", &url]);
    let notes = [server.stores().new_note().await, server.stores().new_note().await];
    like_when_it_works(&server, "ann", &notes).await;
    until_each_has(&server, &notes, 1).await;
    drop(master);
    like_when_it_works(&server, "bob", &notes).await;
    until_each_has(&server, &notes, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_another_kind_of_redis_is_refused_in_one_line_that_says_what_to_write() {
    let cluster = RedisCluster::start(3).await;
    let node = cluster.url().replace("redis+cluster", "redis");
    let line = refused_start(&["--redis-url", node.split(',').next().unwrap()]);
    assert!(line.contains("a node of a cluster") && line.contains("redis+cluster://"), "{line}");

    let place = Arc::new(Place::new());
    let (port, replica) = (free_port(), free_port());
    let (port_text, replica_text) = (port.to_string(), replica.to_string());
    let _server = OwnRedis::start(&place, port, &["--port", &port_text, "--bind", "127.0.0.1"]).await;
    let line = refused_start(&["--redis-url", &format!("redis+cluster://127.0.0.1:{port}")]);
    assert!(line.contains("a single server") && line.contains("redis://"), "{line}");
    let line = refused_start(&["--redis-url", &format!("redis+sentinel://127.0.0.1:{port}/plaudit")]);
    assert!(line.contains("redis+sentinel") || line.contains("Sentinel"), "{line}");

    let flags = ["--port", &replica_text, "--bind", "127.0.0.1", "--replicaof", "127.0.0.1", &port_text];
    let _replica = OwnRedis::start(&place, replica, &flags).await;
    let line = refused_start(&["--redis-url", &format!("redis://127.0.0.1:{replica}")]);
    assert!(line.contains("this is a replica: name the master"), "{line}");
}
