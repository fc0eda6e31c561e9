//! An installation has one Redis, and Redis one installation: processes and commands that use another one are refused.

use std::{process::Output, sync::Arc};

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use support::{
    OwnRedis, Place, SOON, Server, Stores, eventually, free_port, key, note, plaudit, refused_start,
};

async fn another_redis() -> (OwnRedis, String) {
    let (place, port) = (Arc::new(Place::new()), free_port());
    let redis = OwnRedis::start(&place, port, &["--port", &port.to_string(), "--bind", "127.0.0.1"]).await;
    (redis, format!("redis://127.0.0.1:{port}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_of_another_installation_is_refused_at_the_start_and_when_a_shard_is_recovered() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &["--lease", "1s"]);
    let said = refused_start(&["--redis-url", stores.redis_url()]);
    assert!(said.contains("another installation") && said.contains("a Redis of its own"), "{said}");
    let id = note(stores.new_note().await);
    assert_eq!(server.client("ann").like(&id).await["changed"], true);

    stores.rest().await;
    stores.command(&["HSET", &key(0, "meta"), "installation", "of-another-one"]).await;
    stores.kill_redis();
    eventually("the owner says what is wrong", SOON, || async {
        server.log().contains("another installation").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_redis_for_the_same_database_is_refused_while_processes_use_the_first_one() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &[]);
    let (_redis, other) = another_redis().await;
    for roles in ["pipeline", "api"] {
        let flags = ["--redis-url", &other, "--database-url", stores.database_url(), "--roles", roles];
        let said = refused_start(&flags);
        assert!(said.contains("is not seen on this Redis") && said.contains("the same redis_url"), "{said}");
    }
    let id = note(stores.new_note().await);
    assert_eq!(server.client("ann").like(&id).await["changed"], true);
    stores.rest().await;
    server.stop();
    // With nobody else, this is a Redis that took the place of the first one.
    let server = Server::start(&["--redis-url", &other, "--database-url", stores.database_url()]);
    assert_eq!(server.client("ann").note(&id).await["likeCount"], 1);
}

/// The lease keeps the shards with an owner that can write nothing to Redis. It uses this Redis all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_beside_an_owner_that_recovers_for_long_is_not_refused() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut stuck = Server::start_on(&stores, &["--lease", "2s"]);
    let id = note(stores.new_note().await);
    stuck.stop();
    // The first takeovers, one for each shard, succeed, and no later one.
    assert!(stuck.try_start(&[("FAILPOINTS", "takeover.begin=2*off->return(fail)")]));
    stores.command(&["FLUSHALL"]).await;
    let flags = ["--redis-url", stores.redis_url(), "--database-url", stores.database_url(), "--lease", "2s"];
    let flags = flags.map(str::to_owned);
    let starting = tokio::task::spawn_blocking(move || Server::start(&flags.each_ref().map(String::as_str)));
    eventually("the second one has joined the first", SOON, || async {
        let live = "SELECT count(*) FROM pipeline_process WHERE alive_until > now() AND $1 = 0";
        (stores.number(live, 0).await == 2).then_some(())
    })
    .await;
    stuck.kill();
    let second = starting.await.unwrap();
    let input = json!({ "noteId": id });
    let liked = second.client("ann").retrying().act("likeNote", input, "changed note { likeCount }").await;
    assert_eq!(liked["note"]["likeCount"], 1);
}

const COMMANDS: [&[&str]; 6] = [
    &["import", "-"],
    &["import", "--dry-run", "-"],
    &["reconcile", "--repair"],
    &["explain", "note_1"],
    &["trim"],
    &["reshard", "--shards", "4"],
];

/// Runs a command beside the servers of these stores, with this Redis.
async fn run(stores: &Stores, words: &[&str], redis: &str) -> Output {
    let mut command = tokio::process::Command::from(plaudit(stores.data_dir()));
    let urls = ["--redis-url", redis, "--database-url", stores.database_url()];
    command.args(words).args(urls).stdin(std::process::Stdio::null()).output().await.unwrap()
}

/// What each command says that is refused.
async fn refusals(stores: &Stores, redis: &str) -> Vec<String> {
    join_all(COMMANDS.map(|words| async move {
        let output = run(stores, words, redis).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{words:?}: {said}");
        said
    }))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_another_redis_than_the_servers_is_refused_in_one_line_and_changes_nothing() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    server.client("ann").like(&note(stores.new_note().await)).await;
    let (_redis, other) = another_redis().await;
    for said in refusals(&stores, &other).await {
        assert!(said.contains("no `plaudit serve` has used it yet"), "{said}");
    }

    // As if it had been this installation's before.
    let client = redis::Client::open(other.as_str()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let installation: String =
        sqlx::query_scalar("SELECT id::text FROM installation").fetch_one(&stores.sql().await).await.unwrap();
    for shard in 0..2 {
        let mut claim = redis::cmd("HSET");
        claim.arg(key(shard, "meta")).arg("installation").arg(&installation);
        claim.exec_async(&mut connection).await.unwrap();
    }
    for said in refusals(&stores, &other).await {
        assert!(said.contains("is not seen on this Redis") && said.contains("the same redis_url"), "{said}");
    }
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut connection).await.unwrap();
    assert_eq!(keys.len(), 2, "{keys:?}");

    for words in COMMANDS {
        let output = run(&stores, words, stores.redis_url()).await;
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_only_an_explanation_is_given() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let _server = Server::start_on(&stores, &[]);
    stores.new_note().await;
    for words in [COMMANDS[2], COMMANDS[3]] {
        let output = run(&stores, words, "redis://127.0.0.1:1").await;
        assert_eq!(output.status.success(), words[0] == "explain", "{output:?}");
    }
}
