//! Graceful shutdown: sockets are closed, requests finish, shards are handed over, nothing is lost.

use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::support::{SOON, Server, Stores, eventually, note};

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_closes_sockets_with_the_code_for_a_service_restart() {
    let mut server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let mut subscribed = server.socket("ann watches").await;
    subscribed.watch_notes(&[&n]).await;
    subscribed.note_until(|note| note["likeCount"] == 0).await;
    let mut idle = server.socket("bob is idle").await;
    let stopped = spawn_blocking(move || server.stop());
    assert_eq!((subscribed.close_code().await, idle.close_code().await), (1012, 1012));
    stopped.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_lets_a_running_request_finish() {
    let mut server = Server::start(&[]);
    let (author, sql) = (server.client("an author"), server.stores().sql().await);
    let input = json!({ "title": "Slow", "body": "Text" });
    author.act("createNote", input.clone(), "__typename").await;
    let mut tx = sql.begin().await.unwrap();
    sqlx::query("LOCK TABLE note IN EXCLUSIVE MODE").execute(&mut *tx).await.unwrap();
    let request = tokio::spawn(async move { author.act("createNote", input, "__typename").await });
    eventually("the request waits for the lock", SOON, || async {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'note'::regclass";
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&sql).await.unwrap();
        (waiting > 0).then_some(())
    })
    .await;
    let url = server.url.clone();
    let stopped = spawn_blocking(move || server.stop());
    eventually("no connection is accepted any more", SOON, || async {
        reqwest::get(format!("{url}/healthz")).await.is_err().then_some(())
    })
    .await;
    tx.rollback().await.unwrap();
    assert_eq!(request.await.unwrap()["__typename"], "CreateNotePayload");
    drop(sql);
    stopped.await.unwrap();
}

/// With a lease of an hour the other server can begin only after a handover.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hands_its_shards_over_at_once() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let flags = ["--lease", "1h"];
    let mut first = Server::start_on(&stores, &flags);
    let second = Server::start_on(&stores, &flags);
    let n = note(stores.new_note().await);
    assert_eq!(first.client("ann").like(&n).await["note"]["likeCount"], 1);
    spawn_blocking(move || first.stop()).await.unwrap();
    let payload = second.client("bob").like(&n).await;
    assert_eq!(payload["changed"], true);
    stores.rest().await;
    assert_eq!(second.anonymous().note(&n).await["likeCount"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_postgresql_is_down_ends_within_its_time_limit_and_loses_nothing() {
    let mut stores = Stores::start(AppendFsync::Always).await;
    let mut server = Server::start_on(&stores, &["--shutdown-drain", "200ms", "--lease", "1s"]);
    let id = stores.new_note().await;
    let n = note(id);
    // Loads into Redis what a like needs.
    server.client("ann").like(&n).await;
    server.client("ann").unlike(&n).await;
    stores.rest().await;
    stores.stop_postgres();
    assert_eq!(server.client("ann").like(&n).await["changed"], true);
    let mut server = spawn_blocking(move || {
        server.stop();
        server
    })
    .await
    .unwrap();
    assert!(server.log().contains("stopped with pending events"), "{}", server.log());
    stores.start_postgres();
    server.start_again();
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total), (1, 1));
}
