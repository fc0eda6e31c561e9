//! The feed: its pages, and the round trips and statements that a page costs.

use redis::AsyncCommands;
use serde_json::{Value, json};

use crate::support::{Server, note, user};

const FEED: &str = "query ($first: Int, $after: String) { feed(first: $first, after: $after) {
    nodes { id title likeCount viewerHasLiked author { id followerCount viewerIsFollowing } }
    pageInfo { hasNextPage endCursor } } }";

#[tokio::test]
async fn a_feed_of_20_notes_costs_one_round_trip_for_counters_and_one_for_viewer_state() {
    let server = Server::start(&[]);
    let stores = server.stores();
    for _ in 0..25 {
        stores.new_note().await;
    }
    let reader = server.client("ann reads");
    let follow = reader.follow(&user(stores.new_user().await)).await;
    assert_eq!(follow["changed"], true);
    let page = json!({ "first": 20 });
    let first = reader.send(FEED, page.clone()).await;
    assert_eq!(first.body["data"]["feed"]["nodes"].as_array().unwrap().len(), 20, "{}", first.body);

    // Warm: the hub has the counts, membership costs one round trip, the page one statement.
    let warm = reader.send(FEED, page.clone()).await;
    assert_eq!(warm.body, first.body);
    assert!(warm.redis_round_trips <= 1, "{warm:?}");
    assert_eq!(warm.sql_statements, 1);

    // A cold hub reads all counters of notes and authors in one more round trip.
    drop(reader);
    let mut server = server;
    server.stop();
    server.start_again();
    let reader = server.client("ann reads");
    let after_restart = reader.send(FEED, page.clone()).await;
    assert_eq!(after_restart.body["data"]["feed"]["nodes"].as_array().unwrap().len(), 20);
    interrupt_hub(&server).await;
    let cold_hub = reader.send(FEED, page).await;
    assert!(cold_hub.redis_round_trips <= 2, "{cold_hub:?}");
    assert_eq!(cold_hub.sql_statements, 1);
}

/// Cuts the hub's connection, so that it drops all counts and reconnects.
async fn interrupt_hub(server: &Server) {
    let mut redis = server.stores().redis().await;
    let () =
        redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub").query_async(&mut redis).await.unwrap();
    crate::support::eventually("the hub receives messages again", crate::support::SOON, || async {
        let subscribers: Vec<(String, i64)> = redis::cmd("PUBSUB")
            .arg("SHARDNUMSUB")
            .arg("{1}:changes")
            .query_async(&mut server.stores().redis().await)
            .await
            .unwrap();
        let ready = reqwest::get(format!("{}/readyz", server.url)).await.unwrap().status() == 200;
        (subscribers[0].1 == 1 && ready).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_feed_pages_newest_first_without_gaps_while_notes_arrive() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.push(note(stores.new_note().await));
    }
    ids.reverse();
    let reader = server.anonymous();
    let (mut read, mut after) = (Vec::new(), Value::Null);
    loop {
        let feed = reader.data(FEED, json!({ "first": 3, "after": after })).await["feed"].clone();
        read.extend(
            feed["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()),
        );
        stores.new_note().await;
        after = feed["pageInfo"]["endCursor"].clone();
        if feed["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(read, ids);
}

#[tokio::test]
async fn without_a_token_viewer_fields_are_null() {
    let server = Server::shared();
    let n = note(server.stores().new_note().await);
    let fields = server.anonymous().note(&n).await;
    assert_eq!((&fields["viewerHasLiked"], &fields["likeCount"]), (&Value::Null, &json!(0)));
    let viewer = server.anonymous().data("{ viewer { id } }", json!({})).await;
    assert_eq!(viewer["viewer"], Value::Null);
}

#[tokio::test]
async fn nodes_of_any_type_are_read_by_id_and_unknown_ids_are_null() {
    let server = Server::shared();
    let stores = server.stores();
    let (n, u) = (note(stores.new_note().await), user(stores.new_user().await));
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Note { likeCount } ... on User { followerCount } } }";
    let data = server.anonymous().data(query, json!({ "ids": [n, "note_9000000000", u] })).await;
    let expected = json!([
        { "__typename": "Note", "id": n, "likeCount": 0 },
        null,
        { "__typename": "User", "id": u, "followerCount": 0 },
    ]);
    assert_eq!(data["nodes"], expected);
}

#[tokio::test]
async fn a_page_of_followed_authors_reads_no_more_notes_than_it_shows() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let reader = server.client("ann follows many");
    reader.follow(&user(stores.new_user().await)).await;
    stores.rest().await;
    // A hundred authors with a hundred long notes each: 100 MB of text.
    sqlx::query(
        "WITH author AS (INSERT INTO app_user (subject, name) SELECT 'author ' || i, 'x'
                         FROM generate_series(1, 100) AS i RETURNING id),
              followed AS (INSERT INTO follow SELECT $1, id, true, true, now(), now() FROM author)
         INSERT INTO note (author_id, title, body)
         SELECT id, 'x', repeat('x', 10000) FROM author CROSS JOIN generate_series(1, 100) ORDER BY random()",
    )
    .bind(stores.user_of("ann follows many").await)
    .execute(&stores.sql().await)
    .await
    .unwrap();
    // Cached sets that were loaded earlier lack these authors.
    let mut redis = stores.redis().await;
    let sets: Vec<String> = redis.keys("*:e:follow:*").await.unwrap();
    let () = redis.del(sets).await.unwrap();
    let query = "{ feed(following: true, first: 100) { nodes { id } pageInfo { hasNextPage } } }";
    let page = reader.data(query, json!({})).await["feed"].clone();
    let newest = server.anonymous().data(&query.replace("true", "false"), json!({})).await["feed"].clone();
    assert_eq!(page, newest);
}

#[tokio::test]
async fn a_like_does_not_make_readers_load_text_again() {
    let server = Server::start(&[]);
    let n = note(server.stores().new_note().await);
    let reader = server.anonymous();
    let read =
        || reader.send("query ($n: ID!) { note(id: $n) { title author { name } } }", json!({ "n": n }));
    read().await;
    assert_eq!(read().await.redis_round_trips, 0);
    // The author's counts were never read, so Redis does not have them.
    server.client("bob likes").like(&n).await;
    assert_eq!(read().await.redis_round_trips, 0);
}
