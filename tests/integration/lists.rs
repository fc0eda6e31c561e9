//! Lists along edges, while flips are pending.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Postgres, Transaction};

use crate::support::{Client, SOON, Server, Stores, eventually, note};

/// What the viewer likes, and the page's info.
async fn liked(client: &Client, first: i32) -> (Vec<String>, Value) {
    let query = "query ($first: Int) { viewer { likedNotes(first: $first) {
        nodes { id } pageInfo { hasNextPage endCursor } } } }";
    let page = client.data(query, json!({ "first": first })).await["viewer"]["likedNotes"].clone();
    let ids = page["nodes"].as_array().unwrap().iter().map(|note| note["id"].as_str().unwrap().to_owned());
    (ids.collect(), page["pageInfo"].clone())
}

/// Keeps batches from being persisted, by the lock that removals take, until it is dropped.
async fn hold_batches(stores: &Stores) -> Transaction<'static, Postgres> {
    let mut tx = stores.sql().await.begin().await.unwrap();
    let lock = "SELECT pg_advisory_xact_lock(x'506c617564697401'::bit(64)::bigint)";
    sqlx::query(lock).execute(&mut *tx).await.unwrap();
    tx
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_on_which_every_note_is_gone_leads_to_the_next_one() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let reader = server.client("oda likes");
    let (kept, gone) = (stores.new_note().await, stores.new_note().await);
    reader.like(&note(kept)).await;
    stores.rest().await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let held = hold_batches(&stores).await;
    reader.like(&note(gone)).await;
    for text in [
        "UPDATE note SET removed_at = now() WHERE id = $1",
        "INSERT INTO stale_base (shard, entity, reason) VALUES ($1::bigint % 2, 'note:' || $1, 'a test')",
    ] {
        sqlx::query(text).bind(gone).execute(&stores.sql().await).await.unwrap();
    }
    eventually("the note is gone", SOON, || async {
        let found = reader.data("query ($n: ID!) { note(id: $n) { id } }", json!({ "n": note(gone) })).await;
        found["note"].is_null().then_some(())
    })
    .await;
    let (ids, info) = liked(&reader, 1).await;
    assert_eq!((ids, &info["hasNextPage"]), (vec![note(kept)], &json!(false)));
    assert!(info["endCursor"].is_string(), "{info}");
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_is_liked_again_stands_first_before_and_after_that_is_persisted() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let reader = server.client("mia likes again");
    let (again, once) = (note(stores.new_note().await), note(stores.new_note().await));
    for n in [&again, &once] {
        reader.like(n).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stores.rest().await;
    assert_eq!(liked(&reader, 10).await.0, [once.clone(), again.clone()]);
    let held = hold_batches(&stores).await;
    // A batch that waits already, so that the next two events come in one.
    reader.like(&note(stores.new_note().await)).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    reader.unlike(&again).await;
    reader.like(&again).await;
    let before = liked(&reader, 10).await.0;
    assert_eq!((before.len(), &before[0]), (3, &again));
    drop(held);
    stores.rest().await;
    assert_eq!(liked(&reader, 10).await.0, before);
}
