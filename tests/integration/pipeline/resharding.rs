//! Resharding beside a running server: nothing is lost or counted twice, wherever it is interrupted.

use std::{
    collections::BTreeMap,
    process::Output,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
};

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{Client, RedisCluster, SOON, Server, eventually, note};

/// The points at which a reshard is killed.
const POINTS: [&str; 6] = ["begun", "sealed", "persisted", "copied", "opened", "deleted"];

fn reshard(server: &Server, flags: &[&str], fail_points: &str) -> Output {
    let mut command = server.command();
    command.arg("reshard").args(flags).env("FAILPOINTS", fail_points);
    tokio::task::block_in_place(|| command.output().unwrap())
}

fn reshard_to(server: &Server, shards: &str, flags: &[&str]) {
    let output = reshard(server, &[&["--shards", shards], flags].concat(), "");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, format!("the installation has {shards} shards\n"));
    assert!(error.contains("closed ") && error.contains("persisted the logs of "), "{error}");
}

/// The one line by which a reshard is refused.
fn refused(server: &Server, flags: &[&str]) -> String {
    let output = reshard(server, flags, "");
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    error
        .lines()
        .find(|line| line.starts_with("plaudit: ") || line.starts_with("error: "))
        .unwrap()
        .to_owned()
}

/// Likes, again and again until there is a reply other than RETRY_LATER. Returns whether the edge changed.
async fn like(client: &Client, note: &str, key: &str) -> bool {
    let input = json!({ "noteId": note, "idempotencyKey": key });
    eventually("likes work again", SOON, || async {
        let query = "mutation ($input: LikeNoteInput!) { likeNote(input: $input) { changed } }";
        // The server closes connections when it takes the new number over.
        let reply = client.try_send(query, json!({ "input": input })).await.ok()?.body;
        if let Some(code) = reply["errors"][0]["extensions"]["code"].as_str() {
            assert_eq!(code, "RETRY_LATER", "{reply}");
        }
        reply["data"]["likeNote"]["changed"].as_bool()
    })
    .await
}

async fn until_rows_totals_and_answers_are(server: &Server, id: i64, likes: i64) {
    let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
    let total = "SELECT likes FROM note_counts WHERE id = $1";
    eventually("the likes are in rows, totals and answers", SOON, || async {
        let stores = server.stores();
        let query = "query ($n: ID!) { note(id: $n) { likeCount } }";
        let reply = server.anonymous().try_send(query, json!({ "n": note(id) })).await.ok()?.body;
        let found = (stores.number(rows, id).await, stores.number(total, id).await);
        (found == (likes, likes) && reply["data"]["note"]["likeCount"] == likes).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_2_shards_to_16_and_back_under_likes_each_counts_once_and_versions_only_rise() {
    let server = Server::start(&["--virtual-shards", "2"]);
    let stores = server.stores();
    let mut notes = Vec::new();
    for _ in 0..6 {
        notes.push(stores.new_note().await);
    }
    let (is_over, likes) = (AtomicBool::new(false), AtomicI64::new(0));
    let fans = (0..4).map(|fan| {
        let (server, notes, is_over, likes) = (&server, &notes, &is_over, &likes);
        async move {
            for round in 0.. {
                if is_over.load(Relaxed) {
                    return;
                }
                let client = server.client(&format!("fan {fan} of round {round}"));
                for id in notes {
                    like(&client, &note(*id), &format!("{round} {id}")).await;
                }
                likes.fetch_add(1, Relaxed);
            }
        }
    });
    let versions = Mutex::new(BTreeMap::<String, (i64, i64)>::new());
    let watcher = async {
        let ids: Vec<String> = notes.iter().map(|id| note(*id)).collect();
        while !is_over.load(Relaxed) {
            let mut socket = server.socket("watcher").await;
            socket.watch_notes(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
            while let Ok(Some(message)) =
                tokio::time::timeout(std::time::Duration::from_millis(500), socket.try_receive()).await
            {
                let counts = &message["payload"]["data"]["noteCountsChanged"];
                let Some(id) = counts["id"].as_str() else { continue };
                let version = counts["countsVersion"]
                    .as_i64()
                    .or_else(|| counts["countsVersion"].as_str()?.parse().ok());
                let now = (version.unwrap_or_default(), counts["likeCount"].as_i64().unwrap());
                let before = versions.lock().unwrap().insert(id.to_owned(), now).unwrap_or_default();
                assert!(now.0 >= before.0 && now.1 >= before.1, "{id}: {now:?} after {before:?}");
            }
        }
    };
    let resharding = async {
        for shards in ["16", "2"] {
            let before = likes.load(Relaxed);
            eventually("likes arrive", SOON, || async { (likes.load(Relaxed) > before + 2).then_some(()) })
                .await;
            reshard_to(&server, shards, &[]);
            let before = likes.load(Relaxed);
            eventually("likes go on", SOON, || async { (likes.load(Relaxed) > before + 4).then_some(()) })
                .await;
        }
        is_over.store(true, Relaxed);
    };
    tokio::join!(join_all(fans), watcher, resharding);
    assert_eq!(versions.lock().unwrap().len(), notes.len());
    for id in &notes {
        until_rows_totals_and_answers_are(&server, *id, likes.load(Relaxed)).await;
    }
    assert_eq!(stores.number("SELECT count(*) FROM shard WHERE id >= $1", 0).await, 2);
    let left: Vec<String> =
        redis::cmd("KEYS").arg("*:log").query_async(&mut stores.redis().await).await.unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reshard_that_is_killed_at_any_step_goes_on_and_a_repeated_action_changes_nothing() {
    let server = Server::start(&["--virtual-shards", "2"]);
    let id = server.stores().new_note().await;
    let ann = server.client("ann");
    let mut likes = 0;
    for (round, point) in POINTS.iter().enumerate() {
        let fan = server.client(&format!("fan {round}"));
        assert!(like(&fan, &note(id), "a key").await);
        likes += 1;
        let before = ann
            .data("query ($n: ID!) { note(id: $n) { likeCount countsVersion } }", json!({ "n": note(id) }))
            .await;
        let shards = if round % 2 == 0 { "16" } else { "2" };
        let killed = reshard(&server, &["--shards", shards], &format!("reshard.{point}=return(die)"));
        assert!(!killed.status.success(), "{point}: it was not killed");
        reshard_to_the_end(&server, shards);
        // The first call is repeated: it is known, and changes nothing.
        assert!(like(&fan, &note(id), "a key").await, "{point}: the answer of before");
        until_rows_totals_and_answers_are(&server, id, likes).await;
        let after = ann
            .data("query ($n: ID!) { note(id: $n) { likeCount countsVersion } }", json!({ "n": note(id) }))
            .await;
        let version = |counts: &serde_json::Value| {
            let version = &counts["note"]["countsVersion"];
            version.as_i64().or_else(|| version.as_str()?.parse().ok()).unwrap()
        };
        assert!(version(&after) >= version(&before), "{point}: {after} after {before}");
    }
}

fn reshard_to_the_end(server: &Server, shards: &str) {
    let output = reshard(server, &["--shards", shards], "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reshard_that_is_given_up_leaves_all_as_it_was() {
    let server = Server::start(&["--virtual-shards", "2"]);
    let id = server.stores().new_note().await;
    assert!(like(&server.client("ann"), &note(id), "one").await);
    assert!(!reshard(&server, &["--shards", "4"], "reshard.copied=return(die)").status.success());
    let input = json!({ "noteId": note(id) });
    let refused_for_now = server.client("bob").try_act("likeNote", input, "changed").await;
    assert_eq!(refused_for_now, Err("RETRY_LATER".to_owned()));
    assert!(refused(&server, &["--shards", "8"]).contains("a reshard to 4 shards is under way"));
    assert!(reshard(&server, &["--abort"], "").status.success());
    assert!(like(&server.client("bob"), &note(id), "two").await);
    assert!(like(&server.client("ann"), &note(id), "one").await, "the answer of before");
    until_rows_totals_and_answers_are(&server, id, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_reshard_is_refused_in_one_line() {
    let server = Server::shared();
    assert!(refused(server, &["--shards", "0"]).contains("0"));
    assert!(refused(server, &["--shards", "1025"]).contains("1025"));
    assert!(refused(server, &["--shards", "2"]).contains("has 2 shards already"));
    assert!(refused(server, &["--abort"]).contains("no reshard is under way"));
    let nowhere = "redis://127.0.0.1:1";
    assert!(refused(server, &["--shards", "4", "--redis-url", nowhere]).contains("cannot use Redis at"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_gets_more_shards_and_counts_each_like_once() {
    let cluster = RedisCluster::start(3).await;
    let server = Server::start(&["--redis-url", &cluster.url(), "--virtual-shards", "2"]);
    let mut notes = Vec::new();
    for _ in 0..8 {
        notes.push(server.stores().new_note().await);
    }
    for id in &notes {
        assert!(like(&server.client("ann"), &note(*id), &format!("key {id}")).await);
    }
    let database = server.stores().database_url().to_owned();
    reshard_to(&server, "8", &["--redis-url", &cluster.url(), "--database-url", &database]);
    for id in &notes {
        assert!(like(&server.client("ann"), &note(*id), &format!("key {id}")).await, "the answer of before");
        assert!(like(&server.client("bob"), &note(*id), &format!("key {id}")).await);
        until_rows_totals_and_answers_are(&server, *id, 2).await;
    }
}
