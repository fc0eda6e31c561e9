//! Reconciliation finds drift wherever counts are stored, reports it, and repairs it only on request. It does not
//! change correct counts, also under load (`src/http/dev/storm.rs`).

use plaudit_embedded_stores::AppendFsync;
use serde_json::{Value, json};
use support::{SOON, Server, Stores, eventually, key, note, plaudit, user};

/// Output and exit code of a run.
struct Run {
    findings: Vec<Value>,
    sums: Value,
    code: i32,
}

impl Run {
    /// Findings: entity, kind of drift, counter, difference.
    fn drift(&self) -> Vec<(&str, &str, &str, i64)> {
        self.findings
            .iter()
            .map(|finding| {
                let field = |name: &str| finding[name].as_str().unwrap();
                (field("entity"), field("what"), field("counter"), finding["off"].as_i64().unwrap())
            })
            .collect()
    }
}

fn reconcile(server: &Server, flags: &[&str]) -> Run {
    let output = server.command().args(["reconcile", "--format", "json"]).args(flags).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    let sums = lines.pop().unwrap_or_else(|| panic!("no sums; {errors}"));
    Run { findings: lines, sums, code: output.status.code().unwrap() }
}

async fn run_sql(stores: &Stores, text: String) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(&stores.sql().await).await.unwrap();
}

async fn repairs(stores: &Stores, made_by: &str) -> Vec<(String, String)> {
    sqlx::query_as("SELECT entity, counter FROM repair WHERE made_by = $1 ORDER BY id")
        .bind(made_by)
        .fetch_all(&stores.sql().await)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_that_differ_from_their_rows_are_reported_and_repaired_only_on_request() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (id, other) = (stores.new_note().await, stores.new_note().await);
    for liker in ["ann drifts", "bob drifts"] {
        server.client(liker).like(&note(id)).await;
    }
    stores.rest().await;
    assert_eq!(reconcile(&server, &[]).drift(), []);

    let ann = stores.user_of("ann drifts").await;
    run_sql(
        &stores,
        format!(
            "UPDATE note_counts SET likes = likes + 5 WHERE id = {id};
             UPDATE note_counts SET views = -3 WHERE id = {other};
             UPDATE user_counts SET coins = 7, following = 2 WHERE id = {ann};
             UPDATE inbox_counts SET likes = 4 WHERE id = {ann};
             INSERT INTO group_counts (id) VALUES (987654);
             DELETE FROM inbox_counts WHERE id = (SELECT author_id FROM note WHERE id = {id});",
        ),
    )
    .await;
    let author = stores.number("SELECT author_id FROM note WHERE id = $1", id).await;
    let (ann, id_name) = (format!("user_{ann}"), format!("note_{id}"));
    let (other_name, author) = (format!("note_{other}"), format!("inbox_{author}"));
    let expected = [
        (ann.as_str(), "total", "following", 2),
        (ann.as_str(), "total", "coins", 7),
        (id_name.as_str(), "total", "likes", 5),
        (other_name.as_str(), "total", "views", -3),
        (author.as_str(), "totals missing", "", -1),
        (author.as_str(), "total", "likes", -2),
        (&ann.replace("user", "inbox"), "total", "likes", 4),
        ("group_987654", "totals orphaned", "", 1),
    ];
    let sorted = |drift: &[(&str, &str, &str, i64)]| {
        let mut lines: Vec<String> = drift.iter().map(|finding| format!("{finding:?}")).collect();
        lines.sort();
        lines
    };
    for _ in 0..2 {
        let run = reconcile(&server, &[]);
        assert_eq!(sorted(&run.drift()), sorted(&expected));
        assert_eq!((run.code, &run.sums["repaired"]), (1, &json!(0)));
        assert_eq!(stores.likes(id).await.total, 7);
    }
    let repaired = reconcile(&server, &["--repair"]);
    assert_eq!(sorted(&repaired.drift()), sorted(&expected));
    assert_eq!((repaired.code, &repaired.sums["repaired"]), (0, &json!(expected.len())));
    stores.rest().await;
    assert_eq!(stores.likes(id).await.total, 2);
    assert_eq!(repairs(&stores, "command").await.len(), expected.len());
    let again = reconcile(&server, &["--repair"]);
    assert_eq!((again.drift(), again.code), (vec![], 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repaired_total_reaches_subscribers_under_a_rising_version() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    server.client("ann is live").like(&note(id)).await;
    stores.rest().await;
    let mut socket = server.socket("bob is live").await;
    socket.watch_notes(&[&note(id)]).await;
    socket.note_until(|note| note["likeCount"] == 1).await;
    run_sql(
        &stores,
        format!(
            "UPDATE note_counts SET likes = 40 WHERE id = {id};
             INSERT INTO invalidation (shard, names, reason) VALUES ({id} % 2, 'note_{id}', 'a test');"
        ),
    )
    .await;
    let wrong = socket.note_until(|note| note["likeCount"] == 40).await;
    assert_eq!(reconcile(&server, &["--repair", "--entity", &note(id)]).drift().len(), 1);
    let right = socket.note_until(|note| note["likeCount"] == 1).await;
    assert!(right["countsVersion"].as_u64() > wrong["countsVersion"].as_u64());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_in_redis_that_differs_from_postgresql_is_invalidated_and_loaded_again() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    server.client("ann is cached").like(&note(id)).await;
    stores.rest().await;
    let mut socket = server.socket("bob is cached").await;
    socket.watch_notes(&[&note(id)]).await;
    let key = key(id % 2, format!("c:note_{id}"));
    let () = redis::cmd("HSET")
        .arg(&key)
        .arg("likes")
        .arg(900)
        .query_async(&mut stores.redis().await)
        .await
        .unwrap();
    // The next event adds to the wrong value.
    server.client("cid is cached").like(&note(id)).await;
    socket.note_until(|note| note["likeCount"] == 901).await;
    stores.rest().await;
    for _ in 0..2 {
        let run = reconcile(&server, &["--entity", &format!("note_{id}")]);
        assert_eq!(run.drift(), [(format!("note_{id}").as_str(), "redis", "likes", 899)]);
        assert_eq!((run.code, stores.likes(id).await.redis), (1, Some(901)));
    }
    assert_eq!(reconcile(&server, &["--repair"]).code, 0);
    socket.note_until(|note| note["likeCount"] == 2).await;
    stores.rest().await;
    assert_eq!(reconcile(&server, &["--repair"]).drift(), []);
    assert_eq!(stores.likes(id).await.redis, Some(2));
    assert_eq!(repairs(&stores, "command").await, [(format!("note_{id}"), "likes".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_set_and_pending_flips_that_differ_from_the_rows_are_dropped() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (liked, other) = (stores.new_note().await, stores.new_note().await);
    let ann = server.client("ann has a set");
    ann.like(&note(liked)).await;
    stores.rest().await;
    let actor = stores.user_of("ann has a set").await;
    let (shard, mut redis) = (actor % 2, stores.redis().await);
    let set = key(shard, format!("e:note_like:{actor}"));
    let () = redis::cmd("SADD").arg(&set).arg(other).query_async(&mut redis).await.unwrap();
    let () = redis::cmd("SREM").arg(&set).arg(liked).query_async(&mut redis).await.unwrap();
    let stuck = (key(shard, format!("p:{actor}")), format!("note_collect:{other}"));
    let generation: String =
        redis::cmd("HGET").arg(key(shard, "meta")).arg("generation").query_async(&mut redis).await.unwrap();
    let flip = format!("1:{generation}-1:1763700000000");
    let () = redis::cmd("HSET").arg(&stuck.0).arg(&stuck.1).arg(flip).query_async(&mut redis).await.unwrap();
    assert_eq!(ann.note(&note(other)).await["viewerHasLiked"], true);

    let name = format!("user_{actor}");
    let expected =
        [(name.as_str(), "cached set", "note_like", 2), (name.as_str(), "pending flips", "note_collect", 1)];
    for _ in 0..2 {
        let run = reconcile(&server, &[]);
        assert_eq!((run.drift(), run.code), (expected.to_vec(), 1));
    }
    let repaired = reconcile(&server, &["--repair"]);
    assert_eq!((repaired.drift(), repaired.code), (expected.to_vec(), 0));
    assert_eq!(ann.note(&note(other)).await["viewerHasLiked"], false);
    assert_eq!(ann.note(&note(liked)).await["viewerHasLiked"], true);
    assert_eq!(reconcile(&server, &["--repair"]).drift(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn demo_data_has_no_drift() {
    let server = Server::start(&["--seed-if-empty"]);
    let all = reconcile(&server, &[]);
    assert_eq!((all.drift(), all.code, &all.sums["skipped"]), (vec![], 0, &json!(0)));
    assert!(all.sums["checked"].as_u64().unwrap() > 7_000, "{}", all.sums);
    let output = server.command().args(["reconcile", "--since", "2h"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("checked ") && text.ends_with(": 0 drifted, 0 repaired\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flag_since_checks_only_recently_changed_entities() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (touched, old) = (stores.new_note().await, stores.new_note().await);
    server.client("ann is new").like(&note(touched)).await;
    stores.rest().await;
    run_sql(
        &stores,
        format!(
            "UPDATE note SET created_at = created_at - interval '1 day';
             UPDATE note_counts SET likes = 9 WHERE id IN ({touched}, {old});"
        ),
    )
    .await;
    let run = reconcile(&server, &["--since", "1h"]);
    assert_eq!(run.drift(), [(format!("note_{touched}").as_str(), "total", "likes", 8)]);
    assert_eq!(reconcile(&server, &["--since", "2days"]).drift().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_exit_with_2_and_a_reason() {
    let place = support::Place::new();
    let none = plaudit(&place.path().join("nowhere")).arg("reconcile").output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no Plaudit is running"));
    let bad = plaudit(&place.path().join("nowhere")).args(["reconcile", "--entity", "42"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("note_42"));
    let server = Server::shared();
    let unknown = server.command().args(["reconcile", "--entity", &user(9_000_000_000)]).output().unwrap();
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("there is no user_9000000000"));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_second_a_sample_is_checked_and_repaired_in_the_background() {
    let server = Server::start(&["--reconcile-sample", "50"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let drift = async |counter: &str| {
        let labels = format!("entity=\"note\",counter=\"{counter}\",what=\"total\"");
        server.metric(&format!("plaudit_reconcile_drift_total{{{labels}}}")).await
    };
    assert_eq!((drift("likes").await, drift("collects").await), (0.0, 0.0));
    for (liker, planted) in [("ann is sampled", 30), ("bob is sampled", 50)] {
        server.client(liker).like(&note(id)).await;
        stores.rest().await;
        run_sql(&stores, format!("UPDATE note_counts SET likes = {planted} WHERE id = {id}")).await;
        eventually("the total is repaired", SOON, || async {
            (stores.likes(id).await.total < 30).then_some(())
        })
        .await;
    }
    assert_eq!(stores.likes(id).await.total, 2);
    assert_eq!(repairs(&stores, "background").await, vec![(format!("note_{id}"), "likes".to_owned()); 2]);
    assert!(server.log().contains("a count drifted and was repaired"), "{}", server.log());
    assert_eq!((drift("likes").await, drift("collects").await), (2.0, 0.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nightly_run_repairs_everything_once_also_after_a_restart() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--reconcile-at", "02:00"]);
    let id = stores.new_note().await;
    let author = stores.number("SELECT author_id FROM note WHERE id = $1", id).await;
    let plant = format!(
        "UPDATE note_counts SET likes = 5 WHERE id = {id};
         UPDATE user_counts SET likes_received = 5 WHERE id = {author};"
    );
    let until_end = || async {
        eventually("the run ends", SOON, || async {
            let finished =
                "SELECT count(*) FROM nightly_reconcile WHERE finished_at >= now() - $1 * interval '1 s'";
            (stores.number(finished, 60).await == 1).then_some(())
        })
        .await;
    };
    // A night was missed.
    run_sql(
        &stores,
        format!(
            "{plant} UPDATE nightly_reconcile SET began_at = now() - interval '2 days',
                     finished_at = now() - interval '2 days';"
        ),
    )
    .await;
    until_end().await;
    assert_eq!(repairs(&stores, "nightly").await.len(), 2);
    let sums: (i64, i64) = sqlx::query_as("SELECT drifted, repaired FROM nightly_reconcile")
        .fetch_one(&stores.sql().await)
        .await
        .unwrap();
    assert_eq!(sums, (2, 2));

    // A run that stopped after the users continues there.
    server.stop();
    run_sql(
        &stores,
        format!("{plant} UPDATE nightly_reconcile SET finished_at = NULL, kind = 'note', after_id = 0;"),
    )
    .await;
    server.start_again();
    until_end().await;
    let totals = stores.likes(id).await;
    let received = stores.number("SELECT likes_received FROM user_counts WHERE id = $1", author).await;
    assert_eq!((totals.total, received), (0, 5));
    // One run per night: the second part finished it.
    assert_eq!(server.log().matches("the nightly reconciliation begins").count(), 1);
    assert_eq!(server.log().matches("the nightly reconciliation has ended").count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_that_are_pending_are_not_drift() {
    let server = Server::start(&["--batch-wait", "3s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    server.client("ann is warm").note(&note(id)).await;
    for liker in 0..3 {
        server.client(&format!("liker {liker} is pending")).like(&note(id)).await;
        // Folded, but not persisted.
        assert_eq!(reconcile(&server, &["--repair", "--entity", &note(id)]).drift(), []);
    }
    stores.rest().await;
    assert_eq!(stores.likes(id).await.total, 3);
}
