//! Graceful shutdown: sockets are closed, requests finish, shards are handed over, nothing is lost.

use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use support::{SOON, Server, Stores, eventually, note};
use tokio::task::spawn_blocking;

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
        reqwest::get(format!("{url}/livez")).await.is_err().then_some(())
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

/// Whether the server says that it stops.
async fn says_that_it_stops(server: &Server) -> Option<()> {
    let [ready, state] = ["readyz", "status"].map(|path| reqwest::get(format!("{}/{path}", server.url)));
    let (ready, state) = (ready.await.ok()?, state.await.ok()?);
    let are_refused = ready.status() == 503 && state.status() == 503;
    (are_refused && state.text().await.ok()?.contains("it stops")).then_some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_spread_shards_leave_first_and_then_sockets_one_by_one_while_requests_go_on() {
    const SOCKETS: usize = 60;
    let stores = Stores::start(AppendFsync::EverySec).await;
    let flags = ["--lease", "1h", "--shutdown-spread", "10s", "--sockets-per-address", "1000"];
    let mut first = Server::start_on(&stores, &flags);
    let second = Server::start_on(&stores, &flags);
    let (n, sql) = (note(stores.new_note().await), stores.sql().await);
    let owners = || async {
        let count = sqlx::query_scalar("SELECT count(DISTINCT owner) FROM shard WHERE owner IS NOT NULL");
        let count: i64 = count.fetch_one(&sql).await.unwrap();
        count
    };
    eventually("both own shards", SOON, || async { (owners().await == 2).then_some(()) }).await;
    let mut sockets = Vec::new();
    for number in 0..SOCKETS {
        sockets.push(first.socket(&format!("watcher {number}")).await);
    }

    first.begin_stop();
    eventually("it is not ready", SOON, || says_that_it_stops(&first)).await;
    assert_eq!(first.client("ann").like(&n).await["changed"], true);
    eventually("the other one owns all shards", SOON, || async { (owners().await == 1).then_some(()) }).await;
    let open = first.metric("plaudit_sockets{transport=\"websocket\"}").await;
    assert_eq!(open, SOCKETS as f64, "sockets were closed before the shards had left");

    let closes = sockets.into_iter().map(|mut socket| {
        tokio::spawn(async move { (socket.close_code().await, std::time::Instant::now()) })
    });
    let mut times = Vec::new();
    for close in closes.collect::<Vec<_>>() {
        let (code, at) = close.await.unwrap();
        assert_eq!(code, 1012);
        times.push(at);
    }
    times.sort_unstable();
    let seconds: Vec<u64> = times.iter().map(|at| (*at - times[0]).as_secs()).collect();
    let most = (0..=10).map(|second| seconds.iter().filter(|at| **at == second).count()).max().unwrap();
    assert!(*seconds.last().unwrap() >= 2 && most <= SOCKETS / 2, "not one by one: {seconds:?}");

    eventually("it has ended", SOON, || std::future::ready(first.has_ended().then_some(()))).await;
    assert_eq!(second.client("bob").like(&n).await["changed"], true);
    stores.rest().await;
    assert_eq!(second.anonymous().note(&n).await["likeCount"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_a_stop_at_once() {
    let mut server = Server::start(&["--shutdown-spread", "10m"]);
    let n = note(server.stores().new_note().await);
    assert_eq!(server.client("ann").like(&n).await["changed"], true);
    let _open = server.socket("bob stays").await;
    server.begin_stop();
    eventually("it is not ready", SOON, || says_that_it_stops(&server)).await;
    assert!(!server.has_ended());
    server.begin_stop();
    eventually("it has ended", SOON, || std::future::ready(server.has_ended().then_some(()))).await;
    let server = spawn_blocking(move || {
        server.start_again();
        server
    });
    assert_eq!(server.await.unwrap().anonymous().note(&n).await["likeCount"], 1);
}
