//! Backpressure: the log's share of Redis memory is bounded while PostgreSQL is down, and actions are refused as a
//! whole when Redis is out of memory.

use plaudit_embedded_stores::AppendFsync;
use redis::AsyncCommands;
use serde_json::json;
use support::{Client, SOON, Server, Stores, eventually, key, note, plaudit};

/// Limit of a log with [`SMALL_SHARE`] of [`SMALL_MEMORY`] and two shards of 210 bytes per entry.
const LOG_LIMIT: usize = 199;
const SMALL_MEMORY: &str = "8mb";
const SMALL_SHARE: [&str; 2] = ["--redis-log-share", "1"];

/// Likes and unlikes a note in turn until one is refused. Returns the number of accepted ones, `before` included.
async fn switch_until_refused(client: &Client, n: &str, before: usize) -> usize {
    for accepted in before..3 * LOG_LIMIT {
        let query = if accepted % 2 == 0 { LIKE } else { UNLIKE };
        let reply = client.send(query, json!({ "n": n })).await.body;
        let Some(error) = reply["errors"].get(0) else { continue };
        assert_eq!(error["extensions"], json!({ "code": "RETRY_LATER", "retryable": true }), "{error}");
        assert!(error["message"].as_str().unwrap().contains("catching up"), "{error}");
        return accepted;
    }
    panic!("the log has no bound");
}

const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
const UNLIKE: &str = "mutation ($n: ID!) { unlikeNote(input: { noteId: $n }) { changed } }";

/// Number of the newest entry of shard 1.
async fn log_end(stores: &Stores) -> usize {
    let newest: Vec<(String, Vec<String>)> =
        stores.redis().await.xrevrange_count(key(1, "log"), "+", "-", 1).await.unwrap();
    newest[0].0.split_once('-').unwrap().1.parse().unwrap()
}

async fn log_length(stores: &Stores, shard: i64) -> usize {
    stores.redis().await.xlen(key(shard, "log")).await.unwrap()
}

/// Waits until a flip that changes something is accepted.
async fn until_accepted(client: &Client, query: &str, n: &str) {
    eventually("the log has room again", SOON, || async {
        let reply = client.send(query, json!({ "n": n })).await.body;
        reply.get("errors").is_none().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_postgresql_a_log_grows_up_to_its_share_and_no_accepted_event_is_dropped() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    stores.command(&["CONFIG", "SET", "maxmemory", SMALL_MEMORY]).await;
    let server = Server::start_on(&stores, &SMALL_SHARE);
    let (id, subject) = (stores.new_note().await, stores.new_subject_of_shard(1).await);
    let (n, liker) = (note(id), server.client(&subject));
    liker.note(&n).await; // loads the author's counts, too
    let keyed = json!({ "noteId": n, "idempotencyKey": "once" });
    assert_eq!(liker.act("likeNote", keyed.clone(), "changed").await["changed"], true);
    liker.unlike(&n).await;
    stores.rest().await;

    stores.stop_postgres();
    let accepted = switch_until_refused(&liker, &n, 0).await;
    eventually("events that were persisted before are trimmed", SOON, || async {
        let entries = *server.metrics().await.get("plaudit_log_entries{shard=\"1\"}")? as usize;
        (entries > LOG_LIMIT / 2 && entries == log_length(&stores, 1).await).then_some(())
    })
    .await;
    let accepted = switch_until_refused(&liker, &n, accepted).await;
    let full = log_length(&stores, 1).await;
    assert!(accepted > LOG_LIMIT / 2 && full <= LOG_LIMIT + 1, "{accepted} accepted, {full} entries");
    // Still answered: actions that change nothing, a repeated action with its idempotency key, and reads.
    let (again, other) = if accepted % 2 == 1 { (LIKE, UNLIKE) } else { (UNLIKE, LIKE) };
    for _ in 1..=2 {
        let again = liker.data(again, json!({ "n": n })).await;
        assert!(again.as_object().unwrap().values().all(|payload| payload["changed"] == false), "{again}");
        assert_eq!(liker.act("likeNote", keyed.clone(), "changed").await["changed"], true);
        assert_eq!(liker.note(&n).await["likeCount"], accepted % 2);
        assert_eq!(liker.error(other, json!({ "n": n })).await["extensions"]["code"], "RETRY_LATER");
    }
    assert_eq!(log_length(&stores, 1).await, full);
    eventually("the metrics show the limit and the length", SOON, || async {
        let metrics = server.metrics().await;
        assert_eq!(metrics["plaudit_log_limit_entries{shard=\"1\"}"], LOG_LIMIT as f64);
        (metrics["plaudit_log_entries{shard=\"1\"}"] == full as f64).then_some(())
    })
    .await;

    stores.start_postgres();
    until_accepted(&liker, other, &n).await;
    stores.rest().await;
    let likes = (accepted as i64 + 1) % 2;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (likes, likes, Some(likes)));
    // The history has each step once: the two at the beginning, all accepted ones, and the last one.
    let steps =
        "SELECT count(*) FROM activity NATURAL JOIN kind_name WHERE target_id = $1 AND name = 'note_like'";
    assert_eq!(stores.number(steps, id).await, accepted as i64 + 3);
    // In a log above half of its limit retired events do not stay for ten minutes.
    eventually("the log is trimmed", SOON, || async {
        (log_length(&stores, 1).await <= LOG_LIMIT / 2 + 1).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_limited_also_while_no_pipeline_runs_and_views_wait_until_they_fit() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    stores.command(&["CONFIG", "SET", "maxmemory", SMALL_MEMORY]).await;
    let pipeline = [&["--roles", "pipeline", "--lease", "1s"], &SMALL_SHARE[..]].concat();
    let mut owner = Server::start_on(&stores, &pipeline);
    let api = Server::start_on(&stores, &["--roles", "api", "--reply-wait", "0s"]);
    let (id, subject) = (stores.new_note_of_shard(1).await, stores.new_subject_of_shard(1).await);
    let (n, liker) = (note(id), api.client(&subject));
    liker.note(&n).await;

    owner.kill();
    let accepted = switch_until_refused(&liker, &n, 0).await;
    assert!(log_length(&stores, 1).await <= LOG_LIMIT + 1);
    // A view does not fit either. It is still accepted, and appended later.
    liker.act("recordViews", json!({ "noteIds": [n] }), "notes { id }").await;
    eventually("views were refused", SOON, || async {
        api.log().contains("cannot append views").then_some(())
    })
    .await;
    assert!(log_length(&stores, 1).await <= LOG_LIMIT + 1);

    owner.start_again();
    let next = if accepted % 2 == 0 { LIKE } else { UNLIKE };
    until_accepted(&liker, next, &n).await;
    eventually("the view is counted", SOON, || async {
        let views = "SELECT views FROM note_counts WHERE id = $1";
        (stores.number(views, id).await == 1).then_some(())
    })
    .await;
    stores.rest().await;
    let likes = (accepted as i64 + 1) % 2;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total), (likes, likes));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_trimmed_by_command_has_what_is_not_persisted_and_goes_on() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let (id, liker) = (stores.new_note_of_shard(0).await, stores.new_subject_of_shard(0).await);
    let client = server.client(&liker);
    for _ in 0..10 {
        client.like(&note(id)).await;
        client.unlike(&note(id)).await;
    }
    stores.rest().await;
    assert!(log_length(&stores, 0).await > 20);
    let urls = ["--redis-url", stores.redis_url(), "--database-url", stores.database_url()];
    let trimmed = plaudit(stores.data_dir()).arg("trim").args(urls).output().unwrap();
    let said = String::from_utf8_lossy(&trimmed.stdout).into_owned();
    assert!(trimmed.status.success() && said.contains("shard 0: 1 of 21 entries left"), "{said}");

    stores.stall("postgres");
    assert_eq!(client.like(&note(id)).await["changed"], true);
    stores.wake("postgres");
    assert!(plaudit(stores.data_dir()).arg("trim").args(urls).output().unwrap().status.success());
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (1, 1, Some(1)));
    assert!(!server.log().contains("the shard is recovered again"), "trimming ends no leadership");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_holds_in_the_next_generation_and_after_a_reset_of_counters() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    stores.command(&["CONFIG", "SET", "maxmemory", SMALL_MEMORY]).await;
    let server = Server::start_on(&stores, &SMALL_SHARE);
    let (id, subject) = (stores.new_note().await, stores.new_subject_of_shard(1).await);
    let (n, liker) = (note(id), server.client(&subject));
    liker.like(&n).await;
    stores.rest().await;
    let meta = async |field: &str| -> Option<String> {
        stores.redis().await.hget(key(1, "meta"), field).await.unwrap()
    };
    let epoch = meta("epoch").await;
    // Near the end of its change numbers a shard begins a new epoch.
    stores.command(&["HSET", &key(1, "meta"), "change", &((1_u64 << 36) + 1).to_string()]).await;
    eventually("a new epoch", SOON, || async { (meta("epoch").await > epoch).then_some(()) }).await;
    for lost in [false, true] {
        let generation = meta("generation").await.unwrap();
        if lost {
            stores.command(&["FLUSHALL"]).await;
            eventually("a new generation", SOON, || async {
                meta("generation").await.is_some_and(|now| now != generation).then_some(())
            })
            .await;
        }
        let limit: usize = meta("append_limit").await.unwrap().parse().unwrap();
        let end = log_end(&stores).await;
        assert!(end < limit && limit <= end + LOG_LIMIT, "limit {limit}, end {end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_out_of_memory_refuses_actions_as_a_whole_and_pending_events_are_still_persisted() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &["--batch-wait", "1s"]);
    let id = stores.new_note().await;
    let (n, ann, bob) = (note(id), server.client("ann is in time"), server.client("bob comes too late"));
    for warm in [&ann, &bob] {
        warm.like(&n).await;
        warm.unlike(&n).await;
        warm.note(&n).await;
    }
    stores.rest().await;
    ann.like(&n).await;
    stores.command(&["CONFIG", "SET", "maxmemory", "1mb"]).await;
    let entries = log_length(&stores, 0).await + log_length(&stores, 1).await;
    for _ in 1..=2 {
        assert_eq!(bob.error(LIKE, json!({ "n": n })).await["extensions"]["code"], "RETRY_LATER");
        assert_eq!(bob.note(&n).await["viewerHasLiked"], false);
        assert_eq!(bob.note(&n).await["likeCount"], 1);
    }
    assert_eq!(log_length(&stores, 0).await + log_length(&stores, 1).await, entries);
    // Retirement frees memory.
    stores.rest().await;
    assert_eq!(stores.likes(id).await.total, 1);

    stores.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(bob.like(&n).await["note"]["likeCount"], 2);
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (2, 2, Some(2)));
}
