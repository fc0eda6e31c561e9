//! The app's own ids: `note:<key>` and `user:<subject>` wherever an id is taken.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Client, Server, Socket};

/// A text that no other test has.
fn new_key() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("post/{}/{}: ü", std::process::id(), NEXT.fetch_add(1, Relaxed))
}

async fn create_note(service: &Client, key: &str) -> String {
    let input = json!({ "title": "From the app", "body": "Text", "key": key });
    let created = service.act("createNote", input, "note { id key }").await;
    assert_eq!(created["note"]["key"], key);
    created["note"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_note_is_liked_collected_commented_and_read_by_its_key_as_by_its_id() {
    let server = Server::shared();
    let (service, reader) =
        (server.client_as(Role::Service, "keys: the app"), server.client("keys: a reader"));
    let key = new_key();
    let id = create_note(&service, &key).await;
    let named = format!("note:{key}");

    let liked = reader.act("likeNote", json!({ "noteId": named }), "changed note { id likeCount }").await;
    assert_eq!(liked, json!({ "changed": true, "note": { "id": id, "likeCount": 1 } }));
    assert_eq!(reader.act("likeNote", json!({ "noteId": id }), "changed").await, json!({ "changed": false }));
    assert_eq!(reader.act("unlikeNote", json!({ "noteId": named }), "changed").await["changed"], true);
    assert_eq!(reader.act("unlikeNote", json!({ "noteId": named }), "changed").await["changed"], false);
    assert_eq!(reader.act("collectNote", json!({ "noteId": named }), "changed").await["changed"], true);
    let comment_key = new_key();
    let comment =
        json!({ "noteId": named, "body": "By key", "key": comment_key, "mentions": ["user:keys: a reader"] });
    let written = service.act("addComment", comment, "comment { id key mentions: note { id } }").await;
    assert_eq!(written["comment"]["key"], *comment_key);
    assert_eq!(written["comment"]["mentions"]["id"], *id);

    let query = "query ($id: ID!, $ids: [ID!]!, $keys: [String!]!) {
        note(id: $id) { id } node(id: $id) { id }
        nodes(ids: $ids) { id }
        notesByKey(keys: $keys) { id viewerHasCollected }
        user(id: \"user:keys: a reader\") { name }
        nobody: user(id: \"user:keys: nobody\") { name }
    }";
    let unknown = new_key();
    let variables = json!({ "id": named, "ids": [named, id, format!("note:{unknown}"), "group:none"], "keys": [unknown, key, key] });
    let own = json!({ "id": id, "viewerHasCollected": true });
    let expected = json!({
        "note": { "id": id }, "node": { "id": id }, "nodes": [{ "id": id }, { "id": id }, null, null],
        "notesByKey": [null, own, own], "user": { "name": "keys: a reader" }, "nobody": null,
    });
    let mut reply = reader.data(query, variables.clone()).await;
    reply["user"]["name"] = json!("keys: a reader"); // what the first token called them
    assert_eq!(reply, expected);
    let literal = format!("{{ note(id: {}) {{ id }} }}", json!(named));
    assert_eq!(reader.data(&literal, json!({})).await["note"]["id"], *id);
}

#[tokio::test]
async fn a_subscription_by_key_gets_the_events_of_the_note() {
    let server = Server::shared();
    let (service, reader) =
        (server.client_as(Role::Service, "keys: the app"), server.client("keys: a liker"));
    let key = new_key();
    let id = create_note(&service, &key).await;
    let mut socket: Socket = server.socket("keys: a watcher").await;
    let query = "subscription ($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) { id likeCount } }";
    socket.subscribe("one", query, json!({ "ids": [format!("note:{key}"), id] })).await;
    let event = socket.data().await;
    assert_eq!(event["noteCountsChanged"], json!({ "id": id, "likeCount": 0 }));
    reader.like(&id).await;
    let event = socket.data().await;
    assert_eq!(event["noteCountsChanged"], json!({ "id": id, "likeCount": 1 }));
}

#[tokio::test]
async fn a_key_of_nothing_is_refused_with_its_name_and_known_as_soon_as_it_exists() {
    let server = Server::shared();
    let (service, reader) =
        (server.client_as(Role::Service, "keys: the app"), server.client("keys: an early one"));
    let key = new_key();
    let like = json!({ "noteId": format!("note:{key}") });
    let error = reader
        .error("mutation ($i: LikeNoteInput!) { likeNote(input: $i) { changed } }", json!({ "i": like }))
        .await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
    assert!(error["message"].as_str().unwrap().contains(&format!("no note with the key {key:?}")), "{error}");
    assert_eq!(
        reader.data("query ($k: [String!]!) { notesByKey(keys: $k) { id } }", json!({ "k": [key] })).await["notesByKey"],
        json!([null])
    );
    let id = create_note(&service, &key).await;
    assert_eq!(reader.act("likeNote", like, "note { id }").await["note"]["id"], *id);
}

#[tokio::test]
async fn a_key_is_given_once_also_in_a_race_and_stays_taken_after_a_removal() {
    let server = Server::shared();
    let service = server.client_as(Role::Service, "keys: the app");
    for (mutation, mut input) in
        [("createNote", json!({ "title": "One", "body": "Text" })), ("createGroup", json!({ "name": "One" }))]
    {
        input["key"] = json!(new_key());
        let all = join_all((0..64).map(|_| service.try_act(mutation, input.clone(), "__typename"))).await;
        assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 1, "{mutation}");
        assert_eq!(
            service.refused(mutation, input.clone()).await,
            ("BAD_USER_INPUT".into(), Some("key".into()))
        );
    }
    let key = new_key();
    let id = create_note(&service, &key).await;
    let named = json!({ "noteId": format!("note:{key}") });
    assert_eq!(
        service.act("deleteNote", named.clone(), "changed deletedNoteId").await,
        json!({ "changed": true, "deletedNoteId": id })
    );
    assert_eq!(service.act("deleteNote", named, "changed").await["changed"], false);
    let again = json!({ "title": "Again", "body": "Text", "key": key });
    let query = "mutation ($i: CreateNoteInput!) { createNote(input: $i) { note { id } } }";
    let error = service.error(query, json!({ "i": again })).await;
    assert_eq!(error["extensions"]["reason"], "KEY_TAKEN", "{error}");
    assert!(error["message"].as_str().unwrap().contains(&id), "{error}");
    let reader = server.client("keys: a late one");
    assert_eq!(
        reader.data("query ($k: [String!]!) { notesByKey(keys: $k) { id } }", json!({ "k": [key] })).await["notesByKey"],
        json!([null])
    );
}

#[tokio::test]
async fn the_same_request_with_a_key_twice_creates_one_note() {
    let server = Server::shared();
    let service = server.client_as(Role::Service, "keys: the app");
    let input = json!({ "title": "One", "body": "Text", "key": new_key(), "idempotencyKey": new_key() });
    let one: Value = service.act("createNote", input.clone(), "note { id }").await;
    assert_eq!(service.act("createNote", input, "note { id }").await, one);
}

#[tokio::test]
async fn bad_keys_and_keys_of_others_are_refused_and_create_nothing() {
    let server = Server::shared();
    let (service, user) = (server.client_as(Role::Service, "keys: the app"), server.client("keys: a user"));
    let note = |key: &str| json!({ "title": "One", "body": "Text", "key": key });
    assert_eq!(user.refused("createNote", note("mine")).await.0, "FORBIDDEN");
    for bad in ["", "a\nb", &"k".repeat(201)] {
        assert_eq!(
            service.refused("createNote", note(bad)).await,
            ("BAD_USER_INPUT".into(), Some("key".into()))
        );
        let named = json!({ "noteId": format!("note:{bad}") });
        assert_eq!(user.refused("likeNote", named).await, ("BAD_USER_INPUT".into(), Some("noteId".into())));
    }
    let of_another_kind = json!({ "noteId": "user:keys: a user" });
    assert_eq!(
        user.refused("likeNote", of_another_kind).await,
        ("BAD_USER_INPUT".into(), Some("noteId".into()))
    );
    assert_eq!(user.refused("likeNote", json!({ "noteId": "inbox:1" })).await.0, "BAD_USER_INPUT");
    let keys: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    let error =
        user.error("query ($k: [String!]!) { notesByKey(keys: $k) { id } }", json!({ "k": keys })).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
}

#[tokio::test]
async fn commands_take_keys_and_subjects_and_never_take_a_key_for_a_number() {
    let server = Server::start(&[]);
    let (service, user) = (server.client_as(Role::Service, "the app"), server.client("a user"));
    let number = create_note(&service, "1000").await;
    user.like("note:1000").await;
    server.stores().rest().await;
    let run = |arguments: &[&str]| {
        let output = server.command().args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let (ok, explained) = run(&["explain", "note:1000", "--actor", "user:a user"]);
    assert!(ok && explained.contains(&format!("\"entity\": \"{number}\"")), "{explained}");
    assert!(explained.contains("\"exists\": true"), "{explained}");
    let (ok, checked) = run(&["reconcile", "--entity", "note:1000"]);
    assert!(ok, "{checked}");
    let (ok, exported) = run(&["export", "--user", "user:a user"]);
    assert!(ok && exported.contains("\"subject\": \"a user\""), "{exported}");
    for unknown in [&["explain", "note:1001"][..], &["reconcile", "--entity", "note:1001"]] {
        let (ok, text) = run(unknown);
        assert!(!ok && text.contains("there is no note with the key \"1001\""), "{text}");
    }
    let (ok, text) = run(&["erase", "user:nobody", "--yes"]);
    assert!(!ok && text.contains("there is no user with the subject \"nobody\""), "{text}");
    let (ok, text) = run(&["erase", "note:1000", "--yes"]);
    assert!(!ok && text.contains("is not a user"), "{text}");
    for (erased, text) in [("user:a user", "is erased"), ("user:a user", "there is no user")] {
        let printed = run(&["erase", erased, "--yes"]).1;
        assert!(printed.contains(text), "{printed}");
    }
}

#[tokio::test]
async fn a_note_shows_the_apps_page_about_it_which_only_services_set() {
    let server = Server::shared();
    let (service, user) = (server.client_as(Role::Service, "keys: the app"), server.client("keys: a user"));
    let note = |url: &str| json!({ "title": "One", "body": "Text", "url": url });
    for page in ["https://app.example/posts/1?a=b", "http://localhost:3000/posts/1"] {
        let created = service.act("createNote", note(page), "note { id url }").await["note"].clone();
        assert_eq!(created["url"], page);
        let read = "query ($id: ID!) { note(id: $id) { url } }";
        assert_eq!(user.data(read, json!({ "id": created["id"] })).await["note"]["url"], page);
    }
    assert_eq!(user.refused("createNote", note("https://app.example/")).await.0, "FORBIDDEN");
    for bad in ["", "posts/1", "javascript:alert(1)", "https://ana:secret@app.example/"] {
        let refused = service.refused("createNote", note(bad)).await;
        assert_eq!(refused, ("BAD_USER_INPUT".into(), Some("url".into())), "{bad}");
    }
}
