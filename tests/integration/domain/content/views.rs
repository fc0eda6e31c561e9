//! Views: bundled, idempotent per key, and counted once also across outages.

use plaudit_embedded_stores::AppendFsync;
use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually, key, note};

const RECORD: &str =
    "mutation ($n: [ID!]!, $k: String) { recordViews(input: { noteIds: $n, idempotencyKey: $k }) {
    changed notes { id viewCount } } }";

async fn view(client: &Client, notes: &[&str]) -> Value {
    client.data(RECORD, json!({ "n": notes })).await["recordViews"].clone()
}

async fn view_with_key(client: &Client, notes: &[&str], key: &str) -> Value {
    client.data(RECORD, json!({ "n": notes, "k": key })).await["recordViews"].clone()
}

async fn view_count(client: &Client, note: &str) -> i64 {
    let data = client.data("query ($n: ID!) { note(id: $n) { viewCount } }", json!({ "n": note })).await;
    data["note"]["viewCount"].as_i64().unwrap()
}

/// Views of a note in PostgreSQL and in Redis.
async fn totals(stores: &Stores, id: i64) -> (i64, Option<i64>) {
    let total = "SELECT views FROM note_counts WHERE id = $1";
    let total = sqlx::query_scalar(total).bind(id).fetch_one(&stores.sql().await).await.unwrap();
    (total, stores.redis().await.hget(key(id % 2, format!("c:note_{id}")), "views").await.unwrap())
}

/// Waits until PostgreSQL, Redis and a query all have `count`; none may exceed it.
async fn until_counted(server: &Server, id: i64, count: i64) {
    let (stores, client) = (server.stores(), server.anonymous());
    eventually("all stores agree", SOON, || async {
        let (api, (total, redis)) = (view_count(&client, &note(id)).await, totals(&stores, id).await);
        assert!(api <= count && total <= count && redis <= Some(count), "{api}, {total}, {redis:?}");
        ((api, total, redis) == (count, count, Some(count))).then_some(())
    })
    .await;
}

/// Number of view events of this note in its shard's log.
async fn events(stores: &Stores, id: i64) -> usize {
    let log: redis::streams::StreamRangeReply =
        stores.redis().await.xrange_all(key(id % 2, "log")).await.unwrap();
    let texts = log.ids.iter().filter_map(|entry| entry.get::<String>("e"));
    texts.filter(|text| text.starts_with(&format!("1 views {id} "))).count()
}

#[tokio::test]
async fn views_of_many_requests_add_up_everywhere_and_are_pushed_to_subscribers() {
    let server = Server::shared();
    let stores = server.stores();
    let (a, b) = (stores.new_note().await, stores.new_note().await);
    let mut socket = server.socket("ann watches views").await;
    let watch = "subscription ($n: [ID!]!) { noteCountsChanged(noteIds: $n) { countsVersion viewCount } }";
    socket.subscribe("views", watch, json!({ "n": [note(a)] })).await;
    assert_eq!(socket.note_until(|_| true).await["viewCount"], 0);

    for viewer in 0..20 {
        let client = server.client(&format!("viewer {viewer}"));
        let payload = view(&client, &[&note(a), &note(b), &note(a)]).await;
        assert_eq!(payload["changed"], true);
        let notes: Vec<_> =
            payload["notes"].as_array().unwrap().iter().map(|note| note["id"].clone()).collect();
        assert_eq!(notes, [note(a), note(b)]);
    }
    socket.note_until(|note| note["viewCount"] == 20).await;
    until_counted(server, a, 20).await;
    until_counted(server, b, 20).await;
    assert!(events(&stores, a).await < 20, "views are bundled");
}

#[tokio::test]
async fn a_request_records_one_view_per_note_however_often_it_names_it() {
    let server = Server::shared();
    let stores = server.stores();
    let (a, b) = (stores.new_note().await, stores.new_note().await);
    let client = server.client("ada views often");
    let twice = "mutation ($n: [ID!]!, $m: [ID!]!) {
        first: recordViews(input: { noteIds: $n }) { changed notes { id } }
        second: recordViews(input: { noteIds: $m }) { changed notes { id } }
        keyed: recordViews(input: { noteIds: $m, idempotencyKey: \"k\" }) { changed notes { id } } }";
    let hundred = vec![note(a); 100];
    for _ in 0..2 {
        let data = client.data(twice, json!({ "n": hundred, "m": [note(a), note(b)] })).await;
        assert_eq!(data["first"], json!({ "changed": true, "notes": [{ "id": note(a) }] }));
        for again in ["second", "keyed"] {
            let both = json!([{ "id": note(a) }, { "id": note(b) }]);
            assert_eq!(data[again], json!({ "changed": true, "notes": both }));
        }
    }
    until_counted(server, a, 2).await;
    until_counted(server, b, 2).await;
}

#[tokio::test]
async fn a_repeated_idempotency_key_records_no_second_view() {
    let server = Server::shared();
    let stores = server.stores();
    let (a, b) = (stores.new_note().await, stores.new_note().await);
    let client = server.client("bob retries views");
    for _ in 0..2 {
        let payload = view_with_key(&client, &[&note(a), &note(b)], "key 1").await;
        assert_eq!((&payload["changed"], &payload["notes"][0]["id"]), (&json!(true), &json!(note(a))));
    }
    until_counted(server, a, 1).await;
    view_with_key(&client, &[&note(b), &note(a)], "key 1").await;
    view_with_key(&client, &[&note(a)], "key 2").await;
    until_counted(server, a, 2).await;
    until_counted(server, b, 1).await;
}

#[tokio::test]
async fn a_key_belongs_to_one_action_across_likes_and_views() {
    let server = Server::shared();
    let (a, b) = (note(server.stores().new_note().await), note(server.stores().new_note().await));
    let client = server.client("cat reuses keys");
    let like =
        "mutation ($n: ID!, $k: String) { likeNote(input: { noteId: $n, idempotencyKey: $k }) { changed } }";
    client.data(like, json!({ "n": a, "k": "of the like" })).await;
    view_with_key(&client, &[&a], "of the views").await;

    for (query, variables) in [
        (RECORD, json!({ "n": [a], "k": "of the like" })),
        (RECORD, json!({ "n": [a, b], "k": "of the views" })),
        (like, json!({ "n": a, "k": "of the views" })),
    ] {
        let error = client.error(query, variables.clone()).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{variables}: {error}");
        assert_eq!(error["extensions"]["argument"], "idempotencyKey");
        assert_eq!(error["extensions"]["reason"], "KEY_REUSED");
    }
    let other_client = server.client("cid has keys of his own");
    assert_eq!(view_with_key(&other_client, &[&a], "of the like").await["changed"], true);
}

#[tokio::test]
async fn unknown_note_ids_are_skipped() {
    let server = Server::shared();
    let a = note(server.stores().new_note().await);
    let client = server.client("dan views unknown notes");
    let payload = view(&client, &["note_9000000001", &a, "note_9000000002", &a]).await;
    assert_eq!(payload["changed"], true);
    assert_eq!(payload["notes"].as_array().unwrap().len(), 1);
    assert_eq!(payload["notes"][0]["id"], a);
    let payload = view(&client, &["note_9000000001"]).await;
    assert_eq!(payload, json!({ "changed": false, "notes": [] }));
}

#[tokio::test]
async fn views_of_a_removed_note_change_no_total() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let client = server.client("eve views a removed note");
    view(&client, &[&note(id)]).await;
    until_counted(server, id, 1).await;

    let sql = stores.sql().await;
    sqlx::query("UPDATE note SET removed_at = now() WHERE id = $1").bind(id).execute(&sql).await.unwrap();
    // This process may still show the note from its cache.
    assert_eq!(view(&client, &[&note(id)]).await["changed"], true);
    eventually("the view is in the log", SOON, || async { (events(&stores, id).await == 2).then_some(()) })
        .await;
    stores.rest().await;
    assert_eq!(totals(&stores, id).await.0, 1);
    let correct = |redis: Option<i64>| redis.is_none_or(|views| views == 1);
    assert!(correct(totals(&stores, id).await.1), "Redis has invalidated or loaded the total");
}

#[tokio::test]
async fn bad_input_is_refused_and_the_error_names_the_argument() {
    let server = Server::shared();
    let a = note(server.stores().new_note().await);
    let client = server.client("fay errs about views");
    let many = |count| vec![a.clone(); count];
    for (variables, argument) in [
        (json!({ "n": [] }), "noteIds"),
        (json!({ "n": many(101) }), "noteIds"),
        (json!({ "n": [a, "user_1"] }), "noteIds"),
        (json!({ "n": ["note_0"] }), "noteIds"),
        (json!({ "n": [a], "k": "" }), "idempotencyKey"),
        (json!({ "n": [a], "k": "k".repeat(65) }), "idempotencyKey"),
    ] {
        let error = client.error(RECORD, variables.clone()).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{variables}: {error}");
        assert_eq!(error["extensions"]["argument"], argument, "{variables}: {error}");
    }
    let longest = client.data(RECORD, json!({ "n": many(100), "k": "k".repeat(64) })).await;
    assert_eq!(longest["recordViews"]["changed"], true);
}

#[tokio::test]
async fn a_stop_by_signal_loses_no_view_and_a_script_flush_has_no_effect() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let client = server.client("gus views");
    let mut notes = Vec::new();
    for _ in 0..20 {
        notes.push(stores.new_note().await);
    }
    for id in &notes {
        let () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut stores.redis().await).await.unwrap();
        view_with_key(&client, &[&note(*id)], &format!("key {id}")).await;
    }
    server.stop();
    server.start_again();
    for id in notes {
        until_counted(&server, id, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn views_under_a_key_are_not_recorded_again_after_a_kill_whether_they_were_appended_or_lost() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    view_with_key(&server.client("ivy views"), &[&note(id)], "once").await;
    server.kill();
    server.start_again();
    stores.rest().await;
    let (appended, _) = totals(&stores, id).await;
    let client = server.client("ivy views");
    assert_eq!(view_with_key(&client, &[&note(id)], "once").await["changed"], true);
    view_with_key(&client, &[&note(id)], "another").await;
    until_counted(&server, id, appended + 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_buffered_while_redis_is_unavailable_and_counted_once() {
    let mut stores = Stores::start(AppendFsync::Always).await;
    let server = Server::start_on(&stores, &[]);
    let client = server.client("hal views in an outage");
    let id = stores.new_note().await;
    view(&client, &[&note(id)]).await;
    until_counted(&server, id, 1).await;

    view(&client, &[&note(id)]).await;
    stores.stop_redis();
    let record = "mutation ($n: [ID!]!) { recordViews(input: { noteIds: $n }) { changed } }";
    assert_eq!(client.data(record, json!({ "n": [note(id)] })).await["recordViews"]["changed"], true);
    stores.start_redis(AppendFsync::Always);
    eventually("the views of the outage are counted", SOON, || async {
        let reply =
            client.send("query ($n: ID!) { note(id: $n) { viewCount } }", json!({ "n": note(id) })).await;
        (reply.body["data"]["note"]["viewCount"] == 3).then_some(())
    })
    .await;
    until_counted(&server, id, 3).await;
}
