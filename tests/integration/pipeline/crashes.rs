//! Kills of the server and power cuts: acknowledged likes survive, and none is counted twice.

use std::{collections::HashSet, sync::Arc};

use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use support::{SOON, Server, Stores, eventually, note};

const LIKERS: usize = 200;
const NOTES: usize = 100;
const CONCURRENCY: usize = 32;

#[derive(Default)]
struct Outcomes {
    /// Pairs of note and liker.
    acknowledged: Mutex<HashSet<(usize, usize)>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_like_survives_kill_9_of_the_server_and_is_counted_once() {
    let mut server = Server::start(&[]);
    let id = server.stores().new_note().await;
    let (n, liker) = (note(id), "ann survives");
    for round in 1..=2 {
        let payload = server.client(liker).like(&n).await;
        assert_eq!(payload["changed"], round == 1);
        server.kill();
        server.start_again();
        let fields = server.client(liker).note(&n).await;
        assert_eq!(
            (&fields["likeCount"], &fields["viewerHasLiked"]),
            (&json!(1), &json!(true)),
            "round {round}"
        );
    }
}

/// 20,000 likes of 200 users on 100 notes; the server is killed with `kill -9` three times in between.
#[tokio::test(flavor = "multi_thread")]
async fn kill_9_in_the_middle_of_20000_likes_loses_none_that_was_acknowledged_and_counts_none_twice() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let mut notes = Vec::new();
    for _ in 0..NOTES {
        notes.push(stores.new_note().await);
    }
    let outcomes = Arc::new(Outcomes::default());
    let mut remaining: Vec<(usize, usize)> =
        (0..NOTES).flat_map(|note| (0..LIKERS).map(move |liker| (note, liker))).collect();
    for kill_after in [2_000, 8_000, 14_000] {
        send_likes(&server, &notes, &remaining, &outcomes, kill_after).await;
        server.kill();
        server.start_again();
        let done = outcomes.acknowledged.lock().clone();
        remaining.retain(|like| !done.contains(like));
        check(&server, &notes, &outcomes).await;
    }
    send_likes(&server, &notes, &remaining, &outcomes, usize::MAX).await;
    assert_eq!(outcomes.acknowledged.lock().len(), NOTES * LIKERS);
    check(&server, &notes, &outcomes).await;
    for id in notes {
        let totals = server.stores().likes(id).await;
        assert_eq!(
            (totals.rows, totals.total, totals.redis),
            (LIKERS as i64, LIKERS as i64, Some(LIKERS as i64))
        );
    }
}

/// Sends likes until `enough` are acknowledged in total.
async fn send_likes(
    server: &Server,
    notes: &[i64],
    remaining: &[(usize, usize)],
    outcomes: &Outcomes,
    enough: usize,
) {
    let likes = remaining.iter().map(|(at, liker)| {
        let (client, n) = (server.client(&format!("liker {liker}")), note(notes[*at]));
        async move {
            let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
            let reply = client.try_send(query, json!({ "n": n })).await.ok()?;
            reply.body["data"]["likeNote"]["changed"].is_boolean().then_some((*at, *liker))
        }
    });
    let mut replies = stream::iter(likes).buffer_unordered(CONCURRENCY);
    while let Some(reply) = replies.next().await {
        let mut acknowledged = outcomes.acknowledged.lock();
        acknowledged.extend(reply);
        if acknowledged.len() >= enough {
            return;
        }
    }
}

/// Checks that rows, totals, Redis and queries agree, and include every acknowledged like.
async fn check(server: &Server, notes: &[i64], outcomes: &Outcomes) {
    let stores = server.stores();
    stores.rest().await;
    let sql = stores.sql().await;
    let acknowledged = outcomes.acknowledged.lock().clone();
    for (at, id) in notes.iter().enumerate() {
        let likes = server.anonymous().note(&note(*id)).await["likeCount"].as_i64().unwrap();
        let totals = stores.likes(*id).await;
        assert_eq!(
            (totals.rows, totals.total, totals.redis),
            (likes, likes, Some(likes)),
            "{}",
            server.log()
        );
        let likers: Vec<String> = sqlx::query_scalar(
            "SELECT subject FROM note_like JOIN app_user ON id = actor_id WHERE target_id = $1 AND is_on",
        )
        .bind(id)
        .fetch_all(&sql)
        .await
        .unwrap();
        let rows: HashSet<_> = likers.into_iter().collect();
        for (_, liker) in acknowledged.iter().filter(|(note, _)| *note == at) {
            assert!(rows.contains(&format!("liker {liker}")), "a like of note {id} was lost");
        }
    }
}

#[tokio::test]
async fn a_stop_by_signal_persists_pending_events_and_exits_with_success() {
    let mut server = Server::start(&[]);
    let id = server.stores().new_note().await;
    server.client("bob leaves").like(&note(id)).await;
    server.stop();
    server.start_again();
    let totals = eventually("the like in Redis again", SOON, || async {
        server.anonymous().note(&note(id)).await;
        let totals = server.stores().likes(id).await;
        totals.redis.is_some().then_some(totals)
    })
    .await;
    assert_eq!((totals.rows, totals.total, totals.redis), (1, 1, Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_direct_change_whose_process_is_killed_before_its_invalidation_is_still_shown() {
    let mut server = Server::start(&[]);
    let stores = server.stores();
    let author = server.client("an author");
    let input = json!({ "title": "One", "body": "Text" });
    let author_id = author.act("createNote", input.clone(), "note { author { id } }").await["note"]["author"]
        ["id"]
        .clone();
    let sql = stores.sql().await;
    // Redis takes no writes, so the change is committed but not invalidated. The pause ends with the server.
    let mut pause = redis::cmd("CLIENT");
    pause.arg("PAUSE").arg(60_000).arg("WRITE");
    let () = pause.query_async(&mut stores.redis().await).await.unwrap();
    let second = author.clone();
    let request = tokio::spawn(async move {
        let query = "mutation ($input: CreateNoteInput!) { createNote(input: $input) { __typename } }";
        second.try_send(query, json!({ "input": input })).await
    });
    eventually("the change is committed", SOON, || async {
        let uninvalidated = "SELECT count(*) FROM invalidation WHERE due_at > created_at";
        let rows: i64 = sqlx::query_scalar(uninvalidated).fetch_one(&sql).await.unwrap();
        (rows > 0).then_some(())
    })
    .await;
    server.kill();
    let _ = request.await;
    server.start_again();
    stores.rest().await;
    let query = "query ($u: ID!) { user(id: $u) { noteCount notes { nodes { id } } } }";
    let user = server.anonymous().data(query, json!({ "u": author_id })).await["user"].clone();
    assert_eq!((&user["noteCount"], user["notes"]["nodes"].as_array().unwrap().len()), (&json!(2), 2));
}

/// After a power cut the disk has what was synced before. With `always` that is everything acknowledged; with
/// `everysec` it may be the state of a second ago, plus what PostgreSQL has.
#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_loses_nothing_with_appendfsync_always_and_at_most_the_last_second_with_everysec() {
    for fsync in [AppendFsync::Always, AppendFsync::EverySec] {
        let mut stores = Stores::start(fsync).await;
        let server = Server::start_on(&stores, &["--lease", "1s"]);
        let id = stores.new_note().await;
        let (n, early, late) = (note(id), server.client("ann is early"), server.client("bob is late"));
        // Loads into Redis what a like needs.
        late.like(&n).await;
        late.unlike(&n).await;
        early.like(&n).await;
        stores.rest().await;
        stores.stop_postgres();
        let synced_before = (fsync == AppendFsync::EverySec).then(|| stores.copy_files("redis"));
        assert_eq!(late.like(&n).await["note"]["likeCount"], 2);
        let disk = synced_before.unwrap_or_else(|| stores.copy_files("redis"));
        stores.stop_redis();
        stores.restore_files("redis", &disk);
        stores.start_redis(fsync);
        stores.start_postgres();
        stores.rest().await;
        let fields = eventually("the note can be read, also what only Redis knows", SOON, || async {
            let query = "query ($n: ID!) { note(id: $n) { likeCount viewerHasLiked } }";
            let body = late.send(query, json!({ "n": n })).await.body;
            let is_whole = body["data"]["note"].is_object() && body["extensions"]["stale"].is_null();
            is_whole.then(|| body["data"]["note"].clone())
        })
        .await;
        let likes = fields["likeCount"].as_i64().unwrap();
        // The persister may have read the last like before the cut; then it writes it when PostgreSQL is back.
        let may_be_lost = fsync == AppendFsync::EverySec;
        assert!(likes == 2 || may_be_lost && likes == 1, "{likes} likes with {fsync:?}");
        assert_eq!(fields["viewerHasLiked"], likes == 2);
        let totals = stores.likes(id).await;
        assert_eq!((totals.rows, totals.total, totals.redis), (likes, likes, Some(likes)));
    }
}
