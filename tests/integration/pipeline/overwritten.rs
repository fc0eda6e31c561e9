//! The end of a log is overwritten by entries with the same numbers.

use std::sync::Arc;

use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use support::{
    Client, OwnRedis, Place, Proxy, SOON, Server, Stores, Totals, eventually, free_port, key, note,
};

/// Owners look every fifth of this.
const LEASE: [&str; 2] = ["--lease", "1s"];
/// Replaces the last entry of a stream by another one with the same id.
const OVERWRITE: &str = "local entries = redis.call('XRANGE', KEYS[1], '-', '+')
    redis.call('DEL', KEYS[1])
    for i, entry in ipairs(entries) do
      redis.call('XADD', KEYS[1], entry[1], 'e', i < #entries and entry[2][2] or ARGV[1])
    end
    return entries[#entries][2][2]";

async fn liked(liker: &Client, id: i64) {
    eventually("the like is accepted", SOON, || async {
        let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
        let reply = liker.send(query, json!({ "n": note(id) })).await.body;
        reply["data"]["likeNote"]["changed"].is_boolean().then_some(())
    })
    .await;
}

/// Makes the last event of shard 0, a like of `liker`, one of another note.
async fn overwrite(stores: &Stores, liker: &str, other: i64) {
    let actor = stores.user_of(liker).await;
    let author = stores.number("SELECT author_id FROM note WHERE id = $1", other).await;
    overwrite_with(stores, format!("1 note_like {actor} {other} {author} on 1700000000000")).await;
}

async fn overwrite_with(stores: &Stores, text: String) {
    let mut redis = stores.redis().await;
    let script = redis::Script::new(OVERWRITE);
    let before: String = script.key(key(0, "log")).arg(text).invoke_async(&mut redis).await.unwrap();
    assert!(before.starts_with("1 note_like "), "{before}");
}

async fn until_the_loss_is_told(server: &Server) {
    eventually("the loss is told", SOON, || async {
        let lost = server.metric("plaudit_lost_events_total{shard=\"0\"}").await;
        (lost >= 1.0).then_some(())
    })
    .await;
    assert!(server.log().contains("the log has other entries than those that were read before"));
}

async fn is_right(stores: &Stores, client: &Client, id: i64) -> Totals {
    let shown = client.note(&note(id)).await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.total, totals.redis), (totals.rows, Some(totals.rows)), "note {id}");
    assert_eq!(shown["likeCount"], totals.rows, "note {id}");
    totals
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_overwritten_after_it_was_persisted_begins_a_generation_and_counts_once() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &LEASE);
    let ann = stores.new_subject_of_shard(0).await;
    let liker = server.client(&ann);
    let [first, last, other] = [stores.new_note().await, stores.new_note().await, stores.new_note().await];
    liked(&liker, first).await;
    liked(&liker, last).await;
    stores.rest().await;
    let before = liker.note(&note(last)).await["countsVersion"].as_u64().unwrap();

    overwrite(&stores, &ann, other).await;
    until_the_loss_is_told(&server).await;
    liked(&server.client(&stores.new_subject_of_shard(0).await), other).await;
    stores.rest().await;
    for id in [first, last, other] {
        assert_eq!(is_right(&stores, &liker, id).await.rows, 1);
    }
    let shown = liker.note(&note(last)).await;
    assert!(shown["countsVersion"].as_u64().unwrap() > before);
    assert_eq!(shown["viewerHasLiked"], true);
    assert_eq!(liker.note(&note(other)).await["viewerHasLiked"], false, "it is in no row");
}

/// PostgreSQL does not answer meanwhile, so only the counters have what was overwritten.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_overwritten_before_it_was_persisted_leaves_counters_equal_to_rows() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &LEASE);
    let ann = stores.new_subject_of_shard(0).await;
    let liker = server.client(&ann);
    let [first, last, other] = [stores.new_note().await, stores.new_note().await, stores.new_note().await];
    for id in [first, last, other] {
        liker.note(&note(id)).await;
    }
    liked(&liker, first).await;
    stores.rest().await;
    stores.stall("postgres");
    liked(&liker, last).await;
    eventually("it is folded", SOON, || async {
        let query = "query ($n: ID!) { note(id: $n) { likeCount } }";
        let reply = liker.send(query, json!({ "n": note(last) })).await.body;
        (reply["data"]["note"]["likeCount"] == 1).then_some(())
    })
    .await;

    let mut redis = stores.redis().await;
    let entries: Vec<(String, Vec<String>)> = redis::cmd("XREVRANGE")
        .arg(key(0, "log"))
        .arg(&["+", "-", "COUNT", "1"])
        .query_async(&mut redis)
        .await
        .unwrap();
    let text = &entries[0].1[1];
    // Another note, and the same author: what tells is the entry alone.
    overwrite_with(&stores, text.replace(&format!(" {last} "), &format!(" {other} "))).await;
    eventually("the owner has noticed", SOON, || async {
        server.log().contains("of the log is another one than before").then_some(())
    })
    .await;
    stores.wake("postgres");
    until_the_loss_is_told(&server).await;
    stores.rest().await;
    let rows = [
        is_right(&stores, &liker, first).await.rows,
        is_right(&stores, &liker, last).await.rows,
        is_right(&stores, &liker, other).await.rows,
    ];
    assert!(rows == [1, 1, 0] || rows == [1, 0, 1], "{rows:?}: of two events with one number, one counts");
}

/// A master whose replica took its place comes back, without having been told. Both gave the same number to
/// different likes.
#[tokio::test(flavor = "multi_thread")]
async fn a_former_master_that_comes_back_with_another_end_of_the_log_leaves_own_likes_and_counts_right() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let place = Arc::new(Place::new());
    let (first, second) = (free_port(), free_port());
    let (first_text, second_text) = (first.to_string(), second.to_string());
    let _former = OwnRedis::start(&place, first, &["--port", &first_text, "--bind", "127.0.0.1"]).await;
    let flags = ["--port", &second_text, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"];
    let follow = [&flags[..], &["--replicaof", "127.0.0.1", &first_text]].concat();
    let _replica = OwnRedis::start(&place, second, &follow).await;
    let proxy = Proxy::start(first).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port);
    let flags = ["--redis-url", &url, "--database-url", stores.database_url(), "--lease", "1s"];
    let mut server = Server::start(&flags);
    let api = Server::start(&[&flags[..], &["--roles", "api"]].concat());
    let ann = stores.new_subject_of_shard(0).await;
    let mut notes = Vec::new();
    for _ in 0..4 {
        notes.push(stores.new_note().await);
    }
    liked(&server.client(&ann), notes[0]).await;
    until_persisted(&stores, notes[0]).await;
    let (former, replica) = (connect(first).await, connect(second).await);
    server.stop();
    eventually("the replica has the first like", SOON, || async {
        let (end, has) = (last_id(&former).await, last_id(&replica).await);
        (end.is_some() && end == has).then_some(())
    })
    .await;
    let () = redis::cmd("REPLICAOF").arg("NO").arg("ONE").query_async(&mut replica.clone()).await.unwrap();
    // Only the former master has this one, and nobody persists it.
    liked(&api.client(&ann), notes[1]).await;
    proxy.lead_to(second);
    server.start_again();
    liked(&server.client(&ann), notes[2]).await;
    until_persisted(&stores, notes[2]).await;
    assert_eq!(last_id(&former).await, last_id(&replica).await, "both gave the same number");

    proxy.lead_to(first);
    until_the_loss_is_told(&server).await;
    let liker = server.client(&ann);
    liked(&liker, notes[3]).await;
    until_persisted(&stores, notes[3]).await;
    for (id, likes) in notes.iter().zip([1, 0, 1, 1]) {
        eventually("own state and counts are those of the rows", SOON, || async {
            let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
            let total = "SELECT likes FROM note_counts WHERE id = $1";
            assert_eq!(stores.number(rows, *id).await, likes, "note {id}");
            let query = "query ($n: ID!) { note(id: $n) { likeCount viewerHasLiked } }";
            let shown = liker.send(query, json!({ "n": note(*id) })).await.body["data"]["note"].clone();
            let is_right = stores.number(total, *id).await == likes && shown["likeCount"] == likes;
            (is_right && shown["viewerHasLiked"] == (likes == 1)).then_some(())
        })
        .await;
    }
}

async fn until_persisted(stores: &Stores, id: i64) {
    eventually("the like is persisted", SOON, || async {
        let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
        (stores.number(rows, id).await == 1).then_some(())
    })
    .await;
}

async fn connect(port: u16) -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

/// The id of the last entry of shard 0.
async fn last_id(redis: &redis::aio::MultiplexedConnection) -> Option<String> {
    let mut ask = redis::cmd("XREVRANGE");
    ask.arg(key(0, "log")).arg(&["+", "-", "COUNT", "1"]);
    let entries: Vec<(String, Vec<String>)> = ask.query_async(&mut redis.clone()).await.ok()?;
    entries.into_iter().next().map(|(id, _)| id)
}
