//! Upserts of services that a kill cuts off: nothing is half-done, and the same request again says what is true.

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, eventually};

const USERS: &str = "mutation ($input: UpsertUsersInput!) { upsertUsers(input: $input) {
    results { outcome user { id name } } } }";
const NOTES: &str = "mutation ($input: UpsertNotesInput!) { upsertNotes(input: $input) {
    results { outcome note { id title author { noteCount } } } } }";

fn app(server: &Server) -> Client {
    server.client_as(Role::Service, "the app")
}

fn users(name: &str) -> Value {
    json!({ "input": { "users": [{ "subject": "ann", "name": name }, { "subject": "new", "name": "New" }] } })
}

fn notes(author: &Value, title: &str) -> Value {
    let note = |key: &str| json!({ "key": key, "authorId": author, "title": title, "body": "Text" });
    json!({ "input": { "notes": [note("known"), note("one"), note("two")] } })
}

/// A server with the user `ann` and a note of hers; her id.
async fn begun() -> (Server, Value) {
    let server = Server::start(&[]);
    let ann = json!({ "input": { "users": [{ "subject": "ann", "name": "Ann" }] } });
    let ann = app(&server).data(USERS, ann).await["upsertUsers"]["results"][0]["user"]["id"].clone();
    let note = json!({ "key": "known", "authorId": ann, "title": "Old", "body": "Text" });
    app(&server).data(NOTES, json!({ "input": { "notes": [note] } })).await;
    (server, ann)
}

/// Names of users, and titles of notes.
async fn written(server: &Server) -> Vec<String> {
    let rows = "SELECT name FROM app_user WHERE subject IN ('ann', 'new')
                UNION ALL SELECT key || ': ' || title FROM note WHERE key IN ('known', 'one', 'two')";
    let mut rows: Vec<String> =
        sqlx::query_scalar(rows).fetch_all(&server.stores().sql().await).await.unwrap();
    rows.sort_unstable();
    rows
}

fn outcomes(data: &Value, mutation: &str) -> Vec<String> {
    let results = data[mutation]["results"].as_array().unwrap_or_else(|| panic!("{data}"));
    results.iter().map(|result| result["outcome"].as_str().unwrap().to_owned()).collect()
}

async fn note_count(server: &Server, ann: &Value) -> i64 {
    server.stores().rest().await;
    let query = "query ($id: ID!) { user(id: $id) { noteCount } }";
    app(server).data(query, json!({ "id": ann })).await["user"]["noteCount"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upsert_whose_server_is_killed_around_its_commit_is_done_whole_or_not_at_all() {
    for (point, is_done) in [("change.before", false), ("change.after", true)] {
        let (mut server, ann) = begun().await;
        for (query, variables) in [(USERS, users("Anne")), (NOTES, notes(&ann, "New"))] {
            server.stop();
            assert!(server.try_start(&[("FAILPOINTS", &format!("{point}=return(die)"))]));
            assert!(app(&server).try_send(query, variables).await.is_err(), "{point}: the server is killed");
            eventually("the server has ended", SOON, || std::future::ready(server.has_ended().then_some(())))
                .await;
            server.start_again();
        }
        let (old, new): (&[&str], &[&str]) =
            (&["Ann", "known: Old"], &["Anne", "New", "known: New", "one: New", "two: New"]);
        assert_eq!(written(&server).await, if is_done { new } else { old }, "{point}");
        for time in 0..2 {
            let is_new = !is_done && time == 0;
            let [first, other] = if is_new { ["UPDATED", "CREATED"] } else { ["UNCHANGED", "UNCHANGED"] };
            let of_users = app(&server).data(USERS, users("Anne")).await;
            assert_eq!(outcomes(&of_users, "upsertUsers"), [first, other], "{point}");
            let of_notes = app(&server).data(NOTES, notes(&ann, "New")).await;
            assert_eq!(outcomes(&of_notes, "upsertNotes"), [first, other, other], "{point}");
        }
        assert_eq!(written(&server).await, new, "{point}");
        assert_eq!(note_count(&server, &ann).await, 3, "{point}");
    }
}

/// Locks a row that the request needs after its first statements, and ends the request's connection while it waits.
async fn cut_off(server: &Server, lock: &'static str, query: &'static str, variables: Value) {
    let sql = server.stores().sql().await;
    let before = written(server).await;
    let mut holder = sql.begin().await.unwrap();
    sqlx::query(lock).execute(&mut *holder).await.unwrap();
    let client = app(server);
    let request = tokio::spawn(async move { client.try_send(query, variables).await });
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
               WHERE datname = current_database() AND wait_event_type = 'Lock' AND backend_type = 'client backend'";
    let mut cuts = 0;
    while !request.is_finished() {
        cuts += sqlx::query_scalar::<_, i64>(cut).fetch_one(&sql).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert!(cuts > 0, "it waited for nothing");
    let reply = request.await.unwrap().unwrap().body;
    assert_eq!(reply["errors"][0]["extensions"]["code"], "RETRY_LATER", "{reply}");
    assert_eq!(written(server).await, before, "nothing is half-done");
    holder.rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upsert_whose_connection_is_cut_between_its_statements_leaves_nothing() {
    let (server, ann) = begun().await;
    // Notes are written before the totals of their authors.
    let totals =
        "SELECT FROM user_counts, app_user WHERE user_counts.id = app_user.id AND subject = 'ann' FOR UPDATE";
    cut_off(&server, totals, NOTES, notes(&ann, "New")).await;
    // Users who exist are locked before new ones are added.
    let row = "SELECT FROM app_user WHERE subject = 'ann' FOR UPDATE";
    cut_off(&server, row, USERS, users("Anne")).await;
    for _ in 0..2 {
        eventually("the notes are written", SOON, || async {
            let reply = app(&server).try_send(NOTES, notes(&ann, "New")).await.ok()?.body;
            reply["errors"].is_null().then_some(())
        })
        .await;
        let of_users = app(&server).data(USERS, users("Anne")).await;
        assert_eq!(of_users["upsertUsers"]["results"][0]["user"]["name"], "Anne");
    }
    assert_eq!(written(&server).await, ["Anne", "New", "known: New", "one: New", "two: New"]);
    assert_eq!(note_count(&server, &ann).await, 3);
}
