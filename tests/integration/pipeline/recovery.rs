//! Recovery after Redis or PostgreSQL lost state.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use serde_json::json;
use support::{SOON, Server, Stores, eventually, key, note};

#[tokio::test]
async fn a_script_flush_is_unnoticed() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let n = note(stores.new_note().await);
    for expected in 1..=3 {
        let () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut stores.redis().await).await.unwrap();
        let payload = server.client(&format!("user {expected}")).like(&n).await;
        assert_eq!(payload["note"]["likeCount"], expected);
    }
}

/// Scripts are flushed repeatedly while 16 users like, read, collect and post.
#[tokio::test(flavor = "multi_thread")]
async fn script_flushes_in_a_storm_of_requests_are_unnoticed() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let mut notes = Vec::new();
    for _ in 0..10 {
        notes.push(stores.new_note().await);
    }
    let is_over = AtomicBool::new(false);
    let flushing = async {
        let (mut redis, mut flushes) = (stores.redis().await, 0);
        while !is_over.load(Relaxed) {
            let () = redis::cmd("SCRIPT").arg("FLUSH").query_async(&mut redis).await.unwrap();
            // 20 ms between two flushes are enough for a few calls, also on a busy machine.
            let () = redis::cmd("WAIT").arg(1).arg(20).query_async(&mut redis).await.unwrap();
            flushes += 1;
        }
        flushes
    };
    let users = (0..16).map(|user| {
        let (server, notes) = (&server, &notes);
        async move {
            let client = server.client(&format!("user {user}"));
            for (round, id) in notes.iter().enumerate() {
                let n = note(*id);
                assert_eq!(client.like(&n).await["changed"], true);
                assert_eq!(client.note(&n).await["viewerHasLiked"], true);
                client.act("collectNote", json!({ "noteId": n }), "changed").await;
                if round == user % 10 {
                    client.act("createNote", json!({ "title": "One", "body": "Text" }), "__typename").await;
                }
            }
        }
    });
    let storm = async {
        join_all(users).await;
        is_over.store(true, Relaxed);
    };
    let (flushes, ()) = tokio::join!(flushing, storm);
    assert!(flushes > 20, "{flushes}");
    stores.rest().await;
    for id in notes {
        let totals = stores.likes(id).await;
        assert_eq!((totals.rows, totals.total, totals.redis), (16, 16, Some(16)));
        let collects = "SELECT collects FROM note_counts WHERE id = $1";
        assert_eq!(stores.number(collects, id).await, 16);
    }
}

/// The likes are folded, but PostgreSQL is down when Redis loses them.
#[tokio::test(flavor = "multi_thread")]
async fn events_that_redis_loses_before_they_are_persisted_are_counted_and_logged() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let (subject, mut notes) = (stores.new_subject_of_shard(1).await, Vec::new());
    for _ in 0..7 {
        notes.push(stores.new_note().await);
    }
    let liker = server.client(&subject);
    for id in &notes[..3] {
        liker.like(&note(*id)).await;
    }
    for id in &notes[3..] {
        liker.like(&note(*id)).await;
        liker.unlike(&note(*id)).await;
    }
    stores.rest().await;
    stores.stop_postgres();
    for id in &notes[3..] {
        assert_eq!(liker.like(&note(*id)).await["note"]["likeCount"], 1);
    }
    stores.command(&["FLUSHALL"]).await;
    stores.start_postgres();

    eventually("likes work again", SOON, || async {
        let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
        let reply = liker.send(query, json!({ "n": note(notes[0]) })).await.body;
        (reply["data"]["likeNote"]["changed"] == false).then_some(())
    })
    .await;
    let is_loss =
        |line: &&str| line.contains("Redis lost the end of the shard's log") && line.contains("shard=1 ");
    let log = server.log();
    let line = log.lines().find(is_loss).unwrap();
    assert!(line.contains(" lost=4"), "{line}");
    let metrics = server.metrics().await;
    assert_eq!(metrics["plaudit_lost_events_total{shard=\"1\"}"], 4.0);
    assert_eq!(metrics["plaudit_lost_events_total{shard=\"0\"}"], 0.0);
    stores.rest().await;
    for (at, id) in notes.iter().enumerate() {
        let likes = i64::from(at < 3);
        assert_eq!(liker.note(&note(*id)).await["likeCount"], likes);
        let totals = stores.likes(*id).await;
        assert_eq!((totals.rows, totals.total, totals.redis), (likes, likes, Some(likes)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_flushall_counts_come_back_from_postgresql_and_versions_do_not_go_backwards() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, liker) = (note(id), server.client("ann stays"));
    liker.like(&n).await;
    let mut socket = server.socket("bob stays").await;
    socket.watch_notes(&[&n]).await;
    stores.rest().await;
    for expected in 1..=2 {
        let before = liker.note(&n).await["countsVersion"].as_u64().unwrap();
        let () = redis::cmd("FLUSHALL").query_async(&mut stores.redis().await).await.unwrap();
        let fields = eventually("likes work again", SOON, || async {
            let query =
                "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { note { likeCount countsVersion } } }";
            let reply = server.client(&format!("user {expected}")).send(query, json!({ "n": n })).await;
            reply.body["data"]["likeNote"].is_object().then(|| reply.body["data"]["likeNote"]["note"].clone())
        })
        .await;
        // The note's shard may be recovered later than the liker's: the reply waits for it up to `reply_wait`.
        assert!(fields["likeCount"].as_u64().unwrap() <= expected + 1);
        // Until the liker's own shard is recovered, `viewerHasLiked` answers RETRY_LATER.
        let shown = eventually("the like is counted", SOON, || async {
            let query = "query ($n: ID!) { note(id: $n) { likeCount countsVersion viewerHasLiked } }";
            let reply = liker.send(query, json!({ "n": n })).await.body;
            let shown = reply["data"]["note"].clone();
            (reply["errors"].is_null() && shown["likeCount"] == expected + 1).then_some(shown)
        })
        .await;
        assert!(shown["countsVersion"].as_u64().unwrap() > before);
        assert_eq!(shown["viewerHasLiked"], true);
        socket.note_until(|note| note["likeCount"] == expected + 1).await;
        stores.rest().await;
    }
}

/// A process that answers clients keeps the ends of the logs that it has read. Redis loses events that were never
/// persisted, and its log gives their offsets to others.
#[tokio::test(flavor = "multi_thread")]
async fn a_count_has_no_lost_event_whose_offset_another_event_got() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let pipeline = ["--roles", "pipeline", "--batch-wait", "10s", "--lease", "1s"];
    let mut owner = Server::start_on(&stores, &pipeline);
    let api = Server::start_on(&stores, &["--roles", "api"]);
    let (a, b) = (stores.new_note().await, stores.new_note().await);
    let liker = api.client(&stores.new_subject_of_shard(0).await);
    assert_eq!(liker.like(&note(a)).await["note"]["likeCount"], 1);
    // The author's count is loaded with the like from the log.
    assert_eq!(liker.note(&note(a)).await["author"]["likesReceivedCount"], 1);
    owner.kill();
    assert_eq!(stores.likes(a).await.rows, 0, "persisted too early for this test");
    stores.command(&["FLUSHALL"]).await;
    owner.start_again();
    eventually("another like is accepted", SOON, || async {
        let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
        let reply = liker.send(query, json!({ "n": note(b) })).await.body;
        (reply["data"]["likeNote"]["changed"] == true).then_some(())
    })
    .await;
    for (id, likes) in [(a, 0), (b, 1)] {
        eventually("the counts are those of the log", SOON, || async {
            let query = "query ($n: ID!) { note(id: $n) { likeCount author { likesReceivedCount } } }";
            let shown =
                api.anonymous().send(query, json!({ "n": note(id) })).await.body["data"]["note"].clone();
            let counts = json!({ "likeCount": likes, "author": { "likesReceivedCount": likes } });
            (shown == counts).then_some(())
        })
        .await;
    }
    stores.rest().await;
    let totals = (stores.likes(a).await, stores.likes(b).await);
    assert_eq!((totals.0.rows, totals.0.redis), (0, Some(0)));
    assert_eq!((totals.1.rows, totals.1.redis), (1, Some(1)));
}

/// The first owner of a log knows that it had events, although none of them was persisted.
#[tokio::test]
async fn the_loss_of_events_of_which_none_was_persisted_is_reported() {
    let server = Server::start(&["--batch-wait", "10s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    let liker = server.client(&stores.new_subject_of_shard(0).await);
    liker.like(&n).await;
    stores.command(&["FLUSHALL"]).await;
    eventually("the like is lost and accepted again", SOON, || async {
        let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
        let reply = liker.send(query, json!({ "n": n })).await.body;
        (reply["data"]["likeNote"]["changed"] == true).then_some(())
    })
    .await;
    assert_eq!(server.metrics().await["plaudit_lost_events_total{shard=\"0\"}"], 1.0);
    stores.rest().await;
    assert_eq!((stores.likes(id).await.rows, liker.note(&n).await["likeCount"].clone()), (1, json!(1)));
}

#[tokio::test]
async fn a_counter_that_expired_is_loaded_again_with_events_that_are_not_persisted() {
    let server = Server::start(&["--batch-wait", "2s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    server.client("ann is persisted").like(&n).await;
    stores.rest().await;
    let () = redis::cmd("UNLINK")
        .arg(key(id % 2, format!("c:note_{id}")))
        .query_async(&mut stores.redis().await)
        .await
        .unwrap();
    // The fold meets a counter that is not held: it publishes an invalidation, and the counter is loaded.
    let payload = server.client("bob is pending").like(&n).await;
    assert_eq!(payload["note"]["likeCount"], 2);
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (2, 2, Some(2)));
}

/// The other shard's log is folded further than it is persisted, and gets no more events.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_reset_alone_catches_up_with_the_idle_logs_of_the_others() {
    let server = Server::start(&["--batch-wait", "3s"]);
    let stores = server.stores();
    let (id, subject) = (stores.new_note_of_shard(0).await, stores.new_subject_of_shard(1).await);
    let n = note(id);
    assert_eq!(server.client(&subject).like(&n).await["note"]["likeCount"], 1);
    // Near the end of its change numbers a shard begins a new epoch.
    let mut redis = stores.redis().await;
    let () = redis::cmd("HSET")
        .arg(key(0, "meta"))
        .arg("change")
        .arg((1_u64 << 36) + 1)
        .query_async(&mut redis)
        .await
        .unwrap();
    eventually("the shard has a new epoch", SOON, || async {
        let change: u64 = redis::cmd("HGET")
            .arg(key(0, "meta"))
            .arg("change")
            .query_async(&mut stores.redis().await)
            .await
            .unwrap();
        (change < 1 << 36).then_some(())
    })
    .await;
    eventually("the like is counted again", SOON, || async {
        let query = "query ($n: ID!) { note(id: $n) { likeCount } }";
        let reply = server.anonymous().send(query, json!({ "n": n })).await;
        let count = reply.body["data"]["note"]["likeCount"].as_i64();
        assert_ne!(count, Some(0), "a published like disappeared");
        (count == Some(1)).then_some(())
    })
    .await;
    stores.rest().await;
}

/// Redis restarts with files of an earlier moment: its log ends before the persisted offset.
#[tokio::test(flavor = "multi_thread")]
async fn after_redis_lost_the_end_of_its_log_counts_are_those_of_postgresql_and_the_loss_is_logged() {
    let mut stores = Stores::start(AppendFsync::Always).await;
    let server = Server::start_on(&stores, &[]);
    let id = stores.new_note().await;
    let n = note(id);
    server.client("ann is in the copy").like(&n).await;
    stores.rest().await;
    let copy = stores.copy_files("redis");
    let lost = server.client("bob is in postgresql only");
    let before = lost.like(&n).await["note"]["countsVersion"].as_u64().unwrap();
    stores.rest().await;

    stores.stop_redis();
    stores.restore_files("redis", &copy);
    stores.start_redis(AppendFsync::Always);
    let fields = eventually("the note can be read", SOON, || async {
        let query = "query ($n: ID!) { note(id: $n) { likeCount countsVersion viewerHasLiked } }";
        let reply = lost.send(query, json!({ "n": n })).await;
        let fields = reply.body["data"]["note"].clone();
        (fields["countsVersion"].as_u64() > Some(before)).then_some(fields)
    })
    .await;
    assert_eq!((&fields["likeCount"], &fields["viewerHasLiked"]), (&json!(2), &json!(true)));
    assert_eq!(lost.like(&n).await["changed"], false);
    assert_eq!(server.client("cat comes later").like(&n).await["note"]["likeCount"], 3);
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (3, 3, Some(3)));
    assert!(server.log().contains("Redis lost the end of the shard's log"), "{}", server.log());
}

/// PostgreSQL restarts with an earlier state, like a standby that is promoted too early.
/// The note belongs to the shard whose log has the lost like: that shard is reset before it persists the like again.
/// Another shard may find PostgreSQL complete again when it looks next, and then it need not be reset.
#[tokio::test(flavor = "multi_thread")]
async fn a_postgresql_that_lost_its_last_commits_gets_them_again_from_the_log() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let (id, other) = (stores.new_note().await, stores.new_note().await);
    let n = note(id);
    let bob = server.client(&stores.new_subject_of_shard(id % 2).await);
    server.client("ann is kept").like(&n).await;
    bob.like(&note(other)).await;
    stores.rest().await;
    stores.stop_postgres();
    let copy = stores.copy_files("postgres");
    stores.start_postgres();
    bob.like(&n).await;
    let query = "query ($n: ID!) { note(id: $n) { likeCount countsVersion viewerHasLiked } }";
    let before = bob.data(query, json!({ "n": n })).await["note"]["countsVersion"].as_u64().unwrap();
    stores.rest().await;

    stores.stop_postgres();
    stores.restore_files("postgres", &copy);
    stores.start_postgres();
    eventually("the like is in PostgreSQL again", SOON, || async {
        (stores.likes(id).await.rows == 2).then_some(())
    })
    .await;
    let fields = eventually("the counters are reset", SOON, || async {
        let fields = bob.send(query, json!({ "n": n })).await.body["data"]["note"].clone();
        (fields["countsVersion"].as_u64() > Some(before)).then_some(fields)
    })
    .await;
    assert_eq!((&fields["likeCount"], &fields["viewerHasLiked"]), (&json!(2), &json!(true)));
    assert_eq!(bob.like(&n).await["changed"], false);
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (2, 2, Some(2)));
}

/// Retirement is blocked, so nothing in Redis shows that PostgreSQL is behind, and no further actions follow.
#[tokio::test(flavor = "multi_thread")]
async fn a_postgresql_that_lost_events_before_they_were_retired_gets_them_again_from_the_log() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--lease", "1s"]);
    let id = stores.new_note().await;
    let (n, ann) = (note(id), server.client("ann"));
    ann.like(&n).await;
    ann.unlike(&n).await;
    stores.rest().await;
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", "retire.before=return(fail)")]));
    stores.stop_postgres();
    let copy = stores.copy_files("postgres");
    stores.start_postgres();
    like_when_up(&server, "ann", &n).await;
    until_persisted(&stores, id, 1).await;
    stores.stop_postgres();
    stores.restore_files("postgres", &copy);
    stores.start_postgres();
    until_persisted(&stores, id, 1).await;
    server.kill();
    server.start_again();
    stores.rest().await;
    assert_eq!(server.client("ann").like(&n).await["changed"], false);
    assert_eq!((stores.likes(id).await.rows, stores.likes(id).await.total), (1, 1));
}

/// The like leaves the pending overlay, but the retirement ends before it writes its offset. PostgreSQL loses the row
/// and does not get it again for a while.
#[tokio::test(flavor = "multi_thread")]
async fn rows_read_before_a_flip_are_not_shown_after_it_left_the_pending_overlay() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--lease", "1s"]);
    let id = stores.new_note().await;
    let n = note(id);
    server.client("ann").like(&n).await;
    server.client("ann").unlike(&n).await;
    stores.rest().await;
    let actor = stores.user_of("ann").await;
    server.kill();
    let points = "retire.after=return(fail);commit.before=1*off->return(fail)";
    assert!(server.try_start(&[("FAILPOINTS", points)]));
    stores.stop_postgres();
    let copy = stores.copy_files("postgres");
    stores.start_postgres();
    like_when_up(&server, "ann", &n).await;
    until_persisted(&stores, id, 1).await;
    let (pending, set) =
        (key(actor % 2, format!("p:{actor}")), key(actor % 2, format!("e:note_like:{actor}")));
    eventually("the flip has left the pending overlay", SOON, || async {
        let left: u64 =
            redis::cmd("EXISTS").arg(&pending).query_async(&mut stores.redis().await).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
    stores.stop_postgres();
    stores.restore_files("postgres", &copy);
    stores.start_postgres();
    let () = redis::cmd("UNLINK").arg(&set).query_async(&mut stores.redis().await).await.unwrap();
    for _ in 0..5 {
        let query = "query ($n: ID!) { note(id: $n) { viewerHasLiked } }";
        let reply = server.client("ann").send(query, json!({ "n": n })).await.body;
        assert_ne!(reply["data"]["note"]["viewerHasLiked"], false, "{reply}");
        let mutation = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
        let reply = server.client("ann").send(mutation, json!({ "n": n })).await.body;
        assert_ne!(reply["data"]["likeNote"]["changed"], true, "{reply}");
    }
    server.kill();
    server.start_again();
    stores.rest().await;
    assert_eq!(server.client("ann").like(&n).await["changed"], false);
    assert_eq!((stores.likes(id).await.rows, stores.likes(id).await.total), (1, 1));
}

/// Repeats a like until the stores accept it.
async fn like_when_up(server: &Server, subject: &str, note: &str) {
    let query = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
    eventually("a like", SOON, || async {
        let reply = server.client(subject).send(query, json!({ "n": note })).await.body;
        reply["data"]["likeNote"]["changed"].as_bool()
    })
    .await;
}

async fn until_persisted(stores: &Stores, note: i64, likes: i64) {
    stores.are_up().await;
    eventually("likes are persisted", SOON, || async {
        let rows = "SELECT count(*) FROM note_like WHERE target_id = $1 AND is_on";
        (stores.number(rows, note).await == likes).then_some(())
    })
    .await;
}

/// Otherwise the next event would begin a new log with the numbers of deleted events.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_deleted_takes_no_event_until_its_next_generation_begins() {
    let server = Server::start(&["--lease", "1s"]);
    let stores = server.stores();
    let id = stores.new_note_of_shard(0).await;
    let n = note(id);
    let first = stores.new_subject_of_shard(0).await;
    server.client(&first).like(&n).await;
    stores.rest().await;
    let () = redis::cmd("DEL").arg(key(0, "log")).query_async(&mut stores.redis().await).await.unwrap();
    for _ in 0..3 {
        let liker = stores.new_subject_of_shard(0).await;
        like_when_up(&server, &liker, &n).await;
    }
    assert!(stores.number("SELECT generation FROM shard WHERE id = $1", 0).await > 1);
    stores.rest().await;
    let totals = stores.likes(id).await;
    assert_eq!((totals.rows, totals.total), (4, 4));
    assert_eq!(server.anonymous().note(&n).await["likeCount"], 4);
}

/// The state of a shard is deleted during actions, after the beginning of its log has been trimmed.
#[tokio::test(flavor = "multi_thread")]
async fn a_shard_whose_state_is_deleted_during_actions_loses_nothing() {
    let server = Server::start(&["--lease", "1s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let n = note(id);
    let mut subjects = Vec::new();
    for _ in 0..12 {
        subjects.push(stores.new_subject_of_shard(0).await);
    }
    for round in 0..4 {
        let on = round % 2 == 0;
        let acts = subjects.iter().map(|subject| {
            let (client, n) = (server.client(subject), n.clone());
            let mutation = if on { "likeNote" } else { "unlikeNote" };
            async move {
                let query =
                    format!("mutation ($n: ID!) {{ {mutation}(input: {{ noteId: $n }}) {{ changed }} }}");
                eventually("the action is acknowledged", SOON, || async {
                    let reply = client.send(&query, json!({ "n": n })).await.body;
                    reply["data"][mutation]["changed"].as_bool()
                })
                .await
            }
        });
        let deletion = async {
            let mut redis = stores.redis().await;
            let () = redis::cmd("DEL").arg(key(0, "meta")).query_async(&mut redis).await.unwrap();
        };
        futures_util::join!(futures_util::future::join_all(acts), deletion);
        stores.rest().await;
        let expected = if on { subjects.len() as i64 } else { 0 };
        let totals = stores.likes(id).await;
        assert_eq!((totals.rows, totals.total), (expected, expected), "round {round}");
        let mut trim = redis::cmd("XTRIM");
        trim.arg(key(0, "log")).arg("MAXLEN").arg(1);
        let _: i64 = trim.query_async(&mut stores.redis().await).await.unwrap();
    }
}
