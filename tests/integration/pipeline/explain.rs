//! `plaudit explain` shows what all stores hold of one entity, and reports drift.

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Server, Stores, note, user};

fn explain(server: &Server, flags: &[&str]) -> String {
    let output = server.command().arg("explain").args(flags).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_shows_a_note_in_all_stores_and_reports_drift_and_its_repair() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let ann = server.client("ann explains");
    ann.like(&note(id)).await;
    stores.rest().await;
    let actor = stores.user_of("ann explains").await;

    let page = explain(&server, &[&note(id), "--actor", &user(actor)]);
    assert!(page.ends_with("=> all agree\n"), "{page}");
    for part in [
        &format!("note_like on  by user_{actor}, new total 1"),
        &format!("note_like by user_{actor}: on"),
        "row            on, included",
        "cached set     in it",
        "retired    1 note_like",
        "version ",
    ] {
        assert!(page.contains(part), "{part:?} is missing in\n{page}");
    }

    let plant = format!("UPDATE note_counts SET likes = 4 WHERE id = {id}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(plant)).execute(&stores.sql().await).await.unwrap();
    let page = explain(&server, &[&note(id)]);
    assert!(page.contains("=> likes: the total is 4, the rows say 1 (+3)"), "{page}");
    assert!(page.ends_with(&format!("plaudit reconcile --repair --entity note_{id}\n")), "{page}");
    let repair = ["reconcile", "--repair", "--entity", &note(id)];
    assert!(server.command().args(repair).output().unwrap().status.success());
    stores.rest().await;
    let page = explain(&server, &[&note(id)]);
    assert!(page.contains("(command): total likes 4 -> 1") && page.ends_with("=> all agree\n"), "{page}");

    let report: Value = serde_json::from_str(&explain(&server, &[&note(id), "--format", "json"])).unwrap();
    let likes = &report["counters"][0];
    assert_eq!(
        (&likes["name"], &likes["total"], &likes["rows"]),
        (&json!("likes"), &json!(1), &json!({ "counted": 1 }))
    );
    assert_eq!(report["last_repairs"][0]["from"], 4);
    assert_eq!(report["logs"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_likes_are_shown_as_pending() {
    let server = Server::start(&["--batch-wait", "5s"]);
    let stores = server.stores();
    let id = stores.new_note().await;
    let ann = server.client("ann is explained");
    ann.note(&note(id)).await; // loads the counts
    ann.like(&note(id)).await;
    let actor = stores.user_of("ann is explained").await;
    let output = explain(&server, &[&note(id), "--actor", &user(actor), "--format", "json"]);
    let report: Value = serde_json::from_str(&output).unwrap();
    let likes = &report["counters"][0];
    assert_eq!((&likes["total"], &likes["redis"], &likes["pending"]), (&json!(0), &json!(1), &json!(1)));
    assert_eq!(report["last_events"][0]["state"], "folded");
    assert_eq!(report["edges"][0]["pending"]["is_on"], true);
    assert_eq!((&report["edges"][0]["row"], &report["findings"]), (&Value::Null, &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entity_that_never_existed_is_reported_as_such() {
    let page = explain(Server::shared(), &["comment_8000000000"]);
    assert!(page.starts_with("comment_8000000000   never existed"), "{page}");
    assert!(page.ends_with("=> it does not exist\n"), "{page}");
}

const EXPLAIN: &str =
    "query ($id: ID!) { explain(id: $id) { objectId verdict hasDrift isBusy isPresent removedAt shard
    counters { name rows carried total tail redis isRight } hasRedis version isLoading
    logs { shard owner end folded persisted retired behind } lastEvents { shard offset event state }
    waitingInvalidations { reason createdAt dueAt } lastRepairs { what counter from to madeBy madeAt } } }";

#[tokio::test(flavor = "multi_thread")]
async fn moderators_get_the_explanation_of_the_command_by_a_query() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (id, moderator) = (stores.new_note().await, server.client_as(Role::Moderator, "the moderator"));
    server.client("ann asks").like(&note(id)).await;
    stores.rest().await;
    for _ in 0..2 {
        let reply = moderator.send(EXPLAIN, json!({ "id": note(id) })).await;
        let explained = &reply.body["data"]["explain"];
        let report: Value =
            serde_json::from_str(&explain(&server, &[&note(id), "--format", "json"])).unwrap();
        assert_eq!(
            (&explained["objectId"], &explained["verdict"]),
            (&json!(note(id)), &json!(["all agree"]))
        );
        let likes = json!({ "name": "likes", "rows": 1, "carried": 0, "total": 1, "tail": 0, "redis": 1, "isRight": true });
        assert_eq!(explained["counters"][0], likes);
        assert_eq!(
            explained["counters"].as_array().unwrap().len(),
            report["counters"].as_array().unwrap().len()
        );
        assert_eq!(
            (&explained["shard"], &explained["version"]),
            (&report["shard"], &report["redis"]["version"])
        );
        assert_eq!(explained["isPresent"], true);
        for (log, of) in explained["logs"].as_array().unwrap().iter().zip(report["logs"].as_array().unwrap())
        {
            for field in ["owner", "end", "folded", "persisted", "retired", "behind"] {
                assert_eq!(log[field], of[field], "{field}");
            }
        }
        assert_eq!(explained["lastEvents"][0]["state"], "RETIRED");
        assert!(reply.sql_statements > 8, "{}", reply.sql_statements);
    }

    let plant = format!("UPDATE note_counts SET likes = -4 WHERE id = {id}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(plant)).execute(&stores.sql().await).await.unwrap();
    let drifted = moderator.data(EXPLAIN, json!({ "id": note(id) })).await["explain"].clone();
    let verdict = ["likes: the total is -4, the rows say 1 (-5)".to_owned(), repair_line(id)];
    assert_eq!((&drifted["verdict"], &drifted["hasDrift"]), (&json!(verdict), &json!(true)));
    let likes = &drifted["counters"][0];
    assert_eq!((&likes["total"], &likes["isRight"]), (&json!(-4), &json!(false)));
    let repair = ["reconcile", "--repair", "--entity", &note(id)];
    assert!(server.command().args(repair).output().unwrap().status.success());
    stores.rest().await;
    let repaired = moderator.data(EXPLAIN, json!({ "id": note(id) })).await["explain"].clone();
    let last = &repaired["lastRepairs"][0];
    assert_eq!((&last["from"], &last["to"], &last["madeBy"]), (&json!(-4), &json!(1), &json!("command")));
}

fn repair_line(id: i64) -> String {
    format!("repair it: plaudit reconcile --repair --entity note_{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_by_query_is_for_moderators_and_null_for_what_never_existed() {
    let server = Server::shared();
    let id = json!({ "id": note(server.stores().new_note().await) });
    let moderator = server.client_as(Role::Moderator, "the moderator");
    for role in [Role::User, Role::Service] {
        let error = server.client_as(role, "ann may not ask").error(EXPLAIN, id.clone()).await;
        assert_eq!(error["extensions"]["code"], "FORBIDDEN");
    }
    assert_eq!(server.anonymous().error(EXPLAIN, id).await["extensions"]["code"], "UNAUTHENTICATED");
    for unknown in ["note_8000000000", "user_8000000000", "comment_8000000000", "group_8000000000"] {
        assert_eq!(moderator.data(EXPLAIN, json!({ "id": unknown })).await["explain"], Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_without_redis_has_the_part_of_postgresql() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &[]);
    let id = stores.new_note().await;
    server.client("ann likes before").like(&note(id)).await;
    stores.rest().await;
    stores.stop_redis();
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let explained = moderator.data(EXPLAIN, json!({ "id": note(id) })).await["explain"].clone();
    assert_eq!((&explained["hasRedis"], &explained["counters"][0]["rows"]), (&json!(false), &json!(1)));
    assert_eq!(explained["verdict"], json!(["rows and totals agree; Redis could not be read"]));
}
