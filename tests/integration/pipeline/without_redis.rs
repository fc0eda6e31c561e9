//! Pages while Redis is away.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use support::{Client, SOON, Server, Stores, eventually, note};

const FEED: &str = "{ feed(first: 5) { nodes { title author { name } likeCount } } }";
const BOTH: &str = "query ($a: ID!, $b: ID!) {
    known: note(id: $a) { title likeCount countsVersion viewerHasLiked author { name } }
    unknown: note(id: $b) { title likeCount countsVersion viewerHasLiked author { name } }
    viewer { likedNotes(first: 5) { nodes { id } } } }";

/// Users who like a note each before Redis is away: those of even numbers the same one.
const VIEWERS: usize = 40;

/// Pages for everybody, then for viewers who have each a user and a state of their own.
async fn many_readers_at_once_are_a_few_statements(server: &Server, viewers: &[Client], liked: &str) {
    let statements =
        || async { server.metrics().await["plaudit_database_seconds_count{caller=\"request\"}"] };
    let before = statements().await;
    let readers = (0..100).map(|_| async {
        let page = server.anonymous().send(FEED, json!({})).await.body;
        assert_eq!((&page["errors"], &page["extensions"]["stale"]), (&json!(null), &json!(true)), "{page}");
    });
    join_all(readers).await;
    let of_all = statements().await - before;
    assert!(of_all < 60.0, "{of_all}");

    let before = statements().await;
    let query = "query ($n: ID!) { note(id: $n) { viewerHasLiked } }";
    let readers = viewers.iter().enumerate().map(|(at, viewer)| async move {
        let page = viewer.send(query, json!({ "n": liked })).await.body;
        assert_eq!(page["data"]["note"]["viewerHasLiked"], at % 2 == 0, "{page}");
    });
    join_all(readers).await;
    let of_viewers = statements().await - before;
    println!("{of_all} statements for 100 readers, {of_viewers} for {VIEWERS} viewers");
    // One by one they would be two for each viewer: of the user and of the edge.
    assert!(of_viewers < 1.5 * VIEWERS as f64, "{of_viewers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_redis_pages_go_on_from_rows_and_say_that_they_are_stale() {
    let mut stores = Stores::start(AppendFsync::Always).await;
    let server = Server::start_on(&stores, &[]);
    let (known, unknown, gone) = (stores.new_note().await, stores.new_note().await, stores.new_note().await);
    let ann = server.client("ann reads on");
    for id in [known, gone] {
        ann.like(&note(id)).await;
        ann.note(&note(id)).await;
    }
    stores.rest().await;
    let version = ann.note(&note(known)).await["countsVersion"].clone();
    let other = server.client("bob has liked it");
    other.like(&note(unknown)).await;
    let viewers: Vec<Client> = (0..VIEWERS).map(|at| server.client(&format!("viewer {at}"))).collect();
    for (at, viewer) in viewers.iter().enumerate() {
        viewer.like(&note(if at % 2 == 0 { unknown } else { gone })).await;
    }
    stores.rest().await;
    let mut socket = server.socket("cat watches on").await;
    socket.watch_notes(&[&note(known)]).await;
    socket.note_until(|note| note["likeCount"] == 1).await;

    // What this process has of one note is old now, which it cannot hear.
    stores.stop_redis();
    let sql = stores.sql().await;
    for change in [
        "UPDATE note SET title = 'A new title' WHERE id = $1",
        "UPDATE note_counts SET likes = 7 WHERE id = $1",
    ] {
        sqlx::query(change).bind(known).execute(&sql).await.unwrap();
    }
    sqlx::query("UPDATE note SET removed_at = now() WHERE id = $1").bind(gone).execute(&sql).await.unwrap();
    let variables = json!({ "a": note(known), "b": note(unknown) });
    let page = eventually("the outage is noticed", SOON, || async {
        let page = ann.send(BOTH, variables.clone()).await.body;
        (page["data"]["known"]["title"] == "A new title").then_some(page)
    })
    .await;
    assert_eq!(page["extensions"], json!({ "stale": true }), "{page}");
    assert_eq!(page["errors"], json!(null));
    let data = &page["data"];
    assert_eq!((&data["known"]["likeCount"], &data["known"]["countsVersion"]), (&json!(1), &version));
    assert_eq!(data["known"]["viewerHasLiked"], true);
    assert_eq!(data["unknown"]["viewerHasLiked"], false);
    assert_eq!(data["unknown"]["likeCount"], 1 + VIEWERS / 2);
    assert_eq!(data["viewer"]["likedNotes"]["nodes"], json!([{ "id": note(known) }]));
    // Its counts were not read before: totals of PostgreSQL, whose version is older than any.
    let never = stores.new_note().await;
    let first = ann.send(BOTH, json!({ "a": note(never), "b": note(gone) })).await.body;
    assert_eq!(
        (&first["data"]["known"]["countsVersion"], &first["data"]["unknown"]),
        (&json!(0), &json!(null))
    );
    let start = Instant::now();
    let unlike = "mutation ($n: ID!) { unlikeNote(input: { noteId: $n }) { changed } }";
    let refused = ann.error(unlike, json!({ "n": note(known) })).await;
    assert_eq!(refused["extensions"]["code"], "RETRY_LATER");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    many_readers_at_once_are_a_few_statements(&server, &viewers, &note(unknown)).await;

    sqlx::query("UPDATE note_counts SET likes = 1 WHERE id = $1").bind(known).execute(&sql).await.unwrap();
    stores.start_redis(AppendFsync::Always);
    eventually("answers are no longer stale", SOON, || async {
        let page = ann.send(BOTH, variables.clone()).await.body;
        (page["errors"].is_null() && page["extensions"].is_null()).then_some(())
    })
    .await;
    assert_eq!(
        other.retrying().act("likeNote", json!({ "noteId": note(known) }), "changed").await["changed"],
        true
    );
    let after = socket.note_until(|note| note["likeCount"] == 2).await;
    assert!(after["countsVersion"].as_u64() > version.as_u64());
}
