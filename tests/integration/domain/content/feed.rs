//! The feed: its pages, and the round trips and statements that a page costs.

use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually, key, note, user};

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

    // Warm: the process has the page, the texts and the counts; membership costs one round trip.
    let warm = reader.send(FEED, page.clone()).await;
    assert_eq!(warm.body, first.body);
    assert!(warm.redis_round_trips <= 1, "{warm:?}");
    assert_eq!(warm.sql_statements, 0);

    // After an interruption the process has nothing cached: the ids of the page are one statement, all texts one more
    // round trip, and all counters of notes and authors another.
    drop(reader);
    let mut server = server;
    server.stop();
    server.start_again();
    let reader = server.client("ann reads");
    let after_restart = reader.send(FEED, page.clone()).await;
    assert_eq!(after_restart.body["data"]["feed"]["nodes"].as_array().unwrap().len(), 20);
    interrupt_hub(&server).await;
    let cold_hub = reader.send(FEED, page).await;
    assert!(cold_hub.redis_round_trips <= 3, "{cold_hub:?}");
    assert!(cold_hub.sql_statements <= 1, "{cold_hub:?}");
}

/// Cuts the hub's connection, so that it drops all counts and reconnects.
async fn interrupt_hub(server: &Server) {
    let mut redis = server.stores().redis().await;
    let () =
        redis::cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub").query_async(&mut redis).await.unwrap();
    eventually("the hub receives messages again", SOON, || async {
        let subscribers: Vec<(String, i64)> = redis::cmd("PUBSUB")
            .arg("SHARDNUMSUB")
            .arg(key(1, "changes"))
            .query_async(&mut server.stores().redis().await)
            .await
            .unwrap();
        let ready = reqwest::get(format!("{}/status", server.url)).await.unwrap().status() == 200;
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
    let viewer = server.anonymous().data("{ viewer { user { id } } }", json!({})).await;
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
    let query = "{ followingFeed(first: 100) { nodes { id } pageInfo { hasNextPage } }
                   feed(first: 100) { nodes { id } pageInfo { hasNextPage } } }";
    let pages = reader.data(query, json!({})).await;
    assert_eq!(pages["followingFeed"], pages["feed"]);
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

/// Ids of the first page, read by this client.
async fn first_page(reader: &Client) -> Vec<String> {
    let feed = reader.data("{ feed(first: 3) { nodes { id } } }", json!({})).await;
    feed["feed"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["id"].as_str().unwrap().to_owned())
        .collect()
}

async fn create_note(author: &Client) -> String {
    let created = author.act("createNote", json!({ "title": "New", "body": "New" }), "note { id }").await;
    created["note"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_first_page_is_current_after_the_reply_of_each_creation_and_removal() {
    let server = Server::start(&[]);
    let author = server.client("ada writes and removes");
    let mut kept = Vec::new();
    for round in 0..10 {
        let id = create_note(&author).await;
        assert_eq!(first_page(&author).await[0], id, "round {round}");
        if round % 2 == 0 {
            author.act("deleteNote", json!({ "noteId": id }), "changed").await;
        } else {
            kept.insert(0, id);
        }
        assert_eq!(first_page(&author).await, kept[..kept.len().min(3)], "round {round}");
    }
}

#[tokio::test]
async fn the_first_page_of_another_instance_follows_creations_and_removals() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let other = Server::start_on(&stores, &["--roles", "api"]);
    let (author, reader) = (server.client("bea writes"), other.anonymous());
    let until_page_is = |expected: Vec<String>| {
        let reader = &reader;
        eventually("the other instance has the page", SOON, move || {
            let expected = expected.clone();
            async move { (first_page(reader).await == expected).then_some(()) }
        })
    };
    until_page_is(Vec::new()).await;
    let id = create_note(&author).await;
    until_page_is(vec![id.clone()]).await;
    author.act("deleteNote", json!({ "noteId": id }), "changed").await;
    until_page_is(Vec::new()).await;
}

#[tokio::test]
async fn the_first_page_follows_rows_written_by_sql() {
    let server = Server::start(&[]);
    let (stores, reader) = (server.stores(), server.anonymous());
    assert_eq!(first_page(&reader).await, [""; 0]);
    let new = note(stores.new_note().await);
    eventually("the page has the row", SOON, || async {
        (first_page(&reader).await == [new.as_str()]).then_some(())
    })
    .await;
    sqlx::query("UPDATE note SET removed_at = now()").execute(&stores.sql().await).await.unwrap();
    eventually("the page lost the row", SOON, || async {
        first_page(&reader).await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_first_page_and_the_pages_after_it_have_every_note_once() {
    let server = Server::start(&[]);
    let author = server.client("cleo writes a lot");
    let mut ids = Vec::new();
    for _ in 0..110 {
        ids.insert(0, create_note(&author).await);
    }
    for first in [1, 50, 99, 100] {
        let (mut read, mut after) = (Vec::new(), Value::Null);
        loop {
            let feed = author.data(FEED, json!({ "first": first, "after": after })).await["feed"].clone();
            let nodes = feed["nodes"].as_array().unwrap();
            read.extend(nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()));
            after = feed["pageInfo"]["endCursor"].clone();
            if feed["pageInfo"]["hasNextPage"] == false {
                break;
            }
        }
        assert_eq!(read, ids, "pages of {first}");
    }
}

#[tokio::test]
async fn the_first_page_has_a_note_whose_server_failed_before_publishing_it() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let other = Server::start_on(&stores, &["--roles", "api"]);
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", "change.after=return(fail)")]));
    let (author, reader) = (server.client("dee writes"), other.anonymous());
    assert_eq!(first_page(&reader).await, [""; 0]);
    let input = json!({ "title": "New", "body": "New" });
    author.refused("createNote", input).await;
    for reader in [&reader, &author] {
        eventually("the note is on the page", SOON, || async {
            (first_page(reader).await.len() == 1).then_some(())
        })
        .await;
    }
}
