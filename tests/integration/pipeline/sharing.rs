//! Processes of the pipeline share the shards evenly when one comes, leaves or is killed, and every shard gets
//! an owner.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use plaudit_embedded_stores::AppendFsync;
use serde_json::Value;
use support::{Server, Stores, eventually, note};

/// For a few takeovers one after another, on a machine that does other things.
const LONG: Duration = Duration::from_secs(60);

/// How many shards each process owns, the most first.
async fn shares(stores: &Stores) -> Vec<i64> {
    let query = "SELECT count(*) FROM shard WHERE lease_until > now() GROUP BY owner ORDER BY 1 DESC";
    sqlx::query_scalar(query).fetch_all(&stores.sql().await).await.unwrap()
}

/// Waits until the shards are shared like this. Returns how many takeovers there were in all.
async fn shared(stores: &Stores, expected: &[i64]) -> i64 {
    eventually("the shards are shared", LONG, || async { (shares(stores).await == expected).then_some(()) })
        .await;
    stores.number("SELECT sum(fence)::bigint FROM shard WHERE id >= $1", 0).await
}

fn pipeline(stores: &Stores, lease: &str) -> Server {
    let flags = ["--roles", "pipeline", "--virtual-shards", "16", "--lease", lease, "--batch-wait", "0s"];
    Server::start_on(stores, &flags)
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_come_and_leave_share_16_shards_evenly_while_likes_go_on() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    // Nothing here waits until a lease expires.
    let _first = pipeline(&stores, "1h");
    let api = Server::start_on(&stores, &["--roles", "api"]);
    let id = stores.new_note().await;
    let n = note(id);
    let (is_over, likes) = (AtomicBool::new(false), AtomicUsize::new(0));
    let liker = async {
        let mut shown = 0;
        while !is_over.load(Relaxed) {
            let user = likes.load(Relaxed);
            let liked = api.client(&format!("likes while shards move: {user}")).like(&n).await;
            let count = liked["note"]["likeCount"].as_i64().unwrap();
            assert!(count >= shown, "{count} after {shown}");
            shown = count;
            likes.fetch_add(1, Relaxed);
        }
    };
    let changes = async {
        assert_eq!(shared(&stores, &[16]).await, 16);
        let second = pipeline(&stores, "1h");
        assert_eq!(shared(&stores, &[8, 8]).await, 16 + 8);
        let mut third = pipeline(&stores, "1h");
        let three = shared(&stores, &[6, 5, 5]).await;
        assert!((16 + 8 + 5..=16 + 8 + 6).contains(&three), "{three} takeovers");
        third.stop();
        let left = shared(&stores, &[8, 8]).await;
        assert!((three + 5..=three + 6).contains(&left), "{left} takeovers after {three}");
        is_over.store(true, Relaxed);
        second
    };
    let (_second, ()) = tokio::join!(changes, liker);
    let likes = likes.load(Relaxed) as i64;
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (likes, likes, Some(likes)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_led_is_led_by_the_others_when_its_lease_has_expired() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let _first = pipeline(&stores, "2s");
    let mut second = pipeline(&stores, "2s");
    shared(&stores, &[8, 8]).await;
    second.kill();
    shared(&stores, &[16]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_while_it_hands_over_shards_loses_them_all_when_its_lease_has_expired() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut first = pipeline(&stores, "2s");
    first.stop();
    assert!(first.try_start(&[("FAILPOINTS", "release.before=return(die)")]));
    shared(&stores, &[16]).await;
    let _second = pipeline(&stores, "2s");
    eventually("the first has ended", LONG, || {
        let has_ended = first.has_ended();
        async move { has_ended.then_some(()) }
    })
    .await;
    shared(&stores, &[16]).await;
}

/// Process and time of the takeover of each shard, as `/status` says.
async fn owners(server: &Server) -> Vec<(String, String)> {
    let reply = reqwest::get(format!("{}/status", server.url)).await.unwrap();
    let report: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
    let shards = report["shards"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    let numbers: Vec<u64> = shards.iter().filter_map(|shard| shard["shard"].as_u64()).collect();
    assert_eq!(numbers, (0..16).collect::<Vec<u64>>());
    shards.iter().map(|shard| (text(&shard["process"]), text(&shard["since"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_explain_say_which_process_owns_each_shard_and_since_when() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let _first = pipeline(&stores, "1h");
    let api = Server::start_on(&stores, &["--roles", "api"]);
    shared(&stores, &[16]).await;
    let before = owners(&api).await;
    assert!(before.iter().all(|(process, _)| *process == before[0].0), "{before:?}");

    let _second = pipeline(&stores, "1h");
    shared(&stores, &[8, 8]).await;
    let after = owners(&api).await;
    let kept = before.iter().zip(&after).filter(|(before, after)| before == after).count();
    assert_eq!(kept, 8, "{before:?} {after:?}");
    for ((first, earlier), (process, since)) in before.iter().zip(&after) {
        assert!(
            (process == first && since == earlier) || (process != first && since >= earlier),
            "{after:?}"
        );
    }

    let n = note(stores.new_note().await);
    let explained = api.command().args(["explain", &n]).output().unwrap();
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let logs = explained["logs"].as_array().unwrap();
    let explained: Vec<(String, String)> =
        logs.iter().map(|log| (text(&log["owner"]), text(&log["ownedSince"]))).collect();
    assert_eq!(explained, after);
}
