//! Redis fails over to a replica and back, or only gets another replication id. Its process, its loaded scripts and the
//! connections to it stay the same.

use std::{
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use plaudit_embedded_stores::AppendFsync;
use redis::aio::MultiplexedConnection;
use serde_json::json;
use support::{Client, SOON, Server, Stores, eventually, key, note};

/// Owners look every fifth of this.
const LEASE: [&str; 2] = ["--lease", "1s"];

/// Another Redis, at first a replica of the stores' Redis. Killed when it is dropped.
struct OtherRedis {
    server: Child,
    port: String,
}

impl OtherRedis {
    /// Starts it and waits until it follows.
    async fn start(stores: &Stores) -> Self {
        let [port, of_stores] = [(); 2]
            .map(|()| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string());
        stores.command(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]).await;
        stores.command(&["CONFIG", "SET", "port", &of_stores]).await;
        let server = Command::new("redis-server")
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(stores.data_dir())
            .args(["--dbfilename", "other.rdb", "--repl-diskless-sync-delay", "0"])
            .args(["--replicaof", "127.0.0.1", &of_stores])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let other = Self { server, port };
        // The replica says when it has loaded all. Valkey 9.1 acknowledges (`WAIT`) up to a second earlier what it has
        // received as a file: promoted by then, it has nothing.
        eventually("the other Redis has all data", SOON, || async {
            let mut connection = other.connect().await?;
            (info(&mut connection, "replication", "master_link_status:").await == "up").then_some(())
        })
        .await;
        other
    }

    /// `None` until it has started.
    async fn connect(&self) -> Option<MultiplexedConnection> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        client.get_multiplexed_async_connection().await.ok()
    }

    async fn is_promoted(&self) {
        let mut connection = self.connect().await.unwrap();
        let () = redis::cmd("REPLICAOF").arg("NO").arg("ONE").query_async(&mut connection).await.unwrap();
    }
}

impl Drop for OtherRedis {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A line of `INFO`.
async fn info(redis: &mut MultiplexedConnection, section: &str, line: &str) -> String {
    let info: String = redis::cmd("INFO").arg(section).query_async(redis).await.unwrap();
    info.lines().find_map(|text| text.strip_prefix(line)).unwrap().to_owned()
}

async fn field(redis: &mut MultiplexedConnection, shard: u64, name: &str) -> String {
    redis::cmd("HGET").arg(key(shard, "meta")).arg(name).query_async(redis).await.unwrap()
}

/// Waits until both shards are verified under the present replication id.
async fn verified(stores: &Stores) {
    eventually("both shards are verified", SOON, || async {
        let mut redis = stores.redis().await;
        let id = info(&mut redis, "replication", "master_replid:").await;
        let known =
            [field(&mut redis, 0, "redis_history").await, field(&mut redis, 1, "redis_history").await];
        known.iter().all(|known| *known == id).then_some(())
    })
    .await;
}

async fn liked(liker: &Client, id: i64) {
    eventually("the like is accepted", SOON, || async {
        let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
        let reply = liker.send(query, json!({ "n": note(id) })).await.body;
        (reply["data"]["likeNote"]["changed"] == true).then_some(())
    })
    .await;
}

/// The other Redis is promoted before it has the second like, which PostgreSQL has. Back on the first one, the
/// third like would get the second one's offset, and would never be persisted.
#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_failed_over_and_back_takes_no_action_before_it_is_verified() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &LEASE);
    let liker = server.client(&stores.new_subject_of_shard(0).await);
    let [first, second, third] = [stores.new_note().await, stores.new_note().await, stores.new_note().await];
    liked(&liker, first).await;
    stores.rest().await;
    let other = OtherRedis::start(&stores).await;
    verified(&stores).await;
    stores.rest().await;
    other.is_promoted().await;
    liked(&liker, second).await;
    stores.rest().await;
    let before = liker.note(&note(second)).await["countsVersion"].as_u64().unwrap();

    let mut redis = stores.redis().await;
    let run = info(&mut redis, "server", "run_id:").await;
    stores.command(&["REPLICAOF", "127.0.0.1", &other.port]).await;
    eventually("the stores' Redis has what the other one has", SOON, || async {
        let mut redis = stores.redis().await;
        (info(&mut redis, "replication", "master_link_status:").await == "up").then_some(())
    })
    .await;
    stores.command(&["REPLICAOF", "NO", "ONE"]).await;
    liked(&liker, third).await;

    assert_eq!(info(&mut redis, "server", "run_id:").await, run, "the connection reaches the same process");
    verified(&stores).await;
    stores.rest().await;
    for id in [first, second, third] {
        assert_eq!(liker.note(&note(id)).await["likeCount"], 1);
        let totals = stores.likes(id).await;
        assert_eq!((totals.rows, totals.total, totals.redis), (1, 1, Some(1)));
    }
    let shown = liker.note(&note(second)).await;
    assert_eq!(shown["viewerHasLiked"], true);
    assert!(shown["countsVersion"].as_u64().unwrap() > before);
    assert!(server.log().contains("was promoted"), "no reset");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_replica_changes_the_replication_id_and_no_epoch() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &LEASE);
    let liker = server.client(&stores.new_subject_of_shard(0).await);
    let (before, after) = (stores.new_note().await, stores.new_note().await);
    liked(&liker, before).await;
    stores.rest().await;
    let mut redis = stores.redis().await;
    let id = info(&mut redis, "replication", "master_replid:").await;
    let epochs = [field(&mut redis, 0, "epoch").await, field(&mut redis, 1, "epoch").await];

    let _other = OtherRedis::start(&stores).await;
    verified(&stores).await;
    assert_ne!(info(&mut redis, "replication", "master_replid:").await, id);
    liked(&liker, after).await;
    stores.rest().await;
    assert_eq!([field(&mut redis, 0, "epoch").await, field(&mut redis, 1, "epoch").await], epochs);
    assert_eq!(liker.note(&note(before)).await["viewerHasLiked"], true);
}
