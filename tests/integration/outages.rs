use std::time::{Duration, Instant};

use plaudit::embedded::AppendFsync;
use serde_json::json;

use crate::support::{SOON, Server, Stores, eventually, note, user};

#[tokio::test(flavor = "multi_thread")]
async fn likes_and_live_counts_of_what_is_warm_go_on_without_postgresql_and_are_persisted_afterwards() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let (warm, cold) = (stores.new_note().await, stores.new_note().await);
    let (n, liker) = (note(warm), server.client("ann goes on"));
    liker.like(&n).await;
    liker.unlike(&n).await;
    liker.note(&n).await; // the author's counts are warm, too
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
    let began = Instant::now();
    let error = liker
        .error(
            "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }",
            json!({ "n": note(cold) }),
        )
        .await;
    assert_eq!(error["extensions"]["code"], "RETRY_LATER");
    assert_eq!(error["extensions"]["retryable"], true);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());

    stores.start_postgres();
    stores.rest().await;
    let totals = stores.likes(warm).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (1, 1, Some(1)));
    assert_eq!(liker.like(&note(cold)).await["note"]["likeCount"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_requests_are_told_to_retry_within_two_seconds_and_all_goes_on_when_it_is_back() {
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
    let began = Instant::now();
    assert_eq!(liker.error(query, json!({ "n": n })).await["extensions"]["code"], "RETRY_LATER");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let ready = reqwest::get(format!("{}/readyz", server.url)).await.unwrap();
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("Redis"));
    assert_eq!(reqwest::get(format!("{}/healthz", server.url)).await.unwrap().status(), 200);

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

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_embedded_redis_or_postgresql_is_killed_goes_on() {
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
        eventually("the service goes on", SOON, || async {
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

/// Kills the one process with this name that works in the server's data directory.
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
