//! Failovers of PostgreSQL to a standby that lacks the last commits.

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually};

async fn create_note(service: &Client, key: &str) -> Value {
    let input = json!({ "title": "From the app", "body": "Text", "key": key });
    service.act("createNote", input, "note { id author { id } }").await["note"].clone()
}

/// The number in an id.
fn number(id: &Value) -> i64 {
    id.as_str().unwrap().split_once('_').unwrap().1.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failover_of_postgresql_lost_is_forgotten_and_its_ids_are_never_given_again() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let servers = [Server::start_on(&stores, &[]), Server::start_on(&stores, &[])];
    let [service, other] =
        servers.each_ref().map(|server| server.client_as(Role::Service, "failover: the app"));
    let kept = create_note(&service, "kept").await;
    stores.rest().await;
    stores.stop_postgres();
    let standby = stores.copy_files("postgres");
    stores.start_postgres();

    let late = servers[0].client_as(Role::Service, "failover: a late user");
    let found = "query ($id: ID!) { node(id: $id) { id } notesByKey(keys: [\"kept\", \"lost\"]) { id } }";
    let lost = eventually("PostgreSQL takes notes again", SOON, || async {
        let input = json!({ "title": "From the app", "body": "Text", "key": "lost" });
        let query =
            "mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { id author { id } } } }";
        let reply = late.send(query, json!({ "input": input })).await;
        Some(reply.body["data"]["createNote"]["note"].clone()).filter(Value::is_object)
    })
    .await;
    for client in [&service, &other] {
        let before = client.data(found, json!({ "id": lost["id"] })).await;
        let expected = json!({
            "node": { "id": lost["id"] }, "notesByKey": [{ "id": kept["id"] }, { "id": lost["id"] }],
        });
        assert_eq!(before, expected);
    }

    stores.fail_postgres_over_to(&standby);
    let after = json!({ "node": null, "notesByKey": [{ "id": kept["id"] }, null] });
    for client in [&service, &other] {
        eventually("what was lost is forgotten", SOON, || async {
            let reply = client.send(found, json!({ "id": lost["id"] })).await;
            (reply.body["data"] == after).then_some(())
        })
        .await;
    }
    let again = create_note(&late, "lost").await;
    assert!(number(&again["id"]) > number(&lost["id"]) + 900_000, "{again} after {lost}");
    let (author, lost_author) = (&again["author"]["id"], &lost["author"]["id"]);
    assert!(number(author) > number(lost_author) + 900_000, "{author} after {lost_author}");
    let query = "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }";
    let error = other.error(query, json!({ "id": lost["id"] })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
    // The timeline begins once: further connections move nothing.
    let next = create_note(&other, "next").await;
    assert_eq!(number(&next["id"]), number(&again["id"]) + 1);
}
