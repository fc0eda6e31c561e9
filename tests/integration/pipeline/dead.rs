//! Dead events, which PostgreSQL refuses permanently: isolated, subtracted from counts, listed, applied or dropped.
//! Constraints and triggers on the tables cause real refusals.

use std::process::Output;

use futures_util::future::join_all;
use plaudit_embedded_stores::AppendFsync;
use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{SOON, Server, Stores, Totals, eventually, key, note, plaudit};

/// Long enough that likes sent one after the other are one batch.
const ONE_BATCH: &[&str] = &["--batch-wait", "1s"];

/// Runs `plaudit dead …` on these stores.
fn dead(stores: &Stores, line: &str) -> (bool, String) {
    let url = ["--database-url", stores.database_url()];
    let run = plaudit(stores.data_dir()).arg("dead").args(line.split(' ')).args(url).output().unwrap();
    let Output { status, stdout, stderr } = run;
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(status.success() || !stderr.is_empty());
    (status.success(), stdout)
}

/// The waiting dead events.
fn waiting_events(stores: &Stores) -> Vec<Value> {
    let (_, text) = dead(stores, "list");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn run(stores: &Stores, statement: &str) {
    let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()));
    statement.execute(&stores.sql().await).await.unwrap();
}

/// From now on PostgreSQL refuses likes of the note.
async fn poison(stores: &Stores, id: i64) {
    run(
        stores,
        &format!("ALTER TABLE note_like ADD CONSTRAINT poison_{id} CHECK (target_id <> {id}) NOT VALID"),
    )
    .await;
}

/// From now on PostgreSQL accepts likes of the note again.
async fn accept_again(stores: &Stores, id: i64) {
    run(stores, &format!("ALTER TABLE note_like DROP CONSTRAINT poison_{id}")).await;
}

/// From now on PostgreSQL refuses likes of the note by a trigger, which takes `seconds` per row.
async fn poison_by_trigger(stores: &Stores, id: i64, seconds: f64) {
    run(
        stores,
        &format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM pg_sleep({seconds});
                 IF NEW.target_id = {id} THEN RAISE EXCEPTION 'not this one'; END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER refused BEFORE INSERT OR UPDATE ON note_like FOR EACH ROW EXECUTE FUNCTION refuse()"
        ),
    )
    .await;
}

fn at_rest(likes: i64) -> Totals {
    Totals { rows: likes, total: likes, redis: Some(likes) }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_refused_event_becomes_dead_and_it_is_applied_once_after_the_cause_is_removed() {
    let server = Server::start(ONE_BATCH);
    let stores = server.stores();
    let (bad, good) = (stores.new_note().await, stores.new_note().await);
    let (b, g) = (note(bad), note(good));
    let mut socket = server.socket("watcher").await;
    socket.watch_notes(&[&b]).await;
    poison(&stores, bad).await;

    let likers: Vec<_> = (0..6).map(|i| server.client(&format!("liker of the good note {i}"))).collect();
    let unlucky = server.client("liker of the bad note");
    let (before, after) = likers.split_at(3);
    join_all(before.iter().map(|client| client.like(&g))).await;
    assert_eq!(unlucky.like(&b).await["note"]["likeCount"], 1);
    join_all(after.iter().map(|client| client.like(&g))).await;
    socket.note_until(|note| note["likeCount"] == 1).await;

    socket.note_until(|note| note["likeCount"] == 0).await;
    stores.rest().await;
    assert_eq!(stores.likes(good).await, at_rest(6));
    assert_eq!(stores.number("SELECT count(*) FROM note_like WHERE target_id = $1", bad).await, 0);
    let fields = unlucky.note(&b).await;
    assert_eq!((&fields["likeCount"], &fields["viewerHasLiked"]), (&json!(0), &json!(false)));
    assert_eq!(fields["author"]["likesReceivedCount"], 0);

    let events = waiting_events(&stores);
    assert_eq!(events.len(), 1);
    let actor = stores.user_of("liker of the bad note").await;
    assert_eq!(events[0]["event"], format!("user_{actor} switches note_like of note_{bad} on"));
    assert!(events[0]["error"].as_str().unwrap().contains(&format!("poison_{bad}")), "{}", events[0]);
    assert!(events[0]["tries"].as_i64() >= Some(5));
    assert!(events[0]["error"].as_str().unwrap().starts_with("new row"), "{}", events[0]);

    let (succeeded, output) = dead(&stores, "retry --all");
    assert!(!succeeded && output.contains("refused again"), "{output}");
    accept_again(&stores, bad).await;
    let retry = format!("retry {}", events[0]["id"]);
    assert_eq!(dead(&stores, &retry), (true, format!("{}: applied\n", events[0]["id"])));
    for again in [retry.clone(), retry.replace("retry", "drop")] {
        assert_eq!(dead(&stores, &again), (true, format!("{}: was decided already\n", events[0]["id"])));
    }
    socket.note_until(|note| note["likeCount"] == 1).await;
    stores.rest().await;
    let fields = unlucky.note(&b).await;
    assert_eq!((&fields["likeCount"], &fields["viewerHasLiked"]), (&json!(1), &json!(true)));
    assert_eq!(fields["author"]["likesReceivedCount"], 1);
    assert_eq!(stores.likes(bad).await, at_rest(1));
    let steps =
        "SELECT count(*) FROM activity NATURAL JOIN kind_name WHERE name = 'note_like' AND target_id = $1";
    assert_eq!(stores.number(steps, bad).await, 1);
    let entries =
        "SELECT count(*) FROM inbox_entry NATURAL JOIN kind_name WHERE name = 'note_like' AND target_id = $1";
    assert_eq!(stores.number(entries, bad).await, 1);
    assert_eq!(waiting_events(&stores), [] as [Value; 0]);
    assert_eq!(unlucky.like(&b).await["changed"], false);
    assert_eq!(unlucky.unlike(&b).await["changed"], true);
}

/// The id of the waiting event that switches this user's edge to `state`, on or off.
fn id_of(events: &[Value], actor: i64, state: &str) -> i64 {
    let is_match = |event: &&Value| {
        let text = event["event"].as_str().unwrap();
        text.starts_with(&format!("user_{actor} ")) && text.ends_with(state)
    };
    events.iter().find(is_match).unwrap()["id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_dead_events_of_a_batch_are_isolated_and_the_latest_of_an_edge_counts() {
    let server = Server::start(ONE_BATCH);
    let stores = server.stores();
    let (bad, good) = (stores.new_note().await, stores.new_note().await);
    let (b, g) = (note(bad), note(good));
    let (liker, other) = (server.client("likes twice"), server.client("once"));
    liker.like(&b).await;
    stores.rest().await;
    poison_by_trigger(&stores, bad, 0.0).await;

    liker.unlike(&b).await;
    liker.like(&g).await;
    liker.like(&b).await;
    other.like(&b).await;
    other.like(&g).await;
    eventually("three events are dead", SOON, || async {
        (waiting_events(&stores).len() == 3).then_some(())
    })
    .await;
    stores.rest().await;
    // The row of the earlier like stays.
    assert_eq!((stores.likes(bad).await.rows, stores.likes(good).await), (1, at_rest(2)));
    assert_eq!(liker.note(&b).await["viewerHasLiked"], true);
    let fields = other.note(&b).await;
    assert_eq!((&fields["viewerHasLiked"], &fields["likeCount"]), (&json!(false), &json!(1)));

    run(&stores, "DROP TRIGGER refused ON note_like").await;
    let (events, actor) = (waiting_events(&stores), stores.user_of("likes twice").await);
    let (off, on) = (id_of(&events, actor, "off"), id_of(&events, actor, "on"));
    assert_eq!(dead(&stores, &format!("retry {on}")), (true, format!("{on}: applied\n")));
    assert_eq!(dead(&stores, &format!("retry {off}")), (true, format!("{off}: was decided already\n")));
    let last = id_of(&events, stores.user_of("once").await, "on");
    assert_eq!(dead(&stores, "retry --all"), (true, format!("{last}: applied\n")));
    assert_eq!(dead(&stores, "retry --all"), (true, String::new()));
    stores.rest().await;
    let fields = other.note(&b).await;
    assert_eq!((&fields["viewerHasLiked"], &fields["likeCount"]), (&json!(true), &json!(2)));
    assert_eq!(stores.likes(bad).await, at_rest(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_like_does_not_come_back_after_a_later_like_and_unlike_also_without_a_server() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &[]);
    let (past, kept) = (stores.new_note().await, stores.new_note().await);
    let (p, k, liker) = (note(past), note(kept), server.client("changes their mind"));
    for id in [past, kept] {
        poison(&stores, id).await;
        liker.like(&note(id)).await;
    }
    eventually("two events are dead", SOON, || async { (waiting_events(&stores).len() == 2).then_some(()) })
        .await;
    stores.rest().await;
    accept_again(&stores, past).await;
    accept_again(&stores, kept).await;
    assert_eq!(liker.like(&p).await["changed"], true);
    assert_eq!(liker.unlike(&p).await["changed"], true);
    stores.rest().await;
    assert_eq!(liker.note(&k).await["viewerHasLiked"], false);

    server.stop();
    let (succeeded, output) = dead(&stores, "retry --all");
    assert!(succeeded && output.lines().count() == 1 && output.contains("applied"), "{output}");
    assert_eq!(waiting_events(&stores), [] as [Value; 0]);
    server.start_again();
    let liker = server.client("changes their mind");
    stores.rest().await;
    for (id, likes) in [(past, 0), (kept, 1)] {
        let fields = liker.note(&note(id)).await;
        assert_eq!((&fields["likeCount"], &fields["viewerHasLiked"]), (&json!(likes), &json!(likes == 1)));
        assert_eq!(stores.likes(id).await, at_rest(likes));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_views_are_subtracted_and_can_be_dropped() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, viewer) = (note(id), server.client("viewer"));
    viewer.note(&n).await;
    run(&stores, &format!("ALTER TABLE note_counts ADD CONSTRAINT few CHECK (id <> {id} OR views = 0)"))
        .await;
    viewer.act("recordViews", json!({ "noteIds": [n] }), "changed").await;
    eventually("the views are dead", SOON, || async { (!waiting_events(&stores).is_empty()).then_some(()) })
        .await;
    stores.rest().await;
    let views = "query ($n: ID!) { note(id: $n) { viewCount } }";
    assert_eq!(viewer.data(views, json!({ "n": n })).await["note"]["viewCount"], 0);

    let event = waiting_events(&stores).remove(0);
    assert_eq!(event["event"], format!("1 views of note_{id}"));
    let id = &event["id"];
    assert_eq!(dead(&stores, &format!("drop {id}")), (true, format!("{id}: dropped\n")));
    for again in ["drop", "retry"] {
        let repeated = dead(&stores, &format!("{again} {id}"));
        assert_eq!(repeated, (true, format!("{id}: was decided already\n")));
    }
    assert_eq!(dead(&stores, "list"), (true, String::new()));
    let (succeeded, output) = dead(&stores, "drop 99999");
    assert!(!succeeded && output.contains("no such dead event"), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_this_release_cannot_read_is_applied_by_a_release_that_can() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, liker) = (note(id), server.client("liker of a newer release"));
    liker.act("createGroup", json!({ "name": "A group" }), "__typename").await; // creates the user
    let (actor, author) = (
        stores.user_of("liker of a newer release").await,
        stores.number("SELECT author_id FROM note WHERE id = $1", id).await,
    );
    let shard = actor % 2;
    let mut redis = stores.redis().await;
    let generation: i64 = redis.hget(key(shard, "meta"), "generation").await.unwrap();
    let text = format!("9 wave\0 {actor} {id}");
    let _: String = redis.xadd(key(shard, "log"), format!("{generation}-*"), &[("e", text)]).await.unwrap();
    eventually("the event is dead", SOON, || async { (waiting_events(&stores).len() == 1).then_some(()) })
        .await;
    stores.rest().await;
    let event = waiting_events(&stores).remove(0);
    assert_eq!(event["event"], format!("cannot be read: 9 wave\u{2400} {actor} {id}"));
    let (succeeded, output) = dead(&stores, "retry --all");
    assert!(!succeeded && output.contains("this release cannot read it"), "{output}");

    // As if this were a release that can read the event.
    let payload = format!("1 note_like {actor} {id} {author} on 1763700000000");
    run(&stores, &format!("UPDATE dead_event SET payload = '{payload}'")).await;
    for outcome in ["applied", "was decided already"] {
        assert_eq!(dead(&stores, "retry 1"), (true, format!("1: {outcome}\n")));
    }
    stores.rest().await;
    let fields = liker.note(&n).await;
    assert_eq!((&fields["likeCount"], &fields["viewerHasLiked"]), (&json!(1), &json!(true)));
    assert_eq!(stores.likes(id).await, at_rest(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_entry_in_a_log_becomes_a_dead_event_and_its_shard_continues() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let liker = stores.new_subject_of_shard(0).await;
    let mut redis = stores.redis().await;
    let generation: i64 = redis.hget(key(0, "meta"), "generation").await.unwrap();
    for fields in [[("e", "1 note_like"), ("f", "2")].as_slice(), [("name", "nothing")].as_slice()] {
        let _: String = redis.xadd(key(0, "log"), format!("{generation}-*"), fields).await.unwrap();
    }
    let _: String =
        redis.xadd(key(0, "log"), format!("{generation}-*"), &[("e", b"\xff\xfe")]).await.unwrap();
    server.client(&liker).like(&note(id)).await;
    stores.rest().await;
    assert_eq!(waiting_events(&stores).len(), 3);
    assert_eq!(stores.likes(id).await, at_rest(1));
}

/// Checks that each good note has `likes` likes, and that the bad note's only like is one dead event.
async fn check_one_dead(server: &Server, stores: &Stores, bad: i64, good: &[i64], likes: i64) {
    stores.rest().await;
    let events = waiting_events(stores);
    assert_eq!(events.len(), 1, "{events:?}");
    for id in good {
        assert_eq!(stores.likes(*id).await.rows, likes);
        assert_eq!(server.client("a reader").note(&note(*id)).await["likeCount"], likes);
    }
    let fields = server.client("liker 0").note(&note(bad)).await;
    assert_eq!((&fields["likeCount"], &fields["viewerHasLiked"]), (&json!(0), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_in_the_middle_of_the_bisection_leaves_one_dead_event_and_loses_no_other() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--batch-wait", "2s", "--lease", "1s"]);
    let (bad, good) = (stores.new_note().await, stores.new_note().await);
    poison_by_trigger(&stores, bad, 0.02).await;
    let mut subjects = Vec::new();
    for _ in 0..16 {
        subjects.push(stores.new_subject_of_shard(0).await);
    }
    let offset = || async { stores.number("SELECT number FROM shard WHERE id = $1", 0).await };
    let start = offset().await;
    for (i, subject) in subjects.iter().enumerate() {
        let client = server.client(subject);
        client.like(&note(good)).await;
        if i == 9 {
            client.like(&note(bad)).await;
        }
    }
    let end = start + 17;
    eventually("a part of the events is persisted", SOON, || async {
        (offset().await > start).then_some(())
    })
    .await;
    server.kill();
    assert!(offset().await < end, "all events were persisted before the kill");
    server.start_again();
    eventually("all events are persisted", SOON, || async { (offset().await == end).then_some(()) }).await;
    check_one_dead(&server, &stores, bad, &[good], 16).await;
    assert_eq!(server.client(&subjects[9]).note(&note(bad)).await["viewerHasLiked"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_after_a_like_became_dead_but_before_its_retirement_leaves_the_note_unliked() {
    let stores = Stores::start(AppendFsync::Always).await;
    let mut server = Server::start_on(&stores, &["--batch-wait", "1s", "--lease", "1s"]);
    let (bad, good) = (stores.new_note().await, stores.new_note().await);
    let liker = server.client("liker 0");
    liker.like(&note(good)).await;
    stores.rest().await;
    // Loads the set, so that retirement has something to add to.
    liker.note(&note(good)).await;
    poison(&stores, bad).await;
    liker.like(&note(bad)).await;
    assert_eq!(liker.note(&note(bad)).await["viewerHasLiked"], true);

    // The like is folded; from now on nothing can be retired.
    let mut redis = stores.redis().await;
    let pause = redis::cmd("CLIENT").arg("PAUSE").arg(60_000).arg("WRITE").to_owned();
    let _: String = pause.query_async(&mut redis).await.unwrap();
    eventually("the event is dead", SOON, || async { (waiting_events(&stores).len() == 1).then_some(()) })
        .await;
    server.kill();
    let unpause = redis::cmd("CLIENT").arg("UNPAUSE").to_owned();
    let _: String = unpause.query_async(&mut redis).await.unwrap();
    let actor = stores.user_of("liker 0").await;
    let pending = || async {
        let key = key(actor % 2, format!("p:{actor}"));
        stores.redis().await.hexists::<_, _, bool>(key, format!("note_like:{bad}")).await.unwrap()
    };
    assert!(pending().await, "the like was retired before the kill");
    server.start_again();
    check_one_dead(&server, &stores, bad, &[good], 1).await;
    assert!(!pending().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_event_becomes_dead_during_an_outage_of_postgresql() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let id = stores.new_note().await;
    let (n, liker) = (note(id), server.client("likes through an outage"));
    liker.like(&n).await;
    stores.rest().await;
    stores.stop_postgres();
    for round in 0..6 {
        let payload = if round % 2 == 0 { liker.unlike(&n).await } else { liker.like(&n).await };
        assert_eq!(payload["changed"], true);
    }
    eventually("the persister fails", SOON, || async {
        server.log().contains("retrying until it succeeds").then_some(())
    })
    .await;
    stores.start_postgres();
    stores.rest().await;
    assert_eq!(stores.likes(id).await, at_rest(1));
    assert_eq!(waiting_events(&stores), [] as [Value; 0]);
    // The first failure and the end of each failure streak are logged.
    let lines_with = |what: &str| {
        server.log().lines().filter(|line| line.contains("what=\"persist\"") && line.contains(what)).count()
    };
    let failures = lines_with("retrying until it succeeds");
    assert!((1..=2).contains(&failures), "{}", server.log());
    assert_eq!(lines_with("works again after"), failures, "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_no_event_caused_makes_no_event_dead_and_is_logged_once() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let subject = stores.new_subject_of_shard(0).await;
    let (first, second, liker) = (stores.new_note().await, stores.new_note().await, server.client(&subject));
    liker.like(&note(first)).await;
    liker.note(&note(second)).await;
    stores.rest().await;
    run(&stores, "ALTER TABLE note_like RENAME TO note_like_away").await;
    assert_eq!(liker.like(&note(second)).await["changed"], true);
    let fence = || async { stores.number("SELECT fence FROM shard WHERE id = $1", 0).await };
    let before = fence().await;
    eventually("the owner took over again a few times", SOON, || async {
        (fence().await >= before + 4).then_some(())
    })
    .await;
    run(&stores, "ALTER TABLE note_like_away RENAME TO note_like").await;
    stores.rest().await;
    assert_eq!(stores.likes(second).await, at_rest(1));
    assert_eq!(waiting_events(&stores), [] as [Value; 0]);
    assert_eq!(server.log().matches("note_like").count(), 1, "{}", server.log());
}
