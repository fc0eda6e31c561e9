//! Outages of Redis and PostgreSQL: what still works, what is refused, and how service resumes.

use std::time::{Duration, Instant};

use plaudit_embedded_stores::AppendFsync;
use serde_json::{Value, json};
use support::{SOON, Server, Stores, eventually, note, user};

#[tokio::test(flavor = "multi_thread")]
async fn likes_and_live_counts_of_loaded_notes_continue_without_postgresql_and_are_persisted_afterwards() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let (warm, cold) = (stores.new_note().await, stores.new_note().await);
    let (n, liker) = (note(warm), server.client("ann goes on"));
    liker.like(&n).await;
    liker.unlike(&n).await;
    liker.note(&n).await; // loads the author's counts, too
    let mut socket = server.socket("bob watches on").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|note| note["likeCount"] == 0).await;

    stores.stop_postgres();
    for changed in [true, false] {
        let payload = liker.like(&n).await;
        assert_eq!((&payload["changed"], &payload["note"]["likeCount"]), (&json!(changed), &json!(1)));
    }
    socket.note_until(|note| note["likeCount"] == 1).await;
    assert_eq!(liker.note(&n).await["viewerHasLiked"], true);
    let start = Instant::now();
    let error = liker
        .error(
            "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }",
            json!({ "n": note(cold) }),
        )
        .await;
    assert_eq!(error["extensions"]["code"], "RETRY_LATER");
    assert_eq!(error["extensions"]["retryable"], true);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());

    stores.start_postgres();
    stores.rest().await;
    let totals = stores.likes(warm).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (1, 1, Some(1)));
    assert_eq!(liker.like(&note(cold)).await["note"]["likeCount"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_requests_get_retry_later_within_two_seconds_and_service_resumes_when_it_is_back() {
    let mut stores = Stores::start(AppendFsync::Always).await;
    let server = Server::start_on(&stores, &[]);
    let id = stores.new_note().await;
    let (n, liker) = (note(id), server.client("cat waits"));
    liker.like(&n).await;
    let mut socket = server.socket("dan watches on").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|note| note["likeCount"] == 1).await;

    stores.stop_redis();
    let query = "mutation ($n: ID!) { unlikeNote(input: { noteId: $n }) { changed } }";
    let start = Instant::now();
    assert_eq!(liker.error(query, json!({ "n": n })).await["extensions"]["code"], "RETRY_LATER");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let state = reqwest::get(format!("{}/status", server.url)).await.unwrap();
    assert_eq!(state.status(), 503);
    let status: Value = serde_json::from_str(&state.text().await.unwrap()).unwrap();
    assert!(status["reasons"][0].as_str().unwrap().contains("Redis"), "{status}");
    let dependency = |name: &str| {
        let all = status["dependencies"].as_array().unwrap();
        all.iter()
            .find(|dependency| dependency["name"] == name)
            .unwrap_or_else(|| panic!("no {name}: {status}"))
    };
    assert_eq!(dependency("Redis")["reason"], status["reasons"][0]);
    assert_eq!((&dependency("Redis")["ok"], &status["ready"]), (&json!(false), &json!(false)));
    assert_eq!(*dependency("PostgreSQL"), json!({ "name": "PostgreSQL", "ok": true, "reason": null }));
    for probe in ["livez", "readyz"] {
        assert_eq!(reqwest::get(format!("{}/{probe}", server.url)).await.unwrap().status(), 200, "{probe}");
    }

    stores.start_redis(AppendFsync::Always);
    let other = server.client("eve comes later");
    let payload = eventually("likes work again", SOON, || async {
        let reply = other
            .send(
                "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { likeCount } } }",
                json!({ "n": n }),
            )
            .await;
        reply.body["data"]["likeNote"].is_object().then(|| reply.body["data"]["likeNote"].clone())
    })
    .await;
    assert_eq!(payload["note"]["likeCount"], 2);
    socket.note_until(|note| note["likeCount"] == 2).await;
}

/// Longer than the 12 s after which a hub treats a silent connection as dead.
#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_stops_answering_is_noticed_and_service_resumes_when_it_answers_again() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let id = stores.new_note().await;
    let (n, liker) = (note(id), server.client("fay waits"));
    liker.like(&n).await;
    let mut socket = server.socket("gus watches on").await;
    socket.watch_notes(&[&n]).await;
    let before = socket.note_until(|note| note["likeCount"] == 1).await;

    stores.stall("redis");
    for _ in 0..3 {
        let start = Instant::now();
        assert_eq!(code(&server, LIKE, &n).await, "RETRY_LATER");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
    eventually("requests are refused at once", SOON, || async {
        let start = Instant::now();
        assert_eq!(code(&server, LIKE, &n).await, "RETRY_LATER");
        (start.elapsed() < Duration::from_millis(100)).then_some(())
    })
    .await;
    assert_eq!(server.metrics().await["plaudit_breaker_open{dependency=\"Redis\"}"], 1.0);
    eventually("the silence is noticed", SOON, || async {
        (server.metrics().await["plaudit_hub_hearing"] == 0.0).then_some(())
    })
    .await;

    stores.wake("redis");
    let start = Instant::now();
    eventually("likes work again", SOON, || async {
        let reply = server.client("hal comes later").send(LIKE, json!({ "n": n })).await.body;
        reply["data"]["likeNote"].is_object().then_some(())
    })
    .await;
    let after = socket.note_until(|note| note["likeCount"] == 2).await;
    assert!(after["countsVersion"].as_u64() > before["countsVersion"].as_u64());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    eventually("changes are received again", SOON, || async {
        (server.metrics().await["plaudit_hub_hearing"] == 1.0).then_some(())
    })
    .await;
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (2, 2, Some(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_whose_connection_to_redis_is_killed_gets_what_it_missed() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let mut socket = server.socket("ida watches on").await;
    socket.watch_notes(&[&n]).await;
    for expected in 1..=3 {
        stores.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
        server.client(&format!("user {expected}")).like(&n).await;
        socket.note_until(|note| note["likeCount"] == expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgresql_that_stops_answering_is_not_called_and_the_backlog_drains_when_it_answers_again() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let (warm, cold) = (stores.new_note().await, note(stores.new_note().await));
    let (n, liker) = (note(warm), server.client("jim goes on"));
    liker.like(&n).await;
    liker.note(&n).await;
    stores.rest().await;
    let mut socket = server.socket("kim watches on").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|note| note["likeCount"] == 1).await;

    stores.stall("postgres");
    for query in [READ, LIKE, READ, ADD_COMMENT] {
        let start = Instant::now();
        assert_eq!(code(&server, query, &cold).await, "RETRY_LATER");
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    }
    eventually("requests are refused at once", SOON, || async {
        let start = Instant::now();
        assert_eq!(code(&server, READ, &cold).await, "RETRY_LATER");
        (start.elapsed() < Duration::from_millis(100)).then_some(())
    })
    .await;
    // The actor and a subscriber see each change.
    for round in 0..20 {
        let likes = round % 2;
        let payload = if likes == 0 { liker.unlike(&n).await } else { liker.like(&n).await };
        assert_eq!((&payload["changed"], &payload["note"]["likeCount"]), (&json!(true), &json!(likes)));
        socket.note_until(|note| note["likeCount"] == likes).await;
    }
    liker.unlike(&n).await;

    stores.wake("postgres");
    let start = Instant::now();
    eventually("requests that need the database work again", SOON, || async {
        let reply = server.anonymous().send(READ, json!({ "n": cold })).await.body;
        reply.get("errors").is_none().then_some(())
    })
    .await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    stores.rest().await;
    let totals = stores.likes(warm).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (0, 0, Some(0)));
    let steps =
        "SELECT count(*) FROM activity NATURAL JOIN kind_name WHERE target_id = $1 AND name = 'note_like'";
    assert_eq!(stores.number(steps, warm).await, 22);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_postgresql_requests_that_need_it_are_refused_at_once_and_likes_are_persisted_afterwards() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let (id, cold) = (stores.new_note().await, note(stores.new_note().await));
    let n = note(id);
    let likers: Vec<_> = (0..10).map(|liker| server.client(&format!("liker {liker}"))).collect();
    for liker in &likers {
        liker.like(&n).await;
        liker.unlike(&n).await;
    }
    let mut socket = server.socket("lea watches on").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|note| note["likeCount"] == 0).await;

    stores.stop_postgres();
    let storm = futures_util::future::join_all(likers.iter().map(|liker| async {
        for _ in 0..20 {
            assert_eq!(liker.like(&n).await["changed"], true);
            assert_eq!(liker.unlike(&n).await["changed"], true);
        }
        assert_eq!(liker.like(&n).await["changed"], true);
    }));
    // Meanwhile: the breaker opens after the first calls, and later calls are refused without being made.
    let refused = async {
        for _ in 0..10 {
            for query in [ADD_COMMENT, READ, CREATE] {
                let start = Instant::now();
                assert_eq!(code(&server, query, &cold).await, "RETRY_LATER");
                assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
            }
        }
    };
    tokio::join!(storm, refused);
    socket.note_until(|note| note["likeCount"] == 10).await;
    assert_eq!(server.metrics().await["plaudit_breaker_open{dependency=\"PostgreSQL\"}"], 1.0);

    stores.start_postgres();
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (10, 10, Some(10)));
    let steps =
        "SELECT count(*) FROM activity NATURAL JOIN kind_name WHERE target_id = $1 AND name = 'note_like'";
    assert_eq!(stores.number(steps, id).await, 10 * (2 + 41));
    assert_eq!(server.metrics().await["plaudit_breaker_open{dependency=\"PostgreSQL\"}"], 0.0);
}

/// A lease is taken in PostgreSQL, so until it is back nobody counts or persists what waits in the log.
#[tokio::test(flavor = "multi_thread")]
async fn likes_wait_while_a_pipeline_cannot_be_restarted_without_postgresql_and_count_once_when_it_is_back() {
    const FANS: i64 = 8;
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let mut pipeline = Server::start_on(&stores, &["--roles", "pipeline", "--lease", "2s"]);
    let api = Server::start_on(&stores, &["--roles", "api"]);
    let mut other_api = Server::start_on(&stores, &["--roles", "api"]);
    let id = stores.new_note().await;
    let n = note(id);
    let fans: Vec<_> = (0..FANS).map(|fan| api.client(&format!("fan {fan}"))).collect();
    for fan in &fans {
        fan.like(&n).await;
        fan.unlike(&n).await;
    }
    let early = api.client("ann is early");
    early.like(&n).await;
    early.note(&n).await; // loads the author's counts, too
    stores.rest().await;
    let mut socket = api.socket("ann is early").await;
    socket.watch_notes(&[&n]).await;
    socket.note_until(|note| note["likeCount"] == 1).await;

    stores.stop_postgres();
    pipeline.kill();
    other_api.kill();
    assert!(!pipeline.try_start(&[]), "a pipeline started without PostgreSQL");
    assert!(!other_api.try_start(&[]), "an API process started without PostgreSQL");
    futures_util::future::join_all(fans.iter().map(|fan| async {
        let steps = [("likeNote", true), ("likeNote", false), ("unlikeNote", true), ("likeNote", true)];
        for (action, changed) in steps {
            let fields = "changed note { likeCount viewerHasLiked }";
            let payload = fan.act(action, json!({ "noteId": n }), fields).await;
            let shown = json!({ "likeCount": 1, "viewerHasLiked": action == "likeNote" });
            assert_eq!(payload, json!({ "changed": changed, "note": shown }), "{action}");
        }
        let shown = fan.note(&n).await;
        assert_eq!((&shown["likeCount"], &shown["viewerHasLiked"]), (&json!(1), &json!(true)));
    }))
    .await;

    stores.start_postgres();
    pipeline.start_again();
    socket.note_until(|note| note["likeCount"] == 1 + FANS).await;
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (1 + FANS, 1 + FANS, Some(1 + FANS)));
    let steps =
        "SELECT count(*) FROM activity NATURAL JOIN kind_name WHERE target_id = $1 AND name = 'note_like'";
    assert_eq!(stores.number(steps, id).await, 1 + FANS * (2 + 3));
}

const LIKE: &str = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
const READ: &str = "query ($n: ID!) { note(id: $n) { likeCount viewerHasLiked comments { nodes { id } } } }";
const ADD_COMMENT: &str =
    "mutation ($n: ID!) { addComment(input: { noteId: $n, body: \"Hi\" }) { __typename } }";
const CREATE: &str = "mutation { createNote(input: { title: \"One\", body: \"Text\" }) { __typename } }";

/// The code of the first error of a request about a note.
async fn code(server: &Server, query: &str, n: &str) -> String {
    let error = server.client("mia").error(query, json!({ "n": n })).await;
    error["extensions"]["code"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_keeps_serving_after_its_embedded_redis_or_postgresql_is_killed() {
    let server = Server::start(&["--appendfsync", "always"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    let mut expected = 0;
    for child in ["redis-server", "postgres", "redis-server"] {
        expected += 1;
        server.client(&format!("user {expected}")).like(&n).await;
        kill_child(&server, child);
        let client = server.client("somebody else");
        let target =
            user(eventually("PostgreSQL is back", SOON, || async { try_new_user(&stores).await }).await);
        eventually("the service works again", SOON, || async {
            let query = "mutation ($u: ID!) { follow(input: { userId: $u }) { changed } }";
            let reply = client.send(query, json!({ "u": target })).await;
            reply.body.get("errors").is_none().then_some(())
        })
        .await;
        assert_eq!(
            client.note(&n).await["likeCount"],
            expected,
            "after {child} was killed; {}",
            server.log()
        );
    }
}

async fn try_new_user(stores: &Stores) -> Option<i64> {
    let pool = sqlx::PgPool::connect(stores.database_url()).await.ok()?;
    sqlx::query_scalar(
        "INSERT INTO app_user (subject, name) VALUES (gen_random_uuid()::text, 'Test') RETURNING id",
    )
    .fetch_one(&pool)
    .await
    .ok()
}

/// Kills the process with this name that runs in the server's data directory.
fn kill_child(server: &Server, name: &str) {
    let data_dir = server.data_dir();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let directory = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&str> = command.split('\0').collect();
        let is_child = words[0].ends_with(name) && words.len() > 2
            || words[0].contains("redis-server") && name == "redis-server";
        if is_child && (directory.starts_with(data_dir) || command.contains(data_dir.to_str().unwrap())) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            return;
        }
    }
    panic!("no {name} runs in {}", data_dir.display());
}
