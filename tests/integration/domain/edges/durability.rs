//! Durability: each mutation's reply says what a crash could still take back.

use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use plaudit_embedded_stores::AppendFsync;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually, note};

const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
const UNLIKE: &str = "mutation ($n: ID!) { unlikeNote(input: { noteId: $n }) { changed } }";
const CREATE: &str = "mutation { createNote(input: { title: \"One\", body: \"Text\" }) { note { id } } }";

/// The extensions of the reply.
async fn extensions(client: &Client, query: &str, variables: Value) -> Value {
    client.send(query, variables).await.body["extensions"].clone()
}

async fn like(client: &Client, id: i64) -> Value {
    extensions(client, LIKE, json!({ "n": note(id) })).await["durability"].clone()
}

fn durability(word: &str) -> Value {
    json!({ "durability": word })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reply_has_the_lowest_durability_of_its_mutations() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (id, ann) = (stores.new_note().await, server.client("ann is durable"));
    let n = json!({ "n": note(id) });
    assert_eq!(extensions(&ann, LIKE, n.clone()).await, durability("MEMORY"));
    stores.rest().await;
    // The like is in PostgreSQL now.
    eventually("the like is retired", SOON, || async {
        (extensions(&ann, LIKE, n.clone()).await == durability("DATABASE")).then_some(())
    })
    .await;
    let views = "mutation ($n: ID!) { recordViews(input: { noteIds: [$n] }) { changed } }";
    assert_eq!(extensions(&ann, views, n.clone()).await, durability("MEMORY"));
    let create = "mutation { createNote(input: { title: \"One\", body: \"Text\", idempotencyKey: \"key\" }) { note { id } } }";
    for _ in 0..2 {
        assert_eq!(extensions(&ann, create, json!({})).await, durability("DATABASE"));
    }
    let both = "mutation ($n: ID!) { unlikeNote(input: { noteId: $n }) { changed }
        createNote(input: { title: \"One\", body: \"Text\" }) { note { id } } }";
    assert_eq!(extensions(&ann, both, n.clone()).await, durability("MEMORY"));
    let failed_and_done = "mutation { likeNote(input: { noteId: \"note_8000000000\" }) { changed }
        updateProfile(input: { name: \"Ann\" }) { changed } }";
    assert_eq!(extensions(&ann, failed_and_done, json!({})).await, durability("DATABASE"));
    // Nothing was acknowledged.
    assert_eq!(extensions(&ann, LIKE, json!({ "n": "note_8000000000" })).await, Value::Null);
    assert_eq!(extensions(&ann, "{ viewer { user { id } } }", json!({})).await, Value::Null);
    let nobody = server.client("nobody has liked");
    assert_eq!(extensions(&nobody, UNLIKE, n.clone()).await, durability("DATABASE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_answers_with_a_durability_that_is_true() {
    let server = Server::start(&["--batch-wait", "5s"]);
    let (id, ann) = (server.stores().new_note().await, server.client("ann repeats"));
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n, idempotencyKey: \"key\" }) { changed } }";
    for _ in 0..2 {
        assert_eq!(extensions(&ann, like, json!({ "n": note(id) })).await, durability("MEMORY"));
    }
    assert_eq!(extensions(&ann, LIKE, json!({ "n": note(id) })).await, durability("MEMORY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_syncs_before_each_reply_makes_it_disk_as_long_as_it_does() {
    let stores = Stores::start(AppendFsync::Always).await;
    let server = Server::start_on(&stores, &["--batch-wait", "5s"]);
    let (ann, mut notes) = (server.client("ann has a disk"), Vec::new());
    for _ in 0..6 {
        notes.push(stores.new_note().await);
    }
    for _ in 0..2 {
        assert_eq!(like(&ann, notes[0]).await, "DISK");
    }
    // The question costs no round trip of its own.
    for mutation in [UNLIKE, LIKE] {
        let reply = ann.send(mutation, json!({ "n": note(notes[0]) })).await;
        assert_eq!((reply.redis_round_trips, &reply.body["extensions"]), (1, &durability("DISK")));
    }
    assert_eq!(like(&ann, notes[1]).await, "DISK");

    stores.command(&["CONFIG", "SET", "appendfsync", "everysec"]).await;
    assert_eq!(like(&ann, notes[2]).await, "MEMORY");
    assert_eq!(extensions(&ann, CREATE, json!({})).await, durability("DATABASE"));
    // A change back is noticed when Redis or the server starts again; until then the lower word is said.
    stores.command(&["CONFIG", "SET", "appendfsync", "always"]).await;
    assert_eq!(like(&ann, notes[3]).await, "MEMORY");
    stores.kill_redis();
    stores.are_up().await;
    eventually("the shards are recovered on a Redis that syncs", SOON, || async {
        (like(&ann, notes[4]).await == "DISK").then_some(())
    })
    .await;
    // While it rewrites its file, it may leave out syncs.
    stores.command(&["CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"]).await;
    assert_eq!(like(&ann, notes[5]).await, "MEMORY");
}

/// A replica of the stores' Redis. Killed when it is dropped.
struct Replica {
    server: Child,
    dir: PathBuf,
}

impl Replica {
    /// Starts it and waits until it follows.
    async fn start(stores: &Stores) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        stores.command(&["CONFIG", "SET", "port", &port]).await;
        let dir = stores.data_dir().join(format!("replica-{port}"));
        std::fs::create_dir(&dir).unwrap();
        let server = Command::new("redis-server")
            .args([
                "--port",
                "0",
                "--save",
                "",
                "--repl-diskless-sync-delay",
                "0",
                "--replicaof",
                "127.0.0.1",
                &port,
            ])
            .arg("--unixsocket")
            .arg(dir.join("socket"))
            .arg("--dir")
            .arg(&dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let replica = Self { server, dir };
        eventually("the replica follows", SOON, || async {
            let followers: u32 =
                redis::cmd("WAIT").arg(1).arg(100).query_async(&mut stores.redis().await).await.unwrap();
            (followers == 1).then_some(())
        })
        .await;
        replica
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fold_that_had_the_word_of_the_replicas_makes_it_replicated_and_without_it_there_is_no_success() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    stores.command(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]).await;
    let replica = Replica::start(&stores).await;
    let mut server = Server::start_on(&stores, &[]);
    let (id, other) = (stores.new_note().await, stores.new_note().await);
    // Nobody has asked the replica.
    assert_eq!(like(&server.client("ann has no replica"), id).await, "MEMORY");
    server.stop();

    let server = Server::start_on(&stores, &["--redis-replicas", "1", "--batch-wait", "5s"]);
    let ann = server.client("ann has a replica");
    for _ in 0..2 {
        assert_eq!(like(&ann, id).await, "REPLICATED");
    }
    assert_eq!(extensions(&ann, CREATE, json!({})).await, durability("DATABASE"));
    drop(replica);
    // The reply does not wait for longer than `reply_wait`. Nor is a repetition a success, with a key or without one.
    let keyed = "mutation ($n: ID!) { likeNote(input: { noteId: $n, idempotencyKey: \"key\" }) { changed } }";
    for query in [keyed, keyed, LIKE] {
        let error = ann.error(query, json!({ "n": note(other) })).await;
        assert_eq!(error["extensions"]["code"], "RETRY_LATER");
    }
    let missing = "plaudit_replica_waits_total{outcome=\"missing\"}";
    assert!(server.metric(missing).await > 0.0);
    let log = server.log();
    assert!(log.contains("fewer replicas of Redis than redis_replicas"), "{log}");
    let _replica = Replica::start(&stores).await;
    eventually("the fold goes on, and the like is replicated", SOON, || async {
        (like(&ann, other).await == "REPLICATED").then_some(())
    })
    .await;
    let repeated = ann.send(keyed, json!({ "n": note(other) })).await.body;
    assert_eq!(repeated["data"]["likeNote"]["changed"], true);
    assert_eq!(repeated["extensions"], durability("REPLICATED"));
}
