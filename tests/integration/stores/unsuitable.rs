//! Stores that are there, and are not what Plaudit needs: one line says what is wrong and how to mend it.

use std::sync::Arc;
use support::{Authority, OwnPostgres, OwnRedis, Place, SOON, Server, eventually, free_port, refused_start};

const TRUST: &str = "host all all 127.0.0.1/32 trust";

/// A PostgreSQL, and Redis servers of one's own.
struct World {
    place: Arc<Place>,
    postgres: OwnPostgres,
}

impl World {
    async fn start() -> Self {
        let place = Arc::new(Place::new());
        let postgres = OwnPostgres::start(&place, TRUST, &[]).await;
        Self { place, postgres }
    }

    /// A Redis with these flags, and its port.
    async fn redis(&self, flags: &[&str]) -> (OwnRedis, u16) {
        let port = free_port();
        let own = ["--port", &port.to_string(), "--bind", "127.0.0.1"];
        (OwnRedis::start(&self.place, port, &[&own[..], flags].concat()).await, port)
    }

    /// A cluster of one node that has the slots up to this one.
    async fn cluster(&self, last_slot: u16) -> (OwnRedis, u16) {
        let (redis, port) =
            self.redis(&["--cluster-enabled", "yes", "--cluster-port", &free_port().to_string()]).await;
        has_slots(port, last_slot).await;
        (redis, port)
    }

    /// The line by which Plaudit refuses to start on this Redis.
    fn refused(&self, redis: &str, flags: &[&str]) -> String {
        let database_url = self.postgres.url_of("plaudit");
        refused_start(&[&["--redis-url", redis, "--database-url", &database_url], flags].concat())
    }

    fn starts(&self, redis: &str, flags: &[&str]) -> Server {
        let database_url = self.postgres.url_of("plaudit");
        Server::start(&[&["--redis-url", redis, "--database-url", &database_url], flags].concat())
    }
}

/// Gives a node the slots up to this one, and waits until it serves them.
async fn has_slots(port: u16, last: u16) {
    command(port, &["CONFIG", "SET", "cluster-require-full-coverage", "no"]).await;
    command(port, &["CLUSTER", "ADDSLOTSRANGE", "0", &last.to_string()]).await;
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    eventually("the cluster is whole", SOON, || async {
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let info: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await.unwrap();
        info.contains("cluster_state:ok").then_some(())
    })
    .await;
}

/// A command of Redis whose reply does not matter.
async fn command(port: u16, words: &[&str]) {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    redis::cmd(words[0]).arg(&words[1..]).exec_async(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_stands_still_when_one_master_fails_is_warned_of() {
    let world = World::start().await;
    let (_redis, port) = world.cluster(16_383).await;
    command(port, &["CONFIG", "SET", "cluster-require-full-coverage", "yes"]).await;
    let server = world.starts(&format!("redis+cluster://127.0.0.1:{port}"), &[]);
    let log = server.log();
    assert!(log.contains("`cluster-require-full-coverage yes`") && log.contains("set it to no"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_cannot_be_reached_is_named_and_so_is_a_slot_without_a_node() {
    let world = World::start().await;
    let (_redis, port) = world.cluster(100).await;
    let url = format!("redis+cluster://127.0.0.1:{port}");
    let said = world.refused(&url, &[]);
    assert!(
        said.contains("no node of the cluster has the slot") && said.contains("--cluster check"),
        "{said}"
    );

    let (_redis, port) = world.cluster(16_383).await;
    command(port, &["CONFIG", "SET", "cluster-announce-ip", "127.0.0.9"]).await; // nobody listens there
    let url = format!("redis+cluster://127.0.0.1:{port}");
    let said = world.refused(&url, &[]);
    assert!(said.contains(&format!("127.0.0.9:{port}")) && said.contains("cluster-announce-ip"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_does_not_name_a_node_as_the_cluster_does_is_refused_with_both_ways_out() {
    let world = World::start().await;
    let ca = Authority::new(world.place.path(), "ca");
    let certificate = ca.of_host("localhost");
    let [file, private, ca] =
        [&certificate.file, &certificate.key, &ca.file].map(|path| path.to_str().unwrap().to_owned());
    let (tls, bus) = (free_port().to_string(), free_port().to_string());
    let flags =
        ["--tls-port", &tls, "--tls-cluster", "yes", "--tls-auth-clients", "no", "--tls-cert-file", &file];
    let files = ["--tls-key-file", &private, "--tls-ca-cert-file", &ca, "--cluster-enabled", "yes"];
    let (_redis, port) = world.redis(&[&flags[..], &files, &["--cluster-port", &bus]].concat()).await;
    has_slots(port, 16_383).await;
    command(port, &["CONFIG", "SET", "cluster-announce-ip", "127.0.0.1"]).await;

    let url = format!("rediss+cluster://localhost:{tls}");
    let said = world.refused(&url, &["--redis-ca", &ca]);
    assert!(
        said.contains(&format!("127.0.0.1:{tls}")) && said.contains("cluster-announce-hostname"),
        "{said}"
    );
    command(port, &["CONFIG", "SET", "cluster-announce-hostname", "localhost"]).await;
    let server = world.starts(&url, &["--redis-ca", &ca]);
    let input = serde_json::json!({ "title": "By TLS", "body": "Text" });
    let made = server.client("ann").act("createNote", input, "note { id }").await;
    let id = made["note"]["id"].as_str().unwrap();
    assert_eq!(server.client("ann").like(id).await["changed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_does_not_tell_of_changes_is_refused_as_behind_a_proxy() {
    let world = World::start().await;
    for missing in ["CLIENT", "HELLO", "SSUBSCRIBE"] {
        let (_redis, port) = world.redis(&["--rename-command", missing, ""]).await;
        let said = world.refused(&format!("redis://127.0.0.1:{port}"), &[]);
        assert!(said.contains("if a proxy answers there, name Redis itself"), "{missing}: {said}");
    }
    for rights in [&["+@all", "-client|tracking", "~*", "&*"][..], &["+@all", "~*", "resetchannels"]] {
        let user = [&["--user", "plaudit", "on", ">secret"][..], rights].concat();
        let (_redis, port) = world.redis(&user).await;
        let said = world.refused(&format!("redis://plaudit:secret@127.0.0.1:{port}"), &[]);
        assert!(said.contains("may not run") && said.contains("give it at least"), "{rights:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_of_postgresql_is_refused_as_the_database() {
    let world = World::start().await;
    let (_redis, port) = world.redis(&[]).await;
    let redis = format!("redis://127.0.0.1:{port}");
    let standby = world.postgres.standby("own-standby", &[]).await;
    let said = refused_start(&["--redis-url", &redis, "--database-url", &standby.url_of("plaudit")]);
    assert!(said.contains("this is a standby: name the primary"), "{said}");
}
