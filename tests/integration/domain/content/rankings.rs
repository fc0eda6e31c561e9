//! Rankings: hot notes by the heat of a time window, stable pages, and the rebuild of lost heat.

use plaudit_embedded_stores::AppendFsync;
use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually, key, note};

const HOT: &str = "query ($window: HotOrder!, $first: Int, $after: String) {
    hotNotes(orderBy: $window, first: $first, after: $after) {
        nodes { id title likeCount } pageInfo { hasNextPage hasPreviousPage endCursor } } }";

/// Creates notes; the first has likes only in its total, none of them recent.
async fn notes(stores: &Stores, number: usize) -> Vec<i64> {
    let mut notes = Vec::new();
    for _ in 0..number {
        notes.push(stores.new_note().await);
    }
    let old = "UPDATE note_counts SET likes = 100 WHERE id = $1";
    sqlx::query(old).bind(notes[0]).execute(&stores.sql().await).await.unwrap();
    notes
}

fn ids(notes: &[i64]) -> Vec<String> {
    notes.iter().map(|id| note(*id)).collect()
}

async fn like(server: &Server, id: i64, likers: std::ops::Range<usize>) {
    for liker in likers {
        let payload = server.client(&format!("liker {liker}")).like(&note(id)).await;
        assert_eq!(payload["changed"], true);
    }
}

/// Ids of a page, and the page; `None` while Redis is in recovery.
async fn page(client: &Client, window: &str, first: usize, after: &Value) -> Option<(Vec<String>, Value)> {
    let reply = client.send(HOT, json!({ "window": window, "first": first, "after": after })).await.body;
    if let Some(error) = reply["errors"].get(0) {
        assert_eq!(error["extensions"]["code"], "RETRY_LATER", "{reply}");
        return None;
    }
    let page = reply["data"]["hotNotes"].clone();
    let ids = page["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned());
    Some((ids.collect(), page["pageInfo"].clone()))
}

/// Waits until the whole list is `expected`; it must never be empty before.
async fn until_ranked(server: &Server, window: &str, expected: &[i64]) {
    let expected = ids(expected);
    eventually(&format!("{window} is {expected:?}"), SOON, || async {
        let (ids, _) = page(&server.anonymous(), window, 50, &Value::Null).await?;
        assert!(!ids.is_empty(), "{window} is empty");
        (ids == expected).then_some(())
    })
    .await;
}

async fn until_ranked_in_spans(server: &Server, expected: &[i64]) {
    for window in ["HOUR", "DAY", "WEEK"] {
        until_ranked(server, window, expected).await;
    }
}

/// Total heat of a note in the buckets of a span, by the events of all shards.
async fn heat(stores: &Stores, id: i64, span: &str) -> f64 {
    let mut redis = stores.redis().await;
    let buckets: Vec<String> = redis.keys(format!("{{*}}:hot:{span}:[0-9]*")).await.unwrap();
    let mut heat = 0.0;
    for bucket in buckets {
        heat += redis.zscore::<_, _, Option<f64>>(bucket, id).await.unwrap().unwrap_or_default();
    }
    heat
}

async fn until_heat_is_complete(stores: &Stores) {
    eventually("heat is complete", SOON, || async {
        for shard in 0..2 {
            let mut redis = stores.redis().await;
            let since: Option<i64> = redis.hget(key(shard, "meta"), "hot").await.unwrap();
            let built: Option<i64> = redis.get(key(shard, "hot:built")).await.unwrap();
            since.zip(built).filter(|(since, built)| built >= since)?;
        }
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hot_notes_are_ranked_by_the_likes_of_the_window_and_an_unlike_lowers_the_rank() {
    let server = Server::start(&[]);
    let [old, a, b, c] = notes(&server.stores(), 4).await[..] else { panic!() };
    // Without likes: by totals, newer notes first.
    until_ranked_in_spans(&server, &[old, c, b, a]).await;
    like(&server, a, 0..1).await;
    like(&server, b, 0..3).await;
    like(&server, c, 0..2).await;
    until_ranked_in_spans(&server, &[b, c, a]).await;
    until_ranked(&server, "ALL", &[old, b, c, a]).await;

    for liker in 0..2 {
        server.client(&format!("liker {liker}")).unlike(&note(b)).await;
    }
    until_ranked_in_spans(&server, &[c, b, a]).await;
    until_ranked(&server, "ALL", &[old, c, b, a]).await;
    server.client("liker 0").unlike(&note(a)).await;
    until_ranked(&server, "DAY", &[c, b]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_keep_their_order_while_likes_arrive() {
    let server = Server::start(&[]);
    let [_, a, b, c, d, e] = notes(&server.stores(), 6).await[..] else { panic!() };
    for (id, likes) in [(e, 5), (d, 4), (c, 3), (b, 2), (a, 1)] {
        like(&server, id, 0..likes).await;
    }
    until_ranked(&server, "DAY", &[e, d, c, b, a]).await;
    let reader = server.anonymous();
    let (mut read, mut after, mut sizes) = (Vec::new(), Value::Null, Vec::new());
    loop {
        let (ids, info) = page(&reader, "DAY", 2, &after).await.unwrap();
        assert_eq!(info["hasPreviousPage"], !after.is_null());
        sizes.push(ids.len());
        read.extend(ids);
        after = info["endCursor"].clone();
        if info["hasNextPage"] == false {
            break;
        }
        // Meanwhile the current order changes.
        let likers = 10 * sizes.len();
        like(&server, a, likers..likers + 6).await;
        until_ranked(&server, "DAY", &[a, e, d, c, b]).await;
    }
    assert_eq!((read, sizes), (ids(&[e, d, c, b, a]), vec![2, 2, 1]));
}

/// PostgreSQL reads more candidates than a ranking has, by coarse steps of heat.
#[tokio::test(flavor = "multi_thread")]
async fn the_ranking_of_all_time_has_the_thousand_hottest_of_many_notes() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (author, sql) = (stores.new_user().await, stores.sql().await);
    let many =
        "INSERT INTO note (author_id, title, body) SELECT $1, 'A note', 'Text' FROM generate_series(1, 6000)";
    sqlx::query(many).bind(author).execute(&sql).await.unwrap();
    // The n-th note has 1/n of the likes of the first one; the order of ids differs.
    let likes = "UPDATE note_counts SET likes = 1000000 / (1 + id * 7919 % 6007)";
    sqlx::query(likes).execute(&sql).await.unwrap();
    let hottest = "SELECT id FROM note_counts ORDER BY likes DESC, id DESC LIMIT 1000";
    let expected: Vec<i64> = sqlx::query_scalar(hottest).fetch_all(&sql).await.unwrap();

    let (reader, mut read, mut after) = (server.anonymous(), Vec::new(), Value::Null);
    for _ in 0..10 {
        let (ids, info) = page(&reader, "ALL", 100, &after).await.unwrap();
        read.extend(ids);
        after = info["endCursor"].clone();
    }
    assert_eq!(read, ids(&expected));
}

#[tokio::test]
async fn a_cursor_of_another_window_and_a_wrong_page_size_are_rejected() {
    let server = Server::shared();
    let reader = server.anonymous();
    server.stores().new_note().await;
    let (_, info) = page(&reader, "ALL", 1, &Value::Null).await.unwrap();
    let after = info["endCursor"].clone();
    let error = reader.error(HOT, json!({ "window": "WEEK", "after": after })).await;
    assert_eq!(
        (&error["extensions"]["code"], &error["extensions"]["argument"]),
        (&json!("BAD_USER_INPUT"), &json!("after"))
    );
    let feed = "query ($after: String) { feed(after: $after) { nodes { id } } }";
    assert_eq!(reader.error(feed, json!({ "after": after })).await["extensions"]["argument"], "after");
    for first in [0, 101] {
        let error = reader.error(HOT, json!({ "window": "DAY", "first": first })).await;
        assert_eq!(error["extensions"]["argument"], "first");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paging_continues_at_the_same_rank_when_the_snapshot_has_expired() {
    let mut server = Server::start(&[]);
    let [old, a, b] = notes(&server.stores(), 3).await[..] else { panic!() };
    until_ranked(&server, "ALL", &[old, b, a]).await;
    let (first, info) = page(&server.anonymous(), "ALL", 1, &Value::Null).await.unwrap();
    assert_eq!(first, ids(&[old]));
    like(&server, a, 0..1).await;
    until_ranked(&server, "ALL", &[old, a, b]).await;
    // The UNLINK and the restart clear the caches of Redis and of the process. What is made later has another id.
    let mut redis = server.stores().redis().await;
    let snapshots: Vec<String> = redis.keys(key(0, "hot:ranking:*")).await.unwrap();
    let () = redis.unlink(snapshots).await.unwrap();
    server.stop();
    server.start_again();
    let (rest, _) = page(&server.anonymous(), "ALL", 5, &info["endCursor"]).await.unwrap();
    assert_eq!(rest, ids(&[a, b]));
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_notes_are_omitted_and_the_next_notes_fill_the_page() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let [old, a, b, c] = notes(&stores, 4).await[..] else { panic!() };
    for (id, likes) in [(a, 1), (b, 2), (c, 3)] {
        like(&server, id, 0..likes).await;
    }
    stores.rest().await;
    // The restart and the UNLINK clear the caches of the process and of Redis.
    server.stop();
    server.start_again();
    let () = stores.redis().await.unlink(key(b % 2, format!("ec:note_{b}"))).await.unwrap();
    let remove = "UPDATE note SET removed_at = now() WHERE id = $1";
    sqlx::query(remove).bind(b).execute(&stores.sql().await).await.unwrap();
    until_ranked(&server, "DAY", &[c, a]).await;
    until_ranked(&server, "ALL", &[old, c, a]).await;
    let (ids_of_page, info) = page(&server.anonymous(), "DAY", 2, &Value::Null).await.unwrap();
    assert_eq!((ids_of_page, &info["hasNextPage"]), (ids(&[c, a]), &json!(false)));
}

/// Redis loses everything, then only the heat; the server is killed during the rebuild.
#[tokio::test(flavor = "multi_thread")]
async fn lost_heat_is_rebuilt_from_the_history_and_the_list_is_never_empty_during_the_rebuild() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let [old, a, b, c] = notes(&stores, 4).await[..] else { panic!() };
    for (id, likes) in [(a, 1), (b, 3), (c, 2)] {
        like(&server, id, 0..likes).await;
    }
    server.client("liker 2").unlike(&note(b)).await;
    until_ranked(&server, "DAY", &[c, b, a]).await;
    for loss in ["everything, and the server", "heat"] {
        stores.rest().await;
        let mut redis = stores.redis().await;
        if loss == "heat" {
            let heat: Vec<String> = redis.keys("{*}:hot:*").await.unwrap();
            let () = redis.unlink(heat).await.unwrap();
        } else {
            let () = redis::cmd("FLUSHALL").query_async(&mut redis).await.unwrap();
        }
        // Without heat, notes are ranked by totals.
        until_ranked(&server, "WEEK", &[old, c, b, a]).await;
        if loss.ends_with("server") {
            server.kill();
            server.start_again();
        }
        until_ranked_in_spans(&server, &[c, b, a]).await;
        for (id, likes) in [(old, 0.0), (a, 1.0), (b, 2.0), (c, 2.0)] {
            assert_eq!(heat(&stores, id, "week").await, likes, "after the loss of {loss}");
        }
    }
    like(&server, a, 10..13).await;
    until_ranked(&server, "HOUR", &[a, c, b]).await;
}

/// Redis restarts from an older copy: its heat lacks the likes that were persisted since then.
#[tokio::test(flavor = "multi_thread")]
async fn heat_lost_by_redis_is_rebuilt_and_counted_once() {
    let mut stores = Stores::start(AppendFsync::Always).await;
    let server = Server::start_on(&stores, &[]);
    let [_, a, b] = notes(&stores, 3).await[..] else { panic!() };
    until_heat_is_complete(&stores).await;
    like(&server, b, 0..1).await;
    like(&server, a, 0..2).await;
    stores.rest().await;
    let copy = stores.copy_files("redis");
    like(&server, b, 1..3).await;
    stores.rest().await;
    until_ranked(&server, "DAY", &[b, a]).await;

    stores.stop_redis();
    stores.restore_files("redis", &copy);
    stores.start_redis(AppendFsync::Always);
    eventually("the heat is rebuilt", SOON, || async {
        (heat(&stores, b, "day").await == 3.0).then_some(())
    })
    .await;
    until_heat_is_complete(&stores).await;
    for (id, likes) in [(a, 2.0), (b, 3.0)] {
        assert_eq!(heat(&stores, id, "week").await, likes);
    }
    until_ranked(&server, "DAY", &[b, a]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_kill_9_heat_is_not_counted_twice() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let [_, a, b] = notes(&stores, 3).await[..] else { panic!() };
    until_heat_is_complete(&stores).await;
    like(&server, a, 0..3).await;
    for round in 1..=2 {
        // Retired, but perhaps not added to the heat: the next owner reads the log again.
        like(&server, b, round - 1..round).await;
        stores.rest().await;
        server.kill();
        server.start_again();
        eventually("the heat has the like", SOON, || async {
            (heat(&stores, b, "week").await >= round as f64).then_some(())
        })
        .await;
        like(&server, a, 2 + round..3 + round).await; // a later event is added, too
        eventually("the heat has the later like", SOON, || async {
            (heat(&stores, a, "week").await == 3.0 + round as f64).then_some(())
        })
        .await;
        for span in ["hour", "day", "week"] {
            assert_eq!(heat(&stores, b, span).await, round as f64, "{span}, round {round}");
        }
        until_ranked(&server, "DAY", &[a, b]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_history_heat_counts_from_the_start() {
    let server = Server::start(&["--activity-retention", "0s"]);
    let [_, a, b] = notes(&server.stores(), 3).await[..] else { panic!() };
    until_heat_is_complete(&server.stores()).await;
    like(&server, b, 0..1).await;
    like(&server, a, 0..2).await;
    until_ranked(&server, "DAY", &[a, b]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_is_unavailable_the_last_ranking_stays_shown() {
    let mut stores = Stores::start(AppendFsync::Always).await;
    let server = Server::start_on(&stores, &[]);
    let [old, a, b] = notes(&stores, 3).await[..] else { panic!() };
    like(&server, a, 0..2).await;
    like(&server, b, 0..1).await;
    until_ranked(&server, "DAY", &[a, b]).await;
    stores.stop_redis();
    let titles = "query ($window: HotOrder!) { hotNotes(orderBy: $window) { nodes { id title } } }";
    let answer = async |window: &str| server.anonymous().send(titles, json!({ "window": window })).await.body;
    let shown = |answer: &Value| {
        let nodes = answer["data"]["hotNotes"]["nodes"].as_array().cloned().unwrap_or_default();
        nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for _ in 0..5 {
        let answer = answer("DAY").await;
        assert_eq!(shown(&answer), ids(&[a, b]), "{answer}");
    }
    // This process has never read the other window: notes are ranked by their totals.
    let by_totals = answer("WEEK").await;
    assert_eq!((shown(&by_totals), &by_totals["extensions"]["stale"]), (ids(&[old, a, b]), &json!(true)));
    stores.start_redis(AppendFsync::Always);
    until_ranked(&server, "WEEK", &[a, b]).await;
}

/// The ids of the rankings that Redis keeps for later pages.
async fn snapshots(stores: &Stores, window: &str) -> usize {
    let pattern = key(0, format!("hot:ranking:{window}:*"));
    stores.redis().await.keys::<_, Vec<String>>(pattern).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_makes_rankings_for_all_and_the_last_one_stays_without_it() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut pipeline = Server::start_on(&stores, &["--roles", "pipeline"]);
    let api: Vec<Server> = (0..3).map(|_| Server::start_on(&stores, &["--roles", "api"])).collect();
    let [_, a, b] = notes(&stores, 3).await[..] else { panic!() };
    like(&api[0], a, 0..2).await;
    like(&api[1], b, 0..1).await;
    for server in &api[..2] {
        until_ranked(server, "DAY", &[a, b]).await;
    }
    stores.rest().await;
    pipeline.stop();
    let made = snapshots(&stores, "day").await;
    // Nobody makes another one, and all show the last: also the process that has read none.
    for server in &api {
        until_ranked(server, "DAY", &[a, b]).await;
    }
    assert!(made > 0);
    assert_eq!(snapshots(&stores, "day").await, made);
    let _pipeline = Server::start_on(&stores, &["--roles", "pipeline"]);
    like(&api[0], b, 2..4).await;
    for server in &api {
        until_ranked(server, "DAY", &[b, a]).await;
    }
}
