//! `plaudit explain` shows what all stores hold of one entity, and reports drift.

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Server, Stores, note, text_of, user};

/// The document that the command prints, which `schema/explanation.json` describes.
fn explain(server: &Server, flags: &[&str]) -> Value {
    let output = server.command().arg("explain").args(flags).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let explained = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_str(&text_of("schema/explanation.json")).unwrap();
    is_as_described(&explained, &schema, "explanation");
    explained
}

/// Each part is of a described type; an object has the described parts, and no others.
fn is_as_described(part: &Value, by: &Value, place: &str) {
    if let Some(names) = by["enum"].as_array() {
        return assert!(names.contains(part), "{place}: {part}");
    }
    let is = match part {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let may_be = [&by["type"]].into_iter().chain(by["type"].as_array().into_iter().flatten());
    assert!(may_be.into_iter().any(|name| name == is), "{place}: {part}");
    part.as_array().into_iter().flatten().for_each(|item| is_as_described(item, &by["items"], place));
    if let (Some(parts), Some(described)) = (part.as_object(), by["properties"].as_object()) {
        assert_eq!(parts.len(), described.len(), "{place}: {part}");
        for (name, by) in described {
            is_as_described(parts.get(name).expect(name), by, &format!("{place}.{name}"));
        }
    }
}

const EXPLAIN: &str = "query ($id: ID!) { explain(id: $id) }";
/// The plan answers one part, the validator the other; the answer has both.
const INTROSPECTING: &str = "query ($id: ID!) { explain(id: $id) __schema { queryType { name } } }";

/// The document that a moderator's query gets, which is that of the command.
async fn asked(server: &Server, query: &str, id: &str) -> Value {
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let reply = moderator.send(query, json!({ "id": id })).await;
    assert!(reply.sql_statements > 8, "{}", reply.sql_statements);
    let [asked, printed] = [reply.body["data"]["explain"].clone(), explain(server, &[id])].map(|mut of| {
        // What is left passes between the two.
        ["endsInMs", "textEndsInMs"].iter().for_each(|time| of["redis"][time] = Value::Null);
        of
    });
    assert_eq!(asked, printed);
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn command_and_query_show_moderators_a_note_in_all_stores_and_report_drift_and_its_repair() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let number = stores.new_note().await;
    let (id, ann) = (note(number), server.client("ann explains"));
    ann.like(&id).await;
    stores.rest().await;
    let actor = user(stores.user_of("ann explains").await);
    let run = async |statement: String| {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&stores.sql().await).await.unwrap();
    };

    let of = explain(&server, &[&id, "--actor", &actor]);
    let (step, edge, event) = (&of["lastSteps"][0], &of["edges"][0], &of["lastEvents"][0]);
    assert_eq!((&step["kind"], &step["isOn"]), (&json!("note_like"), &json!(true)));
    assert_eq!((&step["actor"], &step["totalAfter"]), (&json!(actor), &json!(1)));
    assert_eq!((&edge["kind"], &edge["actor"]), (&json!("note_like"), &json!(actor)));
    assert_eq!((&edge["isOn"], &edge["set"], &edge["pending"]), (&json!(true), &json!("in"), &Value::Null));
    assert_eq!((&edge["row"]["isOn"], &edge["row"]["included"]), (&json!(true), &json!(true)));
    assert!(event["event"].as_str().unwrap().starts_with("1 note_like"), "{event}");
    for query in [EXPLAIN, EXPLAIN, INTROSPECTING] {
        let of = asked(&server, query, &id).await;
        assert_eq!((&of["entity"], &of["verdict"]), (&json!(id), &json!(["all agree"])));
        let likes = json!({ "name": "likes", "rows": 1, "carried": 0, "total": 1, "tail": 0, "redis": 1 });
        assert_eq!((&of["counters"][0], &of["findings"]), (&likes, &json!([])));
        assert_eq!((&of["exists"], &of["removedAt"]), (&json!(true), &Value::Null));
        assert!(of["redis"]["version"].is_u64() && of["lastEvents"][0]["state"] == "retired", "{of}");
        assert_eq!(of["logs"].as_array().unwrap().len(), 2);
    }

    for (wrong, off) in [(4, "+3"), (-4, "-5")] {
        run(format!("UPDATE note_counts SET likes = {wrong} WHERE id = {number}")).await;
        let of = asked(&server, EXPLAIN, &id).await;
        let drift = format!("likes: the total is {wrong}, the rows say 1 ({off})");
        let repair = format!("repair it: plaudit reconcile --repair --entity {id}");
        assert_eq!(of["verdict"], json!([drift, repair]));
        let (likes, finding) = (&of["counters"][0], &of["findings"][0]);
        assert_eq!((&likes["total"], &finding["counter"]), (&json!(wrong), &json!("likes")));
        let repair = ["reconcile", "--repair", "--entity", &id];
        assert!(server.command().args(repair).output().unwrap().status.success());
        stores.rest().await;
        let of = asked(&server, EXPLAIN, &id).await;
        let (last, likes) = (&of["lastRepairs"][0], &of["counters"][0]);
        assert_eq!((&last["what"], &last["counter"]), (&json!("total"), &json!("likes")));
        assert_eq!((&last["from"], &last["to"]), (&json!(wrong), &json!(1)));
        assert_eq!((&last["madeBy"], &of["verdict"]), (&json!("command"), &json!(["all agree"])));
        assert_eq!((&likes["total"], &likes["rows"]), (&json!(1), &json!(1)));
    }

    let waiting = "INSERT INTO invalidation (shard, names, reason, due_at)";
    run(format!("{waiting} VALUES (0, '{id}', 'a test', now() + interval '1 h')")).await;
    let of = asked(&server, EXPLAIN, &id).await;
    assert_eq!(of["waitingInvalidations"][0]["reason"], "a test");
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
    let of = explain(&server, &[&note(id), "--actor", &user(actor)]);
    let (likes, edge) = (&of["counters"][0], &of["edges"][0]);
    assert_eq!((&likes["total"], &likes["redis"], &likes["tail"]), (&json!(0), &json!(1), &json!(1)));
    assert_eq!(of["lastEvents"][0]["state"], "folded");
    assert_eq!(edge["pending"]["isOn"], true);
    assert_eq!((&edge["row"], &of["findings"]), (&Value::Null, &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entity_that_never_existed_is_reported_as_such() {
    let of = explain(Server::shared(), &["comment_8000000000"]);
    assert_eq!((&of["entity"], &of["exists"]), (&json!("comment_8000000000"), &json!(false)));
    assert_eq!(of["verdict"], json!(["it does not exist"]));
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
    // The cause may name hosts: it is in the log.
    assert_eq!(explained["redis"]["error"], "Redis could not be read; the server's log says why");
    assert_eq!(explained["counters"][0]["rows"], 1);
    assert_eq!(explained["verdict"], json!(["rows and totals agree; Redis could not be read"]));
}
