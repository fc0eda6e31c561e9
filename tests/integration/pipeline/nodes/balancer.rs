//! Behind a balancer that probes as our manifest says: what goes on in an outage goes on for clients of the balancer.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::{
    Balancer, OwnPostgres, Place, RedisCluster, SOON, Server, Socket, Stores, eventually, key, note,
    raw::{Raw, post},
    token,
};

const SHARDS: usize = 6;
/// Where everybody who may connect is trusted.
const TRUST: &str = "host all all 127.0.0.1/32 trust";
/// Twenty probes of the balancer, which needs two that fail.
const LONG_ENOUGH: Duration = Duration::from_secs(2);

struct Site {
    balancer: Balancer,
    apis: [Server; 2],
    notes: Vec<String>,
}

impl Site {
    /// A mutation of a note by the balancer, whose answer must be Plaudit's: the balancer's own has no id of a request.
    async fn send(&self, user: &str, mutation: &str, note: &str) -> Value {
        let query = format!("mutation ($n: ID!) {{ {mutation}(input: {{ noteId: $n }}) {{ changed }} }}");
        let body = json!({ "query": query, "variables": { "n": note } }).to_string();
        let answer = Raw::of(post(&self.balancer.url, body).bearer_auth(token(user))).await;
        let said = String::from_utf8_lossy(&answer.bytes).into_owned();
        assert!(answer.status == 200 && answer.header("x-request-id").is_some(), "{} {said}", answer.status);
        answer.json()
    }

    /// Takes likes of all notes back, and gives them again.
    async fn like_again(&self, user: &str) {
        for mutation in ["unlikeNote", "likeNote"] {
            for note in &self.notes {
                let answer = self.send(user, mutation, note).await;
                assert_eq!(answer["data"][mutation]["changed"], true, "{answer}");
            }
        }
    }

    /// Subscribes to all notes by a new socket.
    async fn watch(&self) -> Socket {
        let mut socket = Socket::open(&self.balancer.url, Some(token("ann"))).await;
        let notes: Vec<&str> = self.notes.iter().map(String::as_str).collect();
        socket.watch_notes(&notes).await;
        socket
    }

    /// Whoever comes now is told that all notes have this many likes.
    async fn are_shown(&self, likes: u64) {
        let (mut socket, mut behind) = (self.watch().await, self.notes.clone());
        while !behind.is_empty() {
            let counts = socket.data().await["noteCountsChanged"].clone();
            behind.retain(|note| counts["id"] != *note || counts["likeCount"] != likes);
        }
    }

    async fn until_status_is(&self, status: u16) {
        for api in &self.apis {
            api.until_status_is(status).await;
        }
    }

    /// Both processes say that something is wrong, for as long as a balancer needs to notice it and longer.
    /// Likes, counts and new sockets go on meanwhile.
    async fn goes_on(&self, likes: u64) {
        self.until_status_is(503).await;
        let began = Instant::now();
        while began.elapsed() < LONG_ENOUGH {
            self.like_again("ann").await;
            self.are_shown(likes).await;
        }
        self.until_status_is(503).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_balancer_likes_counts_and_new_sockets_go_on_without_postgresql_pipelines_or_a_master() {
    let place = Arc::new(Place::new());
    let cluster = RedisCluster::start(3).await;
    let mut postgres = OwnPostgres::start(&place, TRUST, &[]).await;
    let database = format!("postgres://plaudit@127.0.0.1:{}/plaudit", postgres.port);
    let nodes = cluster.nodes().iter().map(|node| node.port).collect();
    let stores = Stores::elsewhere(&cluster.url(), nodes, &database);
    let shards = SHARDS.to_string();
    let start =
        |role| Server::start_on(&stores, &["--roles", role, "--virtual-shards", &shards, "--lease", "2s"]);
    let mut pipelines = [start("pipeline"), start("pipeline")];
    let apis = [start("api"), start("api")];
    let mut notes = Vec::new();
    for _ in 0..2 * SHARDS {
        notes.push(stores.new_note().await);
    }
    let balancer = Balancer::start(&place, &[&apis[0], &apis[1]]).await;
    let site = Site { balancer, apis, notes: notes.iter().copied().map(note).collect() };
    for user in ["ann", "bob"] {
        for note in &site.notes {
            assert_eq!(site.send(user, "likeNote", note).await["data"]["likeNote"]["changed"], true);
        }
    }
    for api in &site.apis {
        for note in &site.notes {
            api.client("ann").note(note).await; // loads the author's counts, too
        }
    }
    site.are_shown(2).await;

    postgres.kill();
    site.goes_on(2).await;
    postgres.restart(&[]).await;
    site.until_status_is(200).await;

    pipelines.iter_mut().for_each(Server::kill);
    site.until_status_is(503).await;
    let began = Instant::now();
    while began.elapsed() < LONG_ENOUGH {
        // Counts stand still, at whatever they were.
        site.like_again("ann").await;
        site.watch().await.data().await;
    }
    site.until_status_is(503).await;
    for pipeline in &mut pipelines {
        pipeline.start_again();
    }
    site.until_status_is(200).await;
    site.are_shown(2).await;

    let (master, _) = cluster.master_of(&key(0, "meta")).await;
    cluster.kill(master.port);
    // Its shards wait for its replica; the others go on, and so do new sockets. Nobody gets an answer of the balancer.
    for note in &site.notes {
        site.watch().await;
        eventually("the like is accepted", SOON, || async {
            let answer = site.send("cat", "likeNote", note).await;
            let code = &answer["errors"][0]["extensions"]["code"];
            assert!(code.is_null() || code == "RETRY_LATER", "{answer}");
            answer["data"]["likeNote"].is_object().then_some(())
        })
        .await;
    }
    site.until_status_is(200).await;
    site.are_shown(3).await;
    for id in &notes {
        let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
        eventually("the likes are persisted", SOON, || async {
            (stores.number(rows, *id).await == 3).then_some(())
        })
        .await;
    }
}
