//! The moderation queue under load and crashes: each comment gets one decision.

use std::time::Instant;

use futures_util::{StreamExt, stream};
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use redis::AsyncCommands;
use serde_json::json;

use super::{PIPELINE, Scene, comments_of, queue, unread_replies};
use support::{Answer, ModerationService, SOON, Server, Stores, eventually, key, note, number};

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_in_the_middle_of_300_comments_decides_each_of_them_once() {
    const COMMENTS: usize = 300;
    const AUTHORS: usize = 6;
    let service = ModerationService::start(|text| {
        if text.starts_with("bad") { Answer::Reject("bad") } else { Answer::Approve }
    })
    .await;
    // A comment that a killed server was judging waits for twice this time.
    let mut server = Server::start(&service.flags("5s"));
    let scene = Scene::new(&server, "ann is discussed in a storm").await;
    let n = scene.note.clone();
    drop(scene);
    let authors: Vec<String> = (0..AUTHORS).map(|i| format!("author {i}")).collect();
    for (round, part) in (0..COMMENTS).collect::<Vec<_>>().chunks(COMMENTS / 3).enumerate() {
        let decided = async {
            let enough = (round * COMMENTS / 3 + COMMENTS / 6) as i64;
            eventually("half of this round's comments are decided", SOON, || async {
                let lines = "SELECT count(*) FROM decision WHERE $1 >= 0";
                (server.stores().number(lines, 0).await >= enough).then_some(())
            })
            .await;
        };
        let sent =
            stream::iter(
                part.iter().map(|at| {
                    let (client, n) = (server.client(&authors[at % AUTHORS]).retrying(), &n);
                    let body = format!("{} {at}", if at % 3 == 0 { "bad" } else { "good" });
                    async move {
                        client.act("addComment", json!({ "noteId": n, "body": body }), "__typename").await
                    }
                }),
            )
            .buffer_unordered(16)
            .count();
        tokio::join!(sent, decided);
        server.kill();
        server.start_again();
    }
    let stores = server.stores();
    eventually("all comments are decided", SOON, || async {
        (stores.number("SELECT count(*) FROM submission WHERE $1 >= 0", 0).await == 0).then_some(())
    })
    .await;
    stores.rest().await;

    let note_id = number(&json!(n));
    let good = (COMMENTS - COMMENTS / 3) as i64;
    let decided = "SELECT count(*) FROM decision AS d JOIN comment_index AS i ON d.kind = 'comment' AND i.id = d.target_id
                   WHERE i.note_id = $1 AND d.verdict = i.state";
    assert_eq!(stores.number(decided, note_id).await, COMMENTS as i64);
    let comments = "SELECT count(DISTINCT d.target_id) FROM decision AS d
                    JOIN comment_index AS i ON d.kind = 'comment' AND i.id = d.target_id WHERE i.note_id = $1";
    assert_eq!(stores.number(comments, note_id).await, COMMENTS as i64);
    assert_eq!(stores.number("SELECT count(*) FROM decision WHERE $1 >= 0", 0).await, COMMENTS as i64);
    let wrong = "SELECT count(*) FROM comment_index AS i JOIN comment_body AS b ON b.id = i.id
                 WHERE i.note_id = $1 AND (i.state = 'approved') <> (b.body LIKE 'good%')";
    assert_eq!(stores.number(wrong, note_id).await, 0);

    let owner = server.client("ann is discussed in a storm");
    let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
    let count = owner.data(query, json!({ "n": n })).await["note"]["commentCount"].clone();
    assert_eq!(count, good);
    let rows = "SELECT count(*) FROM comment_index WHERE note_id = $1 AND state = 'approved'";
    assert_eq!(stores.number(rows, note_id).await, good);
    assert_eq!(totals(&stores, "note", note_id).await, (good, Some(good)));
    for author in &authors {
        let id = stores.user_of(author).await;
        let rows = "SELECT count(*) FROM comment_index WHERE author_id = $1 AND state = 'approved'";
        let approved = stores.number(rows, id).await;
        assert_eq!(comments_of(&owner, &json!(support::user(id))).await, approved);
        assert_eq!(totals(&stores, "user", id).await, (approved, Some(approved)));
    }
    assert_eq!(unread_replies(&owner).await, good);
    let entries = "SELECT count(*) FROM inbox_entry NATURAL JOIN kind_name WHERE recipient_id = $1 AND name = 'comment'";
    let owner_id = stores.user_of("ann is discussed in a storm").await;
    assert_eq!(stores.number(entries, owner_id).await, good);
    println!("the service got {} requests for {COMMENTS} comments", service.request_count());
}

/// Comments of a note or a user: the total, and what Redis holds.
async fn totals(stores: &Stores, kind: &str, id: i64) -> (i64, Option<i64>) {
    let total = stores.number(&format!("SELECT comments FROM {kind}_counts WHERE id = $1"), id).await;
    let key = key(id % 2, format!("c:{kind}_{id}"));
    (total, stores.redis().await.hget(key, "comments").await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_of_10000_comments_drains_and_its_lag_falls_to_zero() {
    const COMMENTS: i64 = 10_000;
    const NOTES: i64 = 50;
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut pipeline = Server::start_on(&stores, &PIPELINE);
    let api = Server::start_on(&stores, &["--roles", "api"]);
    pipeline.kill();
    let mut notes = Vec::new();
    for _ in 0..NOTES {
        notes.push(stores.new_note().await);
    }
    let mut authors = Vec::new();
    for _ in 0..NOTES {
        authors.push(stores.new_user().await);
    }
    // The first comment has waited for an hour.
    let fill = "WITH new AS (
            INSERT INTO comment_index (note_id, author_id)
            SELECT $1[1 + i % cardinality($1)], $2[1 + i / 7 % cardinality($2)] FROM generate_series(1, $3) AS i
            RETURNING id
        ), text AS (INSERT INTO comment_body (id, body) SELECT id, 'Some words' FROM new)
        INSERT INTO submission (kind, target_id, created_at, due_at)
        SELECT 'comment', id, at, at FROM (
            SELECT id, now() - interval '1 hour' + row_number() OVER (ORDER BY id) * interval '360 ms' AS at FROM new
        ) AS queued";
    let query = sqlx::query(fill).bind(&notes).bind(&authors).bind(COMMENTS);
    query.execute(&stores.sql().await).await.unwrap();
    let moderator = api.client_as(Role::Moderator, "mia reads the queue");
    let full = queue(&moderator).await;
    assert_eq!((&full["waitingCount"], &full["undecidedCount"]), (&json!(COMMENTS), &json!(0)));
    let oldest = full["oldestWaitingSeconds"].as_i64().unwrap();
    assert!((3_600 - 1..3_700).contains(&oldest), "{oldest}");

    let start = Instant::now();
    pipeline.start_again();
    let (mut left, mut lag, mut steps) = (COMMENTS, oldest, 0);
    while left > 0 {
        let since = Instant::now();
        let state = eventually("the queue gets shorter", SOON, || async {
            let state = queue(&moderator).await;
            (state["waitingCount"].as_i64().unwrap() < left).then_some(state)
        })
        .await;
        // The number of comments in memory is limited.
        let leased = "SELECT count(*) FROM submission WHERE tries > 0 AND $1 >= 0";
        assert!(stores.number(leased, 0).await <= 64);
        let now = state["oldestWaitingSeconds"].as_i64().unwrap();
        assert!(now <= lag + 1 + since.elapsed().as_secs() as i64, "the lag rose from {lag} s to {now} s");
        (left, lag, steps) = (state["waitingCount"].as_i64().unwrap(), now, steps + 1);
    }
    println!("{COMMENTS} comments drained within {:?}, start included; {steps} steps", start.elapsed());
    let empty = json!({ "waitingCount": 0, "undecidedCount": 0, "oldestWaitingSeconds": 0 });
    assert_eq!(queue(&moderator).await, empty);
    stores.rest().await;
    let sum = "SELECT sum(comments)::bigint FROM note_counts WHERE $1 >= 0";
    assert_eq!(stores.number(sum, 0).await, COMMENTS);
    let sum = "SELECT sum(comments)::bigint FROM user_counts WHERE $1 >= 0";
    assert_eq!(stores.number(sum, 0).await, COMMENTS);
    let lines = "SELECT count(*) FROM decision WHERE verdict = 'approved' AND $1 >= 0";
    assert_eq!(stores.number(lines, 0).await, COMMENTS);
    let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
    for id in &notes {
        let count = moderator.data(query, json!({ "n": note(*id) })).await["note"]["commentCount"].clone();
        assert_eq!(count, COMMENTS / NOTES);
    }
}
