//! A shard is handed over to another Redis, without a loss, and its owner is killed while it verifies that.

use std::path::Path;

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;

use super::{
    cluster::{SHARDS, epochs, like_when_it_works, never_falls, notes, until_each_has, watch},
    sentinel::Pair,
};
use support::{Proxy, RedisCluster, SOON, Server, Stores, eventually, key, valkey};

const FANS: i64 = 10;

/// A process for requests, and one that owns the shards.
struct Processes {
    api: Server,
    owner: Server,
    _stores: Stores,
}

impl Processes {
    /// The owner ends at this point of the verification: the former Redis was asked, or all is verified and not
    /// yet written.
    async fn start(redis_url: &str, shards: usize, point: &str) -> Self {
        let stores = Stores::start(AppendFsync::EverySec).await.with_redis(redis_url);
        let count = shards.to_string();
        let role = |role| {
            let flags = ["--virtual-shards", &count, "--lease", "1s", "--roles", role];
            Server::start_on(&stores, &flags)
        };
        let mut owner = role("pipeline");
        let api = role("api");
        owner.stop();
        // Its first recoveries, one for each shard, ask nobody.
        let passes = if point == "takeover.recovered" { shards } else { 0 };
        assert!(owner.try_start(&[("FAILPOINTS", &format!("{point}={passes}*off->1*return(die)"))]));
        Self { api, owner, _stores: stores }
    }
}

/// Hands shards over while users like and one watches; the owner is killed, and started again. Nobody's like is
/// lost or counted twice, and what is shown never falls. Returns the epochs before and after.
async fn survives(
    processes: Processes,
    notes: &[i64],
    handing_over: impl Future<Output = ()>,
) -> [Vec<i64>; 2] {
    let Processes { api, mut owner, _stores } = processes;
    like_when_it_works(&api, "ann", notes).await;
    until_each_has(&api, notes, 1).await;
    let before = epochs(&api).await;
    let mut socket = watch(&api, notes).await;
    let killing = async {
        handing_over.await;
        eventually("the owner is killed", SOON, || {
            let has_ended = owner.has_ended();
            async move { has_ended.then_some(()) }
        })
        .await;
        let starting = tokio::task::spawn_blocking(move || {
            owner.start_again();
            owner
        });
        starting.await.unwrap()
    };
    let fans: Vec<String> = (0..FANS).map(|fan| format!("fan {fan}")).collect();
    let liking = join_all(fans.iter().map(|fan| like_when_it_works(&api, fan, notes)));
    let (_owner, _, ()) = tokio::join!(killing, liking, never_falls(&mut socket, notes, 1 + FANS));
    like_when_it_works(&api, "bob", notes).await;
    until_each_has(&api, notes, 2 + FANS).await;
    [before, epochs(&api).await]
}

async fn a_failover(point: &str) {
    let pair = Pair::start(Path::new("redis-server")).await;
    let proxy = Proxy::start(pair.ports[0]).await;
    let processes = Processes::start(&format!("redis://127.0.0.1:{}", proxy.port), 2, point).await;
    let stores = processes.api.stores();
    let notes = [stores.new_note().await, stores.new_note().await];
    let failing_over = async {
        pair.fail_over().await;
        proxy.lead_to(pair.ports[1]);
    };
    let [before, after] = survives(processes, &notes, failing_over).await;
    assert_eq!(before, after, "{point}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_killed_while_it_verifies_a_failover_loses_no_like_and_raises_no_epoch() {
    a_failover("handover.asked").await;
    a_failover("takeover.recovered").await;
}

async fn an_atomic_move(point: &str) {
    let cluster = RedisCluster::start_program(valkey(), 3).await;
    let processes = Processes::start(&cluster.url(), SHARDS, point).await;
    let notes = notes(&processes.api).await;
    let from = cluster.master_of(&key(0, "meta")).await.0.port;
    let to = cluster.master_of(&key(1, "meta")).await.0.port;
    // That of shard 0 is among the first slots.
    let moving = cluster.move_first_slots_atomically(from, to, 16);
    let [before, after] = survives(processes, &notes, moving).await;
    assert_eq!((after[0], &after[1..]), (before[0] + 1, &before[1..]), "{point}");
}

/// Who has not seen the shard verified before the move cannot tell it from an earlier one.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_killed_while_it_verifies_an_atomic_move_loses_no_like_and_raises_one_epoch() {
    an_atomic_move("handover.asked").await;
    an_atomic_move("takeover.recovered").await;
}
