//! Resharding beside a running server: nothing is lost or counted twice, wherever it is interrupted.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Output,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{
    Client, OwnRedis, Place, Proxy, RedisCluster, SOON, Server, Stores, eventually, free_port, note, plaudit,
    proxy::Line, user,
};

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

/// Balancers send clients on: the process is ready since its start, and the roles that start again do not change that.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_stays_ready_while_the_number_of_shards_changes() {
    let server = Server::start(&["--lease", "1s"]);
    let has_ended = AtomicBool::new(false);
    let probing = async {
        let mut probed = 0;
        while !has_ended.load(Relaxed) {
            // A connection may be closed by the roles that end.
            if let Ok(answer) = reqwest::get(format!("{}/readyz", server.url)).await {
                assert_eq!(answer.status(), 200);
                probed += 1;
            }
        }
        probed
    };
    let resharding = async {
        reshard_to(&server, "4", &[]);
        eventually("the process serves four shards", SOON, || async {
            let state = reqwest::get(format!("{}/status", server.url)).await.ok()?;
            let is_right = state.status() == 200;
            let state: Value = serde_json::from_str(&state.text().await.ok()?).unwrap();
            (is_right && state["shards"].as_array().map(Vec::len) == Some(4)).then_some(())
        })
        .await;
        has_ended.store(true, Relaxed);
    };
    let (probed, ()) = tokio::join!(probing, resharding);
    assert!(probed > 0);
}

/// A reader of the stream of events, who holds one cursor throughout: the users and notes of the likes.
struct EventReader {
    service: Client,
    after: Value,
    likes: Vec<(String, String)>,
}

impl EventReader {
    const EVENTS: &str = "query ($after: String) { events(first: 100, after: $after) {
        nodes { type actor { subject } target { id } } pageInfo { hasNextPage endCursor } } }";

    fn new(server: &Server) -> Self {
        let service = server.client_as(Role::Service, "a reader of events");
        Self { service, after: Value::Null, likes: Vec::new() }
    }

    /// Reads on until there are this many likes.
    async fn read_until(&mut self, likes: usize) {
        let deadline = Instant::now() + SOON;
        while self.likes.len() < likes {
            assert!(Instant::now() < deadline, "events of {} likes, not of {likes}", self.likes.len());
            self.read().await;
        }
    }

    /// Reads to the end of the stream.
    async fn read(&mut self) {
        loop {
            let variables = json!({ "after": self.after });
            let mut page = self.service.data(Self::EVENTS, variables).await["events"].take();
            let nodes = page["nodes"].as_array().unwrap();
            self.likes.extend(nodes.iter().filter(|event| event["type"] == "LIKED").map(user_and_note));
            self.after = page["pageInfo"]["endCursor"].take();
            if page["pageInfo"]["hasNextPage"] == false {
                return;
            }
        }
    }
}

fn user_and_note(event: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&event["actor"]["subject"]), text(&event["target"]["id"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn from_2_shards_to_16_and_back_under_likes_each_counts_once_and_versions_only_rise() {
    let server = Server::start(&["--virtual-shards", "2"]);
    let (stores, mut events) = (server.stores(), EventReader::new(&server));
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
            // The cursor is one of the present layout.
            events.read_until(events.likes.len() + 1).await;
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
    let expected = notes.len() * usize::try_from(likes.load(Relaxed)).unwrap();
    events.read_until(expected).await;
    let distinct: BTreeSet<_> = events.likes.iter().collect();
    assert_eq!((events.likes.len(), distinct.len()), (expected, expected), "each like is told once");
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
        let version = |counts: &Value| {
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

/// A reshard with the stores of a test, from outside of any server.
fn reshard_stores(stores: &Stores, shards: &str, fail_points: &str) -> bool {
    let urls = ["--redis-url", stores.redis_url(), "--database-url", stores.database_url()];
    let mut command = plaudit(stores.data_dir());
    command.arg("reshard").args(["--shards", shards]).args(urls).env("FAILPOINTS", fail_points);
    tokio::task::block_in_place(|| command.output().unwrap()).status.success()
}

/// An owner that stalls has batches of the old layout in its memory, and leases that it does not know to be gone.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_stalled_across_a_reshard_folds_and_persists_nothing_twice() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let late = Server::start_on(&stores, &["--virtual-shards", "2", "--lease", "2s"]);
    let api = Server::start_on(&stores, &["--roles", "api"]);
    let mut notes = Vec::new();
    for _ in 0..4 {
        notes.push(stores.new_note().await);
    }
    let (liked, is_over) = (AtomicI64::new(0), AtomicBool::new(false));
    let fans = (0..4).map(|fan| {
        let (api, notes, liked, is_over) = (&api, &notes, &liked, &is_over);
        async move {
            for round in 0.. {
                if is_over.load(Relaxed) {
                    return;
                }
                let client = api.client(&format!("fan {fan} of round {round}"));
                for id in notes {
                    like(&client, &note(*id), &format!("{round} {id}")).await;
                }
                liked.fetch_add(1, Relaxed);
            }
        }
    });
    let more = async |by: i64| {
        let before = liked.load(Relaxed);
        eventually("likes arrive", SOON, || async { (liked.load(Relaxed) >= before + by).then_some(()) })
            .await;
    };
    let resharding = async {
        more(6).await;
        late.stall();
        more(2).await;
        assert!(reshard_stores(&stores, "16", ""));
        let _present = Server::start_on(&stores, &["--roles", "pipeline", "--lease", "2s"]);
        more(4).await;
        late.wake();
        more(4).await;
        eventually("the late one has the present layout", SOON, || async {
            late.log().contains("the number of shards has changed").then_some(())
        })
        .await;
        more(4).await;
        is_over.store(true, Relaxed);
    };
    tokio::join!(join_all(fans), resharding);
    for id in &notes {
        let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
        eventually("the last likes are persisted", SOON, || async {
            (stores.number(rows, *id).await == liked.load(Relaxed)).then_some(())
        })
        .await;
        let total = "SELECT likes FROM note_counts WHERE id = $1";
        assert_eq!(stores.number(total, *id).await, liked.load(Relaxed), "note {id}");
        for server in [&late, &api] {
            let shown = server.client("asker").note(&note(*id)).await;
            assert_eq!(shown["likeCount"], liked.load(Relaxed), "note {id}");
        }
    }
    let dead = "SELECT count(*) FROM dead_event WHERE generation > $1";
    assert_eq!(stores.number(dead, 0).await, 0);
    let unexplained = late.metrics().await;
    let unexplained: f64 = unexplained
        .iter()
        .filter(|(name, _)| {
            name.starts_with("plaudit_persist_mismatches_total") && name.contains("unexplained")
        })
        .map(|(_, value)| value)
        .sum();
    assert!(unexplained == 0.0, "{unexplained}");
}

/// A new one, whose id is of another shard among 16 than among 2.
async fn of_a_high_shard<F: Future<Output = i64>>(mut new: impl FnMut() -> F) -> i64 {
    loop {
        let id = new().await;
        if id % 16 > 1 {
            return id;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_at_a_reshard_goes_to_the_shards_of_its_subjects_and_is_done_once() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--virtual-shards", "2", "--lease", "2s"]);
    let good = of_a_high_shard(|| stores.new_note()).await;
    let refused = of_a_high_shard(|| stores.new_note()).await;
    let hidden = of_a_high_shard(|| stores.new_user()).await;
    let actor = of_a_high_shard(|| stores.new_user()).await;
    let subject = async |id: i64| -> String {
        let subject = sqlx::query_scalar("SELECT subject FROM app_user WHERE id = $1").bind(id);
        subject.fetch_one(&stores.sql().await).await.unwrap()
    };
    let run = async |statement: String| {
        let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement));
        statement.execute(&stores.sql().await).await.unwrap();
    };
    run(format!("ALTER TABLE note_like ADD CONSTRAINT poison CHECK (target_id <> {refused}) NOT VALID"))
        .await;
    assert!(like(&server.client(&subject(hidden).await), &note(good), "1").await);
    assert!(like(&server.client(&subject(actor).await), &note(refused), "2").await);
    let waiting = "SELECT count(*) FROM dead_event WHERE actor_id = $1 AND decided_at IS NULL";
    eventually("the like is dead", SOON, || async {
        (stores.number(waiting, actor).await == 1).then_some(())
    })
    .await;
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", "page.before=return(fail)")]));
    let moderator = server.client_as(Role::Moderator, "a moderator");
    let hiding = json!({ "userId": user(hidden) });
    eventually("the hiding has begun", SOON, || async {
        moderator.try_act("hideUser", hiding.clone(), "changed").await.ok()
    })
    .await;
    server.kill();
    run(format!(
        "ALTER TABLE note_like DROP CONSTRAINT poison;
         UPDATE note_counts SET views = 7 WHERE id = {good};
         INSERT INTO invalidation (shard, names, reason) VALUES ({good} % 2, 'note_{good}', 'a test')"
    ))
    .await;

    assert!(reshard_stores(&stores, "16", ""));
    let shard_of = async |query: &str, id: i64| stores.number(query, id).await;
    let dead = "SELECT shard::bigint FROM dead_event WHERE actor_id = $1";
    assert_eq!(shard_of(dead, actor).await, actor % 16);
    let backfill = "SELECT shard::bigint FROM backfill WHERE subject = 'user_' || $1 AND finished_at IS NULL";
    assert_eq!(shard_of(backfill, hidden).await, hidden % 16);
    // Any owner applies it.
    let invalidation = "SELECT count(*) FROM invalidation WHERE names = 'note_' || $1 AND shard < 16";
    assert_eq!(stores.number(invalidation, good).await, 1);

    server.start_again();
    eventually("what waited is done", SOON, || async {
        let backfills = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND shard >= $1";
        let invalidations = "SELECT count(*) FROM invalidation WHERE shard >= $1";
        (stores.number(backfills, 0).await + stores.number(invalidations, 0).await == 0).then_some(())
    })
    .await;
    let retry = ["dead", "retry", "--all", "--database-url", stores.database_url()];
    for _ in 0..2 {
        assert!(plaudit(stores.data_dir()).args(retry).output().unwrap().status.success());
    }
    let asker = server.client("asker");
    eventually("counts are those of what was done once", SOON, || async {
        let (good, refused) = (asker.note(&note(good)).await, asker.note(&note(refused)).await);
        (good["likeCount"] == 0 && refused["likeCount"] == 1).then_some(())
    })
    .await;
    let total = "SELECT likes FROM note_counts WHERE id = $1";
    assert_eq!((stores.number(total, good).await, stores.number(total, refused).await), (0, 1));
    let views = "query ($n: ID!) { note(id: $n) { viewCount } }";
    assert_eq!(asker.data(views, json!({ "n": note(good) })).await["note"]["viewCount"], 7);
    assert!(like(&server.client(&subject(actor).await), &note(refused), "2").await, "the answer of before");
    assert_eq!(stores.number(total, refused).await, 1);
}

/// The line to Redis is slow: a call that appends views runs whenever the server takes the new layout over.
#[tokio::test(flavor = "multi_thread")]
async fn views_that_are_recorded_while_shards_are_closed_count_in_the_next_layout() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let (place, port) = (Arc::new(Place::new()), free_port());
    let _redis = OwnRedis::start(&place, port, &["--port", &port.to_string(), "--bind", "127.0.0.1"]).await;
    let proxy = Proxy::start(port).await;
    let slow = format!("redis://127.0.0.1:{}", proxy.port);
    let database = ["--database-url", stores.database_url()];
    let server = Server::start(&[&database[..], &["--redis-url", &slow, "--virtual-shards", "2"]].concat());
    let redis = format!("redis://127.0.0.1:{port}");
    let direct = [&database[..], &["--redis-url", &redis, "--shards", "4"]].concat();
    let ids = [stores.new_note().await, stores.new_note().await];
    let notes = ids.map(note);
    let view = "mutation ($n: [ID!]!) { recordViews(input: { noteIds: $n }) { changed } }";
    server.client("before").data(view, json!({ "n": notes })).await;
    proxy.set(Line::Slow(Duration::from_millis(20)));
    assert!(!reshard(&server, &direct, "reshard.copied=return(die)").status.success());
    for viewer in 0..5 {
        let client = server.client(&format!("viewer {viewer}"));
        eventually("the view is recorded", SOON, || async {
            let reply = client.try_send(view, json!({ "n": notes })).await.ok()?.body;
            (reply["data"]["recordViews"]["changed"] == true).then_some(())
        })
        .await;
    }
    let reshard = reshard(&server, &direct, "");
    assert!(reshard.status.success(), "{}", String::from_utf8_lossy(&reshard.stderr));
    for id in ids {
        eventually("each view counts once", SOON, || async {
            let total = stores.number("SELECT views FROM note_counts WHERE id = $1", id).await;
            assert!(total <= 6, "{total}");
            (total == 6).then_some(())
        })
        .await;
    }
}
