//! Slots of a cluster move: key by key, and all at once, as Valkey does it.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Instant,
};

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::cluster::{
    SHARDS, client_of_shard, epochs, like_when_it_works, notes, start_on, until_each_has, watch,
};
use support::{Client, RedisCluster, SOON, Server, Socket, eventually, key, note, valkey};

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

/// Asks for the counts of a note again and again, until it is shown with this many likes. Each answer is as new
/// as the one before it, or tells that it is older than any, or is refused for now.
async fn reads_counts_that_never_fall(server: &Server, n: &str, likes: i64) {
    let query = "query ($n: ID!) { note(id: $n) { likeCount countsVersion } }";
    let (reader, began, mut shown) = (server.anonymous(), Instant::now(), (0, 0));
    while shown.1 < likes {
        assert!(began.elapsed() < 2 * SOON, "{shown:?} of {likes} likes");
        let body = reader.send(query, json!({ "n": n })).await.body;
        if let Some(errors) = body["errors"].as_array() {
            let is_for_now = |error: &Value| error["extensions"]["code"] == "RETRY_LATER";
            assert!(errors.iter().all(is_for_now), "{body}");
            continue;
        }
        let counts = &body["data"]["note"];
        let version = &counts["countsVersion"];
        let version = version.as_i64().or_else(|| version.as_str()?.parse().ok());
        let version = version.unwrap_or_else(|| panic!("{body}"));
        let now = (version, counts["likeCount"].as_i64().unwrap());
        assert!(now.1 <= likes, "{body}");
        if version == 0 {
            assert_eq!(body["extensions"]["stale"], true, "{body}");
            continue;
        }
        assert!(now == shown || (now.0 > shown.0 && now.1 >= shown.1), "{body} after {shown:?}");
        shown = now;
    }
}

/// Logs are trimmed before, as the operator is told to do.
#[tokio::test(flavor = "multi_thread")]
async fn while_a_slot_moves_by_key_counts_that_are_shown_never_fall_and_the_rest_is_refused_for_now() {
    let cluster = RedisCluster::start(3).await;
    let server = start_on(&cluster);
    let notes = notes(&server).await;
    like_when_it_works(&server, "ann", &notes).await;
    until_each_has(&server, &notes, 1).await;
    let (redis, stores) = (cluster.url(), server.stores());
    let stores = ["--redis-url", &redis, "--database-url", stores.database_url()];
    let trimmed = server.command().arg("trim").args(stores).output().unwrap();
    let said = String::from_utf8_lossy(&trimmed.stdout).into_owned();
    assert!(trimmed.status.success() && said.contains("the logs have"), "{trimmed:?}");

    let from = cluster.master_of(&key(0, "meta")).await.0.port;
    let to = cluster.master_of(&key(1, "meta")).await.0.port;
    let before = epochs(&server).await;
    let of_shard_0 = note(*notes.iter().find(|id| **id % SHARDS as i64 == 0).unwrap());
    let fans = ["bob", "cid", "dan", "eve"];
    let moving = async {
        // Those of shard 0 are among the first ones.
        let move_slots = cluster.move_first_slots(from, to, 16);
        let liking = join_all(fans.iter().map(|fan| like_when_it_works(&server, fan, &notes)));
        tokio::join!(move_slots, liking);
        assert_eq!(cluster.master_of(&key(0, "meta")).await.0.port, to);
        like_when_it_works(&server, "fay", &notes).await;
    };
    let likes = 2 + fans.len() as i64;
    tokio::join!(moving, reads_counts_that_never_fall(&server, &of_shard_0, likes));
    until_each_has(&server, &notes, likes).await;
    assert!(epochs(&server).await[0] > before[0], "{}", server.log());
}

/// Somebody of one shard who likes, unlikes and views the notes in turn, until told to stop.
struct Fan(Client);

#[derive(Default)]
struct Acted {
    actions: usize,
    refused: usize,
    /// How often each note was viewed.
    rounds: i64,
}

impl Fan {
    async fn of(server: &Server, shard: i64) -> Self {
        Self(client_of_shard(server, shard).await)
    }

    /// Each action is repeated until it is taken. At the end every note is liked.
    async fn acts(&self, notes: &[i64], stop: &AtomicBool) -> Acted {
        let (mut acted, mut is_last) = (Acted::default(), false);
        while !is_last {
            is_last = stop.load(Relaxed);
            acted.rounds += 1;
            for id in notes {
                let mut actions = vec!["likeNote"];
                if !is_last {
                    actions.push("unlikeNote");
                }
                for action in actions {
                    let input = json!({ "noteId": note(*id) });
                    let first = self.0.try_act(action, input.clone(), "changed").await;
                    acted.actions += 1;
                    acted.refused += usize::from(first.is_err());
                    let done = match first {
                        Err(code) if code == "RETRY_LATER" => {
                            self.0.retrying().try_act(action, input, "changed").await
                        }
                        first => first,
                    };
                    assert!(done.is_ok(), "{action}: {done:?}");
                }
                let viewed = json!({ "noteIds": [note(*id)] });
                self.0.retrying().act("recordViews", viewed, "changed").await;
            }
        }
        acted
    }
}

/// Receives until each note has this many likes. Each message is newer than the one before it: nothing is sent again.
async fn sees_only_newer(socket: &mut Socket, notes: usize, likes: i64) {
    let mut seen = BTreeMap::<String, (i64, i64)>::new();
    while seen.len() < notes || seen.values().any(|(_, shown)| *shown != likes) {
        let counts = socket.data().await["noteCountsChanged"].clone();
        let id = counts["id"].as_str().unwrap().to_owned();
        let version = &counts["countsVersion"];
        let version = version.as_i64().or_else(|| version.as_str()?.parse().ok()).unwrap();
        let now = (version, counts["likeCount"].as_i64().unwrap());
        let last = seen.insert(id.clone(), now).unwrap_or_default();
        assert!(now.0 > last.0, "{id}: {now:?} after {last:?}");
    }
}

/// Waits until the shard is verified in the Redis that has it.
async fn is_verified(cluster: &RedisCluster, shard: usize) {
    eventually("the shard is verified", SOON, || async {
        let (_, mut connection) = cluster.master_of(&key(shard, "meta")).await;
        let info: String = redis::cmd("INFO").arg("replication").query_async(&mut connection).await.unwrap();
        let mut ask = redis::cmd("HGET");
        let id: Option<String> =
            ask.arg(key(shard, "meta")).arg("redis_history").query_async(&mut connection).await.ok()?;
        info.contains(&format!("master_replid:{}", id?)).then_some(())
    })
    .await;
}

/// A slot moves to another node and back, while users like, view and watch.
#[tokio::test(flavor = "multi_thread")]
async fn an_atomic_move_raises_no_epoch_refuses_loses_and_repeats_nothing() {
    let cluster = RedisCluster::start_program(valkey(), 3).await;
    let server = start_on(&cluster);
    let notes = notes(&server).await;
    like_when_it_works(&server, "ann", &notes).await;
    until_each_has(&server, &notes, 1).await;
    let before = epochs(&server).await;
    let from = cluster.master_of(&key(0, "meta")).await.0.port;
    let to = cluster.master_of(&key(1, "meta")).await.0.port;
    let mut fans = Vec::new();
    for shard in 0..SHARDS as i64 {
        fans.push(Fan::of(&server, shard).await);
    }
    let mut socket = watch(&server, &notes).await;

    let stop = AtomicBool::new(false);
    let moving = async {
        for (from, to) in [(from, to), (to, from)] {
            // Those of shard 0 are among the first ones.
            cluster.move_first_slots_atomically(from, to, 16).await;
            let moved = Instant::now();
            is_verified(&cluster, 0).await;
            println!("verified {:?} after the move", moved.elapsed());
            assert_eq!(cluster.master_of(&key(0, "meta")).await.0.port, to);
            like_when_it_works(&server, "bob", &notes).await;
            assert_eq!(epochs(&server).await, before, "{}", server.log());
        }
        stop.store(true, Relaxed);
    };
    let likes = 2 + fans.len() as i64;
    let acting = join_all(fans.iter().map(|fan| fan.acts(&notes, &stop)));
    let ((), acted, ()) = tokio::join!(moving, acting, sees_only_newer(&mut socket, notes.len(), likes));
    let (refused, actions): (usize, usize) =
        (acted.iter().map(|one| one.refused).sum(), acted.iter().map(|one| one.actions).sum());
    assert_eq!(refused, 0, "of {actions}");

    until_each_has(&server, &notes, likes).await;
    let rounds: i64 = acted.iter().map(|one| one.rounds).sum();
    for id in &notes {
        let views = "SELECT views FROM note_counts WHERE id = $1";
        eventually("each view is counted once", SOON, || async {
            (server.stores().number(views, *id).await == rounds).then_some(())
        })
        .await;
    }
    assert_eq!(epochs(&server).await, before);
    assert!(server.log().contains("Redis changed without a loss: the counters stay"));
}

/// Both nodes remember the first move for long, and say that it was whole. Of the later ones, by key, they know
/// nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_atomic_move_tells_nothing_of_later_moves_by_key_which_raise_the_epoch() {
    let cluster = RedisCluster::start_program(valkey(), 3).await;
    let server = start_on(&cluster);
    let notes = notes(&server).await;
    like_when_it_works(&server, "ann", &notes).await;
    until_each_has(&server, &notes, 1).await;
    let from = cluster.master_of(&key(0, "meta")).await.0.port;
    let to = cluster.master_of(&key(1, "meta")).await.0.port;
    let before = epochs(&server).await;
    cluster.move_first_slots_atomically(from, to, 16).await;
    is_verified(&cluster, 0).await;
    assert_eq!(epochs(&server).await, before);
    // The first slots of that node are those that it has got.
    for (from, to, raised) in [(to, from, 1), (from, to, 2)] {
        cluster.move_first_slots(from, to, 16).await;
        is_verified(&cluster, 0).await;
        like_when_it_works(&server, &format!("fan {raised}"), &notes).await;
        let after = epochs(&server).await;
        assert_eq!(after[0], before[0] + raised);
        assert_eq!(after[1..], before[1..]);
    }
    until_each_has(&server, &notes, 3).await;
}
