//! Plaudit on a master and its replica: the one that Sentinel names, or the one to which an address leads.

use std::{path::Path, sync::Arc};

use serde_json::json;

use super::cluster::{epochs, like_when_it_works, never_falls, until_each_has, watch};
use support::{
    OwnRedis, Place, Proxy, SOON, Sentinel, Server, eventually, free_port, key, note, refused_start, valkey,
};

/// A master and its replica. What is dropped is killed.
pub(super) struct Pair {
    place: Arc<Place>,
    pub(super) ports: [u16; 2],
    master: OwnRedis,
    _replica: OwnRedis,
}

impl Pair {
    pub(super) async fn start(program: &Path) -> Self {
        let place = Arc::new(Place::new());
        let ports = [free_port(), free_port()];
        let [first, second] = ports.map(|port| port.to_string());
        let own = |port| ["--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"];
        let follow = [&own(&second)[..], &["--replicaof", "127.0.0.1", &first]].concat();
        let master = OwnRedis::start_with(program, &place, ports[0], &[], &own(&first)).await;
        let replica = OwnRedis::start_with(program, &place, ports[1], &[], &follow).await;
        let pair = Self { place, ports, master, _replica: replica };
        eventually("the replica has all data", SOON, || async {
            pair.info(ports[1]).await.contains("master_link_status:up").then_some(())
        })
        .await;
        pair
    }

    async fn command(&self, port: u16, words: &[&str]) -> redis::Value {
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
    }

    async fn info(&self, port: u16) -> String {
        redis::from_redis_value(self.command(port, &["INFO", "replication"]).await).unwrap()
    }

    /// Starts a replica of the replica.
    async fn add_follower(&self) -> OwnRedis {
        let (port, of) = (free_port(), self.ports[1].to_string());
        let words = ["--port", &port.to_string(), "--bind", "127.0.0.1", "--replicaof", "127.0.0.1", &of];
        let follower = OwnRedis::start_with(Path::new("redis-server"), &self.place, port, &[], &words).await;
        eventually("it has all data", SOON, || async {
            self.info(port).await.contains("master_link_status:up").then_some(())
        })
        .await;
        follower
    }

    /// The offset that was given last in the log of a shard.
    async fn log_end(&self, port: u16, shard: i64) -> String {
        let script = "return redis.call('XINFO', 'STREAM', KEYS[1])[8]";
        let end = self.command(port, &["EVAL", script, "1", &key(shard, "log")]).await;
        redis::from_redis_value(end).unwrap()
    }

    /// Has the replica take the master's place, when it has everything.
    pub(super) async fn fail_over(&self) {
        self.command(self.ports[0], &["FAILOVER"]).await;
        eventually("the replica is the master", SOON, || async {
            self.info(self.ports[1]).await.contains("role:master").then_some(())
        })
        .await;
    }
}

/// Plaudit on a pair that Sentinel names.
async fn by_sentinel(program: &Path) -> (Pair, Sentinel, Server) {
    let pair = Pair::start(program).await;
    let sentinel = Sentinel::start(&pair.place, program, pair.ports[0]).await;
    sentinel.knows_a_replica().await;
    let server = Server::start(&["--redis-url", &sentinel.url()]);
    (pair, sentinel, server)
}

async fn two_notes(server: &Server) -> [i64; 2] {
    [server.stores().new_note().await, server.stores().new_note().await]
}

/// Likes throughout a planned failover. Nobody's like is lost, and no epoch is raised.
async fn is_unnoticed(server: &Server, failing_over: impl Future<Output = ()>) {
    let notes = two_notes(server).await;
    like_when_it_works(server, "ann", &notes).await;
    until_each_has(server, &notes, 1).await;
    let before = epochs(server).await;
    let mut socket = watch(server, &notes).await;
    let liking = async {
        for fan in 0..10 {
            like_when_it_works(server, &format!("fan {fan}"), &notes).await;
        }
    };
    tokio::join!(failing_over, liking, never_falls(&mut socket, &notes, 11));
    like_when_it_works(server, "bob", &notes).await;
    until_each_has(server, &notes, 12).await;
    assert_eq!(epochs(server).await, before);
    assert!(server.log().contains("Redis changed without a loss: the counters stay"));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_death_of_a_master_likes_go_to_the_one_that_sentinel_names() {
    let (pair, _sentinel, server) = by_sentinel(Path::new("redis-server")).await;
    let notes = two_notes(&server).await;
    like_when_it_works(&server, "ann", &notes).await;
    until_each_has(&server, &notes, 1).await;
    drop(pair.master);
    like_when_it_works(&server, "bob", &notes).await;
    until_each_has(&server, &notes, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_login_of_the_url_is_that_of_redis_and_of_sentinels_that_want_one() {
    const USER: &str = "user default off\nuser plaudit on >secret ~* &* +@all\n";
    let place = Arc::new(Place::new());
    let users = ["--user", "default", "off", "--user", "plaudit", "on", ">secret", "~*", "&*", "+@all"];
    for login in ["", USER] {
        let [master, port] = [free_port(), free_port()];
        let own = ["--port", &master.to_string(), "--bind", "127.0.0.1"];
        let _master = OwnRedis::start(&place, master, &[&own[..], &users].concat()).await;
        let lines = format!(
            "port {port}\nsentinel monitor plaudit 127.0.0.1 {master} 1\n\
             sentinel auth-user plaudit plaudit\nsentinel auth-pass plaudit secret\n{login}"
        );
        let _sentinel = Sentinel::start_with(&place, Path::new("redis-server"), port, &lines).await;
        let url = |password| format!("redis+sentinel://plaudit:{password}@127.0.0.1:{port}/plaudit");
        let refused = refused_start(&["--redis-url", &url("wrong")]);
        assert!(refused.contains("refuses the user or the password of redis_url"), "{refused}");
        let server = Server::start(&["--redis-url", &url("secret")]);
        let notes = two_notes(&server).await;
        like_when_it_works(&server, "ann", &notes).await;
        until_each_has(&server, &notes, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinated_failover_by_sentinel_loses_no_like_and_raises_no_epoch() {
    let (_pair, sentinel, server) = by_sentinel(&valkey()).await;
    is_unnoticed(&server, sentinel.fail_over(&["coordinated"])).await;
}

/// The former master is told seconds later, so what it took meanwhile is lost, and nobody can tell whether it
/// took anything.
#[tokio::test(flavor = "multi_thread")]
async fn an_uncoordinated_failover_by_sentinel_raises_epochs_and_leaves_counts_equal_to_rows() {
    let (_pair, sentinel, server) = by_sentinel(Path::new("redis-server")).await;
    let notes = two_notes(&server).await;
    like_when_it_works(&server, "ann", &notes).await;
    until_each_has(&server, &notes, 1).await;
    let before = epochs(&server).await;
    sentinel.fail_over(&[]).await;
    eventually("both shards have other epochs", SOON, || async {
        let after = epochs(&server).await;
        (after[0] > before[0] && after[1] > before[1]).then_some(())
    })
    .await;
    like_when_it_works(&server, "bob", &notes).await;
    until_each_has(&server, &notes, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_leads_to_the_promoted_replica_loses_no_like_and_raises_no_epoch() {
    let pair = Pair::start(Path::new("redis-server")).await;
    let proxy = Proxy::start(pair.ports[0]).await;
    let server = Server::start(&["--redis-url", &format!("redis://127.0.0.1:{}", proxy.port)]);
    is_unnoticed(&server, async {
        pair.fail_over().await;
        proxy.lead_to(pair.ports[1]);
    })
    .await;
}

/// The former master does not know that it was replaced, and takes a like that was on its way.
#[tokio::test(flavor = "multi_thread")]
async fn a_like_that_a_replaced_master_took_is_no_success_when_its_successor_gives_the_offset_again() {
    let pair = Pair::start(Path::new("redis-server")).await;
    let _follower = pair.add_follower().await;
    let proxy = Proxy::start(pair.ports[0]).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port);
    let server = Server::start(&["--redis-url", &url, "--redis-replicas", "1", "--reply-wait", "30s"]);
    let [liked, _] = two_notes(&server).await;
    let ann = server.stores().new_subject_of_shard(0).await;
    let bob = server.stores().new_subject_of_shard(0).await;
    like_when_it_works(&server, &ann, &[liked]).await;
    let before = pair.log_end(pair.ports[0], 0).await;

    let zoe = server.client(&server.stores().new_subject_of_shard(0).await);
    pair.command(pair.ports[1], &["REPLICAOF", "NO", "ONE"]).await;
    let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
    let (refused, given_again) = tokio::join!(zoe.error(query, json!({ "n": note(liked) })), async {
        let lost = eventually("the former master takes the like", SOON, || async {
            let end = pair.log_end(pair.ports[0], 0).await;
            (end != before).then_some(end)
        })
        .await;
        proxy.lead_to(pair.ports[1]);
        like_when_it_works(&server, &bob, &[liked]).await;
        pair.log_end(pair.ports[1], 0).await == lost
    });
    assert!(given_again, "the successor began another generation");
    assert_eq!(refused["extensions"]["code"], "RETRY_LATER");
    until_each_has(&server, &[liked], 2).await;
    assert_eq!(zoe.note(&note(liked)).await["viewerHasLiked"], false);
    assert_eq!(zoe.like(&note(liked)).await["changed"], true);
    until_each_has(&server, &[liked], 3).await;
}
