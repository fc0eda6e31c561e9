//! Plaudit on a cluster of three masters and three replicas.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use support::{
    Client, OwnRedis, Place, RedisCluster, SOON, Server, Socket, eventually, free_port, key, note,
    refused_start,
};

pub(super) const SHARDS: usize = 8;

pub(super) fn start_on(cluster: &RedisCluster) -> Server {
    Server::start(&["--redis-url", &cluster.url(), "--virtual-shards", &SHARDS.to_string()])
}

/// A user of a shard.
pub(super) async fn client_of_shard(server: &Server, shard: i64) -> Client {
    let id = server.stores().new_user_of(shard, SHARDS as i64).await;
    server.client(&format!("test {id}"))
}

/// Notes of all shards.
pub(super) async fn notes(server: &Server) -> Vec<i64> {
    let mut notes = Vec::new();
    for _ in 0..2 * SHARDS {
        notes.push(server.stores().new_note().await);
    }
    notes
}

/// Waits until each note has this many likes in rows, in totals, and for everybody who asks.
pub(super) async fn until_each_has(server: &Server, notes: &[i64], likes: i64) {
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

/// Receives until each note has this many likes. Versions rise, and counts never fall.
pub(super) async fn never_falls(socket: &mut Socket, notes: &[i64], likes: i64) {
    let mut seen: Vec<(String, i64, i64)> = notes.iter().map(|id| (note(*id), 0, 0)).collect();
    while seen.iter().any(|(_, _, shown)| *shown < likes) {
        let counts = socket.data().await["noteCountsChanged"].clone();
        let version = &counts["countsVersion"];
        let version = version.as_i64().or_else(|| version.as_str()?.parse().ok()).unwrap();
        let last = seen.iter_mut().find(|(id, ..)| *id == counts["id"].as_str().unwrap()).unwrap();
        let shown = counts["likeCount"].as_i64().unwrap();
        assert!(version > last.1 && shown >= last.2 && shown <= likes, "{counts} after {last:?}");
        (last.1, last.2) = (version, shown);
    }
}

/// Likes each note, again and again until there is a reply.
pub(super) async fn like_when_it_works(server: &Server, user: &str, notes: &[i64]) {
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
    const USUAL: usize = 16;
    let cluster = RedisCluster::start(3).await;
    let server = Server::start(&["--redis-url", &cluster.url()]);
    assert_eq!(epochs(&server).await.len(), USUAL);
    let mut ports = Vec::new();
    for shard in 0..USUAL {
        ports.push(cluster.master_of(&key(shard, "meta")).await.0.port);
    }
    let masters: BTreeSet<u16> = ports.iter().copied().collect();
    for master in &masters {
        let shards = ports.iter().filter(|port| *port == master).count();
        assert!((5..=6).contains(&shards), "{ports:?}");
    }
    assert_eq!(masters.len(), 3);

    let notes = notes(&server).await;
    let ids: Vec<String> = notes.iter().map(|id| note(*id)).collect();
    let mut socket = watch(&server, &notes).await;
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
async fn a_page_costs_one_round_trip_per_node_where_it_costs_one_on_a_single_server() {
    let cluster = RedisCluster::start(3).await;
    let mut server = start_on(&cluster);
    let notes = notes(&server).await;
    let ids: Vec<String> = notes.iter().copied().map(note).collect();
    let page = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { title likeCount viewerHasLiked } } }";
    let variables = json!({ "ids": ids });
    let reader = server.client("a reader");
    for id in &ids {
        reader.like(id).await;
    }
    until_each_has(&server, &notes, 1).await;
    server.stop();
    server.start_again();
    let reader = server.client("a reader");
    let read = async || {
        let reply = reader.send(page, variables.clone()).await;
        let liked = |read: &&Value| read["likeCount"] == 1 && read["viewerHasLiked"] == true;
        let read = reply.body["data"]["nodes"].as_array().unwrap_or_else(|| panic!("{}", reply.body));
        assert_eq!(read.iter().filter(liked).count(), ids.len(), "{}", reply.body);
        reply
    };
    // Texts and counts of notes on three nodes; the viewer's id, and the viewer's state, which are on one each.
    let cold = read().await;
    assert!(cold.redis_round_trips <= 3 + 3 + 2, "{cold:?}");
    let warm = read().await;
    assert!(warm.redis_round_trips <= 1, "{warm:?}");
}

/// For each shard a user, and a note whose author is of the same shard.
async fn likers_of(server: &Server, shards: impl IntoIterator<Item = i64>) -> Vec<(Client, String)> {
    let mut likers = Vec::new();
    for shard in shards {
        let liked = server.stores().new_note_and_author_of(shard, SHARDS as i64).await;
        likers.push((client_of_shard(server, shard).await, note(liked)));
    }
    likers
}

/// Users who like and unlike a note each, until told to stop. None is ever refused. Returns
/// how often all did.
async fn like_without_a_refusal(likers: &[(Client, String)], stop: &AtomicBool) -> usize {
    let mut rounds = 0;
    while !stop.load(Relaxed) {
        for (liker, note) in likers {
            for action in ["likeNote", "unlikeNote"] {
                liker.act(action, json!({ "noteId": note }), "changed").await;
            }
        }
        rounds += 1;
    }
    rounds
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_death_of_a_master_its_shards_act_again_and_the_others_never_stopped() {
    let cluster = RedisCluster::start(3).await;
    let server = start_on(&cluster);
    let notes = notes(&server).await;
    for id in &notes {
        server.client("ann").like(&note(*id)).await;
    }
    until_each_has(&server, &notes, 1).await;

    let dead = cluster.master_of(&key(0, "meta")).await.0.port;
    let mut others = Vec::new();
    for shard in 0..SHARDS as i64 {
        if cluster.master_of(&key(shard, "meta")).await.0.port != dead {
            others.push(shard);
        }
    }
    let likers = likers_of(&server, others).await;
    let stop = AtomicBool::new(false);
    let dying = async {
        cluster.kill(dead);
        like_when_it_works(&server, "bob", &notes).await;
        stop.store(true, Relaxed);
    };
    let (rounds, ()) = tokio::join!(like_without_a_refusal(&likers, &stop), dying);
    assert!(rounds > 1, "the others acted {rounds} times");
    until_each_has(&server, &notes, 2).await;
    cluster.start_again(dead).await;
    for id in &notes {
        server.client("cid").like(&note(*id)).await;
    }
    until_each_has(&server, &notes, 3).await;
}

/// Epochs of all shards.
pub(super) async fn epochs(server: &Server) -> Vec<i64> {
    let sql = server.stores().sql().await;
    sqlx::query_scalar("SELECT epoch FROM shard ORDER BY id").fetch_all(&sql).await.unwrap()
}

/// Watches the counts of notes.
pub(super) async fn watch(server: &Server, notes: &[i64]) -> Socket {
    let mut socket = server.socket("watcher").await;
    let ids: Vec<String> = notes.iter().map(|id| note(*id)).collect();
    socket.watch_notes(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    socket
}

/// Each replica takes its master's place, while users like and one watches.
#[tokio::test(flavor = "multi_thread")]
async fn planned_failovers_refuse_no_like_and_raise_no_epoch_and_a_subscriber_sees_only_rising_versions() {
    let cluster = RedisCluster::start(3).await;
    let server = start_on(&cluster);
    let notes = notes(&server).await;
    like_when_it_works(&server, "ann", &notes).await;
    until_each_has(&server, &notes, 1).await;
    let before = epochs(&server).await;
    let mut masters = BTreeSet::new();
    for shard in 0..SHARDS {
        masters.insert(cluster.master_of(&key(shard, "meta")).await.0.port);
    }
    let mut socket = watch(&server, &notes).await;
    let (likers, stop) = (likers_of(&server, 0..SHARDS as i64).await, AtomicBool::new(false));

    let failovers = async {
        for master in &masters {
            cluster.fail_over(*master).await;
            like_when_it_works(&server, &format!("fan of {master}"), &notes).await;
        }
        stop.store(true, Relaxed);
    };
    let likes = 2 + masters.len() as i64;
    let watching = async {
        let mut seen = BTreeMap::<String, (i64, i64)>::new();
        while seen.len() < notes.len() || seen.values().any(|(_, shown)| *shown < likes) {
            let counts = socket.data().await["noteCountsChanged"].clone();
            let id = counts["id"].as_str().unwrap().to_owned();
            let version = &counts["countsVersion"];
            let version = version.as_i64().or_else(|| version.as_str()?.parse().ok()).unwrap();
            let now = (version, counts["likeCount"].as_i64().unwrap());
            let last = seen.insert(id.clone(), now).unwrap_or_default();
            assert!(now.0 >= last.0 && now.1 >= last.1, "{id}: {now:?} after {last:?}");
        }
    };
    let bob = like_when_it_works(&server, "bob", &notes);
    tokio::join!(failovers, bob, watching, like_without_a_refusal(&likers, &stop));
    until_each_has(&server, &notes, likes).await;
    assert_eq!(epochs(&server).await, before);
    assert!(server.log().contains("Redis changed without a loss: the counters stay"));
}

/// Counts of one shard are loaded with the logs of all, so they cannot be while another shard is away.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_while_another_shards_node_is_away_reaches_subscribers_when_it_is_back() {
    let cluster = RedisCluster::start(3).await;
    let server = start_on(&cluster);
    let stores = server.stores();
    let (dead, _) = cluster.master_of(&key(1, "meta")).await;
    let mut notes = notes(&server).await;
    let mut of_others = Vec::new();
    for id in notes.drain(..) {
        let shard = id as usize % SHARDS;
        if cluster.master_of(&key(shard, "meta")).await.0.port != dead.port {
            of_others.push((id, shard));
        }
    }
    let (id, shard) = of_others[0];
    let mut socket = server.socket("watcher").await;
    socket.watch_notes(&[&note(id)]).await;
    assert_eq!(socket.data().await["noteCountsChanged"]["likeCount"], 0);

    let replica = cluster.replica_of(dead).await.unwrap().port;
    cluster.kill(replica);
    cluster.kill(dead.port);
    eventually("the server does not hear of the dead node's shards", SOON, || async {
        (server.metric("plaudit_hub_hearing").await == 0.0).then_some(())
    })
    .await;
    let sql = stores.sql().await;
    let total = "UPDATE note_counts SET likes = 7 WHERE id = $1";
    sqlx::query(total).bind(id).execute(&sql).await.unwrap();
    let invalidation =
        "INSERT INTO invalidation (shard, names, reason) VALUES ($1, 'note_' || $2::bigint, 'a test')";
    sqlx::query(invalidation).bind(shard as i16).bind(id).execute(&sql).await.unwrap();
    eventually("Redis has forgotten the counts", SOON, || async {
        let left = stores.number("SELECT count(*) FROM invalidation WHERE $1 > 0", id).await;
        (left == 0).then_some(())
    })
    .await;
    cluster.start_again(dead.port).await;
    socket.note_until(|shown| shown["likeCount"] == 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_becomes_a_cluster_of_one_node_keeps_its_data_and_its_running_processes() {
    let place = Arc::new(Place::new());
    let (port, bus) = (free_port(), free_port());
    let own = ["--port", &port.to_string(), "--bind", "127.0.0.1"];
    let redis = OwnRedis::start(&place, port, &own).await;
    let url = format!("redis://127.0.0.1:{port}");
    let server = Server::start(&["--redis-url", &url]);
    let notes = [server.stores().new_note().await, server.stores().new_note().await];
    like_when_it_works(&server, "ann", &notes).await;
    drop(redis);

    let bus = bus.to_string();
    let cluster =
        ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-require-full-coverage", "no"];
    let _redis = OwnRedis::start(&place, port, &[&own[..], &cluster].concat()).await;
    like_when_it_works(&server, "bob", &notes).await;
    // What commands do for several shards of a server, they do shard by shard now: folds and rankings.
    for fan in 0..20 {
        let fan = server.client(&format!("fan {fan}"));
        let [one, two] = notes.map(note);
        tokio::join!(fan.like(&one), fan.like(&two));
    }
    until_each_has(&server, &notes, 22).await;
    for (hottest, fans) in [(notes[1], 20..22), (notes[0], 22..26)] {
        for fan in fans {
            server.client(&format!("fan {fan}")).like(&note(hottest)).await;
        }
        eventually("it is the hottest note", SOON, || async {
            let hot = "{ hotNotes(first: 1, orderBy: HOUR) { nodes { id } } }";
            let reply = server.client("ann").send(hot, json!({})).await.body;
            (reply["data"]["hotNotes"]["nodes"][0]["id"] == note(hottest)).then_some(())
        })
        .await;
    }
    assert!(!server.log().contains("ERROR"), "{}", server.log());
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
