//! History of a note: gains, losses and totals per hour or day, its access rules and its retention.

use chrono::{DateTime, Days, NaiveTime, SecondsFormat, TimeDelta, Utc};
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use sqlx::PgPool;
use support::{Client, SOON, Server, Stores, eventually, note};

const HISTORY: &str =
    "query ($n: ID!, $kind: ActivityKind!, $step: ActivityStep!, $from: DateTime!, $to: DateTime) {
    note(id: $n) { activity(kind: $kind, step: $step, from: $from, to: $to) { at gained lost total } } }";

fn window(note: &str, step: &str, from: DateTime<Utc>, to: Option<DateTime<Utc>>) -> Value {
    json!({ "n": note, "kind": "LIKES", "step": step, "from": text(from), "to": to.map(text) })
}

fn text(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Start of the UTC day this many days ago.
fn days_ago(days: u64) -> DateTime<Utc> {
    (Utc::now().date_naive() - Days::new(days)).and_time(NaiveTime::MIN).and_utc()
}

async fn points(client: &Client, variables: Value) -> Vec<(String, i64, i64, i64)> {
    let activity = client.data(HISTORY, variables).await["note"]["activity"].clone();
    let number = |point: &Value, name: &str| point[name].as_i64().unwrap();
    let point = |point: &Value| {
        let at = point["at"].as_str().unwrap().to_owned();
        (at, number(point, "gained"), number(point, "lost"), number(point, "total"))
    };
    activity.as_array().unwrap().iter().map(point).collect()
}

async fn author_of(stores: &Stores, note: i64) -> String {
    let subject = "SELECT subject FROM app_user AS u JOIN note AS n ON n.author_id = u.id WHERE n.id = $1";
    sqlx::query_scalar(subject).bind(note).fetch_one(&stores.sql().await).await.unwrap()
}

/// A step as the persister would have written it.
async fn add_step(sql: &PgPool, note: i64, at: DateTime<Utc>, on: bool, total: i64) {
    sqlx::query("SELECT ensure_activity_day($1)").bind(at.date_naive()).execute(sql).await.unwrap();
    let step = "INSERT INTO activity (at, kind, actor_id, target_id, is_on, total_after)
                SELECT $1, kind, 1, $2, $3, $4 FROM kind_name WHERE name = 'note_like'";
    sqlx::query(step).bind(at).bind(note).bind(on).bind(total).execute(sql).await.unwrap();
}

#[tokio::test]
async fn the_author_and_a_moderator_see_points_that_add_up_and_others_see_none() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, sql) = (note(id), stores.sql().await);
    let author = server.client(&author_of(&stores, id).await);
    let begin = days_ago(2);
    let minutes = |minutes| begin + TimeDelta::minutes(minutes);
    // Two steps are written after later ones: the logs of several shards are persisted independently.
    add_step(&sql, id, minutes(10 * 60 + 2), true, 1).await;
    add_step(&sql, id, minutes(10 * 60 + 1), true, 2).await;
    add_step(&sql, id, minutes(13 * 60), true, 3).await;
    add_step(&sql, id, minutes(12 * 60 + 59), false, 2).await;
    sqlx::query("UPDATE note_counts SET likes = 2 WHERE id = $1").bind(id).execute(&sql).await.unwrap();
    for liker in 0..5 {
        server.client(&format!("liker {liker} of history")).like(&n).await;
    }
    server.client("liker 0 of history").unlike(&n).await;

    let by_hour = window(&n, "HOUR", begin, Some(days_ago(1)));
    let hours = points(&author, by_hour.clone()).await;
    assert_eq!(hours.len(), 24);
    assert_eq!(hours[0], (text(begin), 0, 0, 0));
    assert_eq!(hours[10], (text(minutes(600)), 2, 0, 2));
    assert_eq!(hours[11], (text(minutes(660)), 0, 0, 2));
    assert_eq!(hours[12], (text(minutes(720)), 0, 1, 2));
    assert_eq!(hours[13], (text(minutes(780)), 1, 0, 2));
    assert_eq!(hours[23], (text(minutes(23 * 60)), 0, 0, 2));

    let moderator = server.client_as(Role::Moderator, "mia moderates");
    eventually("the steps of today", SOON, || async {
        let days = points(&moderator, window(&n, "DAY", begin, None)).await;
        let mut total = 0;
        for (_, gained, lost, after) in &days {
            total += gained - lost;
            assert_eq!(*after, total, "{days:?}");
        }
        (total == 6).then_some(())
    })
    .await;

    for other in ["liker 1 of history", "somebody without an account"] {
        let error = server.client(other).error(HISTORY, by_hour.clone()).await;
        assert_eq!(error["extensions"]["code"], "FORBIDDEN", "{error}");
    }
    let error = server.anonymous().error(HISTORY, by_hour).await;
    assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED");
    let unknown = window("note_9000000003", "DAY", begin, None);
    assert_eq!(author.data(HISTORY, unknown).await["note"], Value::Null);
}

#[tokio::test]
async fn a_total_is_carried_into_a_window_without_events_from_either_side() {
    let server = Server::shared();
    let stores = server.stores();
    let (id, sql) = (stores.new_note().await, stores.sql().await);
    let author = server.client(&author_of(&stores, id).await);
    sqlx::query("UPDATE note_counts SET likes = 7 WHERE id = $1").bind(id).execute(&sql).await.unwrap();
    let total_of = |from, until| {
        let (author, variables) =
            (author.clone(), window(&note(id), "DAY", days_ago(from), Some(days_ago(until))));
        async move { points(&author, variables).await.iter().map(|point| point.3).collect::<Vec<_>>() }
    };
    assert_eq!(total_of(6, 5).await, [7], "the current total, because there are no events");
    add_step(&sql, id, days_ago(4) + TimeDelta::minutes(1), true, 5).await;
    add_step(&sql, id, days_ago(4) + TimeDelta::minutes(1), true, 6).await;
    assert_eq!(total_of(7, 5).await, [4, 4], "the total before the first event");
    assert_eq!(total_of(5, 2).await, [4, 6, 6]);
    assert_eq!(total_of(3, 1).await, [6, 6], "the total after the last event");

    let mut collects = window(&note(id), "DAY", days_ago(5), None);
    collects["kind"] = json!("COLLECTS");
    assert_eq!(points(&author, collects).await[0].3, 0);
}

#[tokio::test]
async fn a_window_outside_the_limits_is_refused_and_its_argument_is_named() {
    let server = Server::shared();
    let stores = server.stores();
    let id = stores.new_note().await;
    let (n, author) = (note(id), server.client(&author_of(&stores, id).await));
    let hours = points(&author, window(&n, "HOUR", days_ago(30), None)).await.len();
    assert_eq!((hours - 1) / 24, 30); // the current hour counts as one, also at the end of a day
    assert_eq!(points(&author, window(&n, "DAY", days_ago(743), None)).await.len(), 744);
    for (variables, argument) in [
        (window(&n, "HOUR", days_ago(32), None), "step"),
        (window(&n, "DAY", days_ago(745), None), "from"),
        (window(&n, "DAY", Utc::now() + TimeDelta::days(1), None), "from"),
        (window(&n, "DAY", days_ago(1), Some(days_ago(2))), "to"),
        (window("user_1", "DAY", days_ago(1), None), "id"),
    ] {
        let error = author.error(HISTORY, variables.clone()).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{variables}: {error}");
        assert_eq!(error["extensions"]["argument"], argument, "{variables}: {error}");
    }
    let mut invalid = window(&n, "DAY", days_ago(1), None);
    invalid["from"] = json!("yesterday");
    let error = author.error(HISTORY, invalid).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_days_older_than_the_retention_are_dropped_and_that_of_tomorrow_is_created() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut server = Server::start_on(&stores, &["--activity-retention", "2days"]);
    let sql = stores.sql().await;
    let id = stores.new_note().await;
    for days in [1, 2, 4, 5, 400] {
        add_step(&sql, id, days_ago(days), true, 1).await;
    }
    server.stop();
    server.start_again();
    let has_day = |day: DateTime<Utc>| {
        let (sql, table) = (sql.clone(), format!("activity_{}", day.format("%Y%m%d")));
        async move {
            let exists = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(table);
            exists.fetch_one(&sql).await.unwrap()
        }
    };
    eventually("old days are dropped", SOON, || async {
        let mut old: Vec<bool> = Vec::new();
        for days in [4, 5, 400] {
            old.push(has_day(days_ago(days)).await);
        }
        (old == [false; 3]).then_some(())
    })
    .await;
    eventually("the partition of tomorrow exists", SOON, || async {
        has_day(days_ago(0) + Days::new(1)).await.then_some(())
    })
    .await;
    let is_kept: bool = has_day(days_ago(1)).await;
    assert!(is_kept, "{}", server.log());
    assert!(server.log().contains("a day of activity was dropped"), "{}", server.log());
}
