//! What services write of their app, many at once: users, groups and notes, and the removal of notes.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Answer, Client, ModerationService, SOON, Server, eventually, in_days, number};

const RESULT: &str = "changed results { outcome error { code argument reason message }";
const LONG_AGO: &str = "2019-05-04T03:02:01.000Z";

/// A text that no other test has.
fn new_key() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("upsert/{}/{}", std::process::id(), NEXT.fetch_add(1, Relaxed))
}

fn service(server: &Server) -> Client {
    server.client_as(Role::Service, "upserts: the app")
}

async fn users(client: &Client, users: Value) -> Value {
    let fields = format!("{RESULT} user {{ id name avatarUrl createdAt }} }}");
    client.act("upsertUsers", json!({ "users": users }), &fields).await
}

async fn groups(client: &Client, groups: Value) -> Value {
    let fields = format!("{RESULT} group {{ id key name description createdAt owner {{ id }} }} }}");
    client.act("upsertGroups", json!({ "groups": groups }), &fields).await
}

async fn notes(client: &Client, notes: Value) -> Value {
    let fields = format!("{RESULT} note {{ id key title body createdAt author {{ id }} group {{ id }} }} }}");
    client.act("upsertNotes", json!({ "notes": notes }), &fields).await
}

async fn removed(client: &Client, ids: Value) -> Value {
    client.act("removeNotes", json!({ "noteIds": ids }), &format!("{RESULT} removedNoteId }}")).await
}

fn outcomes(payload: &Value) -> Vec<&str> {
    payload["results"].as_array().unwrap().iter().map(|of| of["outcome"].as_str().unwrap()).collect()
}

/// Code and argument of the errors.
fn errors(payload: &Value) -> Vec<(Option<&str>, Option<&str>)> {
    payload["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| (of["error"]["code"].as_str(), of["error"]["argument"].as_str()))
        .collect()
}

/// A user of the app; their id.
async fn new_user(client: &Client) -> (String, String) {
    let subject = new_key();
    let written = users(client, json!([{ "subject": subject, "name": "Ann" }])).await;
    (subject, written["results"][0]["user"]["id"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn users_exist_before_their_first_action_and_keep_what_the_app_says_of_them() {
    let server = Server::shared();
    let app = service(server);
    let (ann, bob) = (new_key(), new_key());
    let given = json!([
        { "subject": ann, "name": "Ann", "avatarUrl": "https://example.org/ann.png", "createdAt": LONG_AGO },
        { "subject": bob },
    ]);
    let first = users(&app, given.clone()).await;
    assert_eq!((&first["changed"], outcomes(&first)), (&json!(true), vec!["CREATED", "CREATED"]));
    let user = &first["results"][0]["user"];
    assert_eq!(
        (&user["name"], &user["avatarUrl"], &user["createdAt"]),
        (&json!("Ann"), &json!("https://example.org/ann.png"), &json!(LONG_AGO))
    );
    assert!(first["results"][1]["user"]["name"].as_str().unwrap().starts_with("User "), "{first}");
    let again = users(&app, given).await;
    assert_eq!((&again["changed"], outcomes(&again)), (&json!(false), vec!["UNCHANGED", "UNCHANGED"]));
    assert_eq!(again["results"][0]["user"], *user);

    // The user of the subject's tokens is this one.
    let viewer = server.client(&ann).data("{ viewer { user { id name } } }", json!({})).await;
    assert_eq!(viewer["viewer"]["user"], json!({ "id": user["id"], "name": "Ann" }));

    let renamed = json!([{ "subject": ann, "name": "Anna", "avatarUrl": "", "createdAt": in_days(-1) }]);
    for outcome in ["UPDATED", "UNCHANGED"] {
        let payload = users(&app, renamed.clone()).await;
        assert_eq!(outcomes(&payload), [outcome]);
        let user = &payload["results"][0]["user"];
        assert_eq!(
            (&user["name"], &user["avatarUrl"], &user["createdAt"]),
            (&json!("Anna"), &Value::Null, &json!(LONG_AGO))
        );
    }
}

#[tokio::test]
async fn groups_and_notes_are_written_with_their_author_group_and_time_and_count_once() {
    let server = Server::shared();
    let app = service(server);
    let (subject, author) = new_user(&app).await;
    let (group_key, key) = (new_key(), new_key());
    let given = json!([{ "key": group_key, "ownerId": author, "name": "Old", "description": "d", "createdAt": LONG_AGO }]);
    for outcome in ["CREATED", "UNCHANGED"] {
        let payload = groups(&app, given.clone()).await;
        assert_eq!(outcomes(&payload), [outcome], "{payload}");
        let group = &payload["results"][0]["group"];
        assert_eq!(
            (&group["key"], &group["createdAt"], &group["owner"]["id"]),
            (&json!(group_key), &json!(LONG_AGO), &json!(author))
        );
    }
    let renamed = json!([{ "key": group_key, "ownerId": format!("user:{subject}"), "name": "New" }]);
    for outcome in ["UPDATED", "UNCHANGED"] {
        let payload = groups(&app, renamed.clone()).await;
        assert_eq!(outcomes(&payload), [outcome]);
        assert_eq!(payload["results"][0]["group"]["description"], "d");
    }

    let note = json!({
        "key": key, "authorId": format!("user:{subject}"), "groupId": format!("group:{group_key}"),
        "title": "Old", "body": "Text", "createdAt": LONG_AGO,
    });
    for outcome in ["CREATED", "UNCHANGED"] {
        let payload = notes(&app, json!([note])).await;
        assert_eq!(outcomes(&payload), [outcome], "{payload}");
        let written = &payload["results"][0]["note"];
        assert_eq!((&written["author"]["id"], &written["createdAt"]), (&json!(author), &json!(LONG_AGO)));
        let counts = app
            .data(
                "query ($u: ID!, $g: ID!) { user(id: $u) { noteCount } group(id: $g) { noteCount } }",
                json!({ "u": author, "g": format!("group:{group_key}") }),
            )
            .await;
        assert_eq!(counts, json!({ "user": { "noteCount": 1 }, "group": { "noteCount": 1 } }));
    }
    let mut edited = note.clone();
    edited["title"] = json!("New");
    for outcome in ["UPDATED", "UNCHANGED"] {
        let payload = notes(&app, json!([edited])).await;
        assert_eq!(outcomes(&payload), [outcome]);
        assert_eq!(payload["results"][0]["note"]["title"], "New");
    }
    // What is left out stays, and null removes it.
    let without = |part: &str| {
        let mut note = note.clone();
        note.as_object_mut().unwrap().remove(part);
        note
    };
    let mut untitled = without("body");
    untitled["title"] = Value::Null;
    for (given, outcome, title) in [
        (without("title"), "UNCHANGED", json!("New")),
        (untitled.clone(), "UPDATED", Value::Null),
        (untitled, "UNCHANGED", Value::Null),
    ] {
        let payload = notes(&app, json!([given])).await;
        assert_eq!(outcomes(&payload), [outcome]);
        let written = &payload["results"][0]["note"];
        assert_eq!((&written["title"], &written["body"]), (&title, &json!("Text")));
    }
    let liked = server.client("upserts: a reader").like(&format!("note:{key}")).await;
    assert_eq!(liked["note"]["likeCount"], 1);
}

#[tokio::test]
async fn one_refused_element_leaves_the_others_alone_and_says_what_is_wrong() {
    let server = Server::shared();
    let app = service(server);
    let (subject, author) = new_user(&app).await;
    let (_, other) = new_user(&app).await;
    let mut good = vec![new_key(), new_key()];
    let note = |key: &str| json!({ "key": key, "authorId": author, "title": "t", "body": "b" });
    let with = |field: &str, value: Value| {
        let mut note = note(&new_key());
        note[field] = value;
        note
    };
    let taken = new_key();
    notes(&app, json!([note(&taken)])).await;
    let mut of_other = note(&taken);
    of_other["authorId"] = json!(other);
    let payload = notes(
        &app,
        json!([
            note(&good[0]),
            with("key", json!("")),
            with("key", json!("k".repeat(201))),
            with("key", json!("a\nb")),
            with("authorId", json!("user:upserts: nobody")),
            with("authorId", json!("user:")),
            with("authorId", json!("note_1")),
            with("authorId", json!("user_9007199254740991")),
            with("groupId", json!("group:upserts: none")),
            with("title", json!("two\nlines")),
            with("body", json!("")),
            with("createdAt", json!(in_days(1))),
            with("createdAt", json!("1969-12-31T23:59:59.000Z")),
            of_other,
            note(&good[1]),
        ]),
    )
    .await;
    let bad = |argument| (Some("BAD_USER_INPUT"), Some(argument));
    assert_eq!(
        errors(&payload),
        [
            (None, None),
            bad("key"),
            bad("key"),
            bad("key"),
            (Some("NOT_FOUND"), None),
            bad("authorId"),
            bad("authorId"),
            (Some("NOT_FOUND"), None),
            (Some("NOT_FOUND"), None),
            bad("title"),
            bad("body"),
            bad("createdAt"),
            bad("createdAt"),
            bad("authorId"),
            (None, None),
        ],
        "{payload}"
    );
    let message = payload["results"][4]["error"]["message"].as_str().unwrap();
    assert!(message.contains("no user with the subject \"upserts: nobody\""), "{message}");
    assert!(payload["results"][13]["error"]["message"].as_str().unwrap().contains(&author), "{payload}");
    let query = "query ($k: [String!]!) { notesByKey(keys: $k) { title } }";
    good.push(taken);
    let written = app.data(query, json!({ "k": good })).await;
    assert_eq!(written["notesByKey"], json!([{ "title": "t" }, { "title": "t" }, { "title": "t" }]));

    let payload = users(
        &app,
        json!([
            { "subject": "" }, { "subject": "a\u{0}" }, { "subject": "s".repeat(256) },
            { "subject": subject, "name": "" }, { "subject": subject, "avatarUrl": "http://x" },
            { "subject": subject, "name": "Still" },
        ]),
    )
    .await;
    let expected = ["subject", "subject", "subject", "name", "avatarUrl"].map(bad);
    assert_eq!(errors(&payload)[..5], expected);
    assert_eq!(outcomes(&payload)[5], "UPDATED");
    let group = json!({ "key": new_key(), "ownerId": author, "name": "n" });
    groups(&app, json!([group])).await;
    let mut of_other = group.clone();
    of_other["ownerId"] = json!(other);
    let payload =
        groups(&app, json!([of_other, { "key": "x", "ownerId": "user_9007199254740991", "name": "n" }]))
            .await;
    assert_eq!(errors(&payload), [bad("ownerId"), (Some("NOT_FOUND"), None)]);
}

#[tokio::test]
async fn an_element_sees_what_those_before_it_did() {
    let server = Server::shared();
    let app = service(server);
    let (_, author) = new_user(&app).await;
    let key = new_key();
    let note = |title: &str| json!({ "key": key, "authorId": author, "title": title, "body": "b" });
    let payload = notes(&app, json!([note("one"), note("one"), note("two"), note("one"), note("two")])).await;
    assert_eq!(outcomes(&payload), ["CREATED", "UNCHANGED", "UPDATED", "UPDATED", "UPDATED"]);
    assert_eq!(payload["results"][0]["note"]["title"], "two", "the objects are read after all");
    let back = notes(&app, json!([note("three"), note("two")])).await;
    assert_eq!(outcomes(&back), ["UPDATED", "UPDATED"]);
    assert_eq!(back["results"][0]["note"]["title"], "two");
    let (subject, group) = (new_key(), new_key());
    let payload = users(&app, json!([{ "subject": subject }, { "subject": subject, "name": "N" }])).await;
    assert_eq!(outcomes(&payload), ["CREATED", "UPDATED"]);
    let of = |name: &str| json!({ "key": group, "ownerId": author, "name": name });
    assert_eq!(
        outcomes(&groups(&app, json!([of("a"), of("a"), of("b")])).await),
        ["CREATED", "UNCHANGED", "UPDATED"]
    );
    let count = app.data("query ($u: ID!) { user(id: $u) { noteCount } }", json!({ "u": author })).await;
    assert_eq!(count["user"]["noteCount"], 1);
}

#[tokio::test]
async fn requests_at_once_with_the_same_elements_in_other_orders_write_each_once() {
    let server = Server::shared();
    let app = service(server);
    let (_, author) = new_user(&app).await;
    let keys: Vec<String> = (0..20).map(|_| new_key()).collect();
    let request = |turn: usize| {
        let mut keys = keys.clone();
        keys.rotate_left(turn);
        let elements: Vec<Value> = keys
            .iter()
            .map(|key| json!({ "key": key, "authorId": author, "title": "t", "body": "b" }))
            .collect();
        let app = app.retrying();
        async move {
            let fields = format!("{RESULT} note {{ id }} }}");
            app.act("upsertNotes", json!({ "notes": elements }), &fields).await
        }
    };
    let payloads = join_all((0..12).map(request)).await;
    let created = payloads.iter().flat_map(outcomes).filter(|outcome| *outcome == "CREATED").count();
    assert_eq!(created, keys.len());
    let count = app.data("query ($u: ID!) { user(id: $u) { noteCount } }", json!({ "u": author })).await;
    assert_eq!(count["user"]["noteCount"], keys.len());
}

#[tokio::test]
async fn removed_notes_stop_counting_and_their_keys_stay_taken() {
    let server = Server::shared();
    let app = service(server);
    let (_, author) = new_user(&app).await;
    let keys = [new_key(), new_key(), new_key()];
    let note = |key: &String| json!({ "key": key, "authorId": author, "title": "t", "body": "b" });
    let written = notes(&app, json!(keys.iter().map(note).collect::<Vec<_>>())).await;
    let id = |index: usize| written["results"][index]["note"]["id"].clone();
    let reader = server.client("upserts: a commenter");
    reader.like(id(0).as_str().unwrap()).await;
    server.stores().new_comment(number(&id(0))).await;

    let ids = json!([format!("note:{}", keys[0]), id(1), id(0), "note:upserts: none", "user_1"]);
    let payload = removed(&app, ids.clone()).await;
    assert_eq!(outcomes(&payload), ["REMOVED", "REMOVED", "UNCHANGED", "REFUSED", "REFUSED"], "{payload}");
    assert_eq!(errors(&payload)[3..], [(Some("NOT_FOUND"), None), (Some("BAD_USER_INPUT"), Some("noteIds"))]);
    assert_eq!(payload["results"][0]["removedNoteId"], id(0));
    let again = removed(&app, ids).await;
    assert_eq!(outcomes(&again)[..3], ["UNCHANGED"; 3]);
    assert_eq!(again["changed"], false);

    let query = "query ($u: ID!) { user(id: $u) { noteCount likesReceivedCount } }";
    eventually("the removed notes count no more", SOON, async || {
        let user = app.data(query, json!({ "u": author })).await["user"].clone();
        (user == json!({ "noteCount": 1, "likesReceivedCount": 0 })).then_some(())
    })
    .await;
    let stores = server.stores();
    let removed = "SELECT count(*) FROM comment_index WHERE note_id = $1 AND removed_at IS NOT NULL";
    eventually("their comments are removed", SOON, async || {
        (stores.number(removed, number(&id(0))).await == 1).then_some(())
    })
    .await;
    let payload = notes(&app, json!([note(&keys[0]), note(&keys[2])])).await;
    assert_eq!(outcomes(&payload), ["REFUSED", "UNCHANGED"]);
    assert_eq!(payload["results"][0]["error"]["reason"], "KEY_TAKEN");
}

#[tokio::test]
async fn a_note_that_was_taken_out_of_its_group_stays_out_and_moves_to_no_other() {
    let server = Server::shared();
    let app = service(server);
    let (subject, author) = new_user(&app).await;
    let (one, other, key) = (new_key(), new_key(), new_key());
    let group = |key: &String| json!({ "key": key, "ownerId": author, "name": "n" });
    groups(&app, json!([group(&one), group(&other)])).await;
    let note = |group: &String| json!({ "key": key, "authorId": author, "groupId": format!("group:{group}"), "title": "t", "body": "b" });
    assert_eq!(outcomes(&notes(&app, json!([note(&one)])).await), ["CREATED"]);
    assert_eq!(
        errors(&notes(&app, json!([note(&other)])).await),
        [(Some("BAD_USER_INPUT"), Some("groupId"))]
    );
    let input = json!({ "groupId": format!("group:{one}"), "noteId": format!("note:{key}") });
    server.client(&subject).act("removeGroupNote", input, "changed").await;
    let payload = notes(&app, json!([note(&one)])).await;
    assert_eq!(
        (outcomes(&payload), &payload["results"][0]["note"]["group"]),
        (vec!["UNCHANGED"], &Value::Null)
    );
}

#[tokio::test]
async fn notes_of_hidden_authors_are_hidden_and_erased_subjects_come_back_as_new_users() {
    let server = Server::shared();
    let app = service(server);
    let moderator = server.client_as(Role::Moderator, "upserts: a moderator");
    let (subject, author) = new_user(&app).await;
    moderator.act("hideUser", json!({ "userId": author }), "changed").await;
    let key = new_key();
    let note = json!({ "key": key, "authorId": author, "title": "t", "body": "b" });
    let payload = notes(&app, json!([note])).await;
    assert_eq!(outcomes(&payload), ["CREATED"]);
    let seen = "query ($k: [String!]!) { notesByKey(keys: $k) { title } }";
    assert_eq!(
        server.client("upserts: a reader").data(seen, json!({ "k": [key] })).await["notesByKey"],
        json!([null])
    );
    moderator.act("restoreUser", json!({ "userId": author }), "changed").await;
    eventually("the note is shown", SOON, async || {
        let shown = app.data(seen, json!({ "k": [key] })).await["notesByKey"].clone();
        (shown == json!([{ "title": "t" }])).then_some(())
    })
    .await;
    app.act("eraseUser", json!({ "userId": author, "confirmation": author }), "changed").await;
    let back = users(&app, json!([{ "subject": subject, "name": "Back" }])).await;
    assert_eq!(outcomes(&back), ["CREATED"]);
    assert_ne!(back["results"][0]["user"]["id"], *author);
    let of_erased = json!({ "key": new_key(), "authorId": author, "title": "t", "body": "b" });
    assert_eq!(errors(&notes(&app, json!([of_erased])).await), [(Some("NOT_FOUND"), None)]);
}

#[tokio::test]
async fn while_notes_are_moderated_those_of_the_app_wait_too() {
    // Nobody but the test decides about notes.
    let silent = ModerationService::start(|_| Answer::Silence).await;
    let server = Server::start(&[&silent.flags("2m")[..], &["--moderate-notes"]].concat());
    let app = service(&server);
    let moderator = server.client_as(Role::Moderator, "upserts: a moderator");
    let (_, author) = new_user(&app).await;
    let key = new_key();
    let note =
        |title: &str| json!({ "notes": [{ "key": key, "authorId": author, "title": title, "body": "b" }] });
    let fields = "results { outcome note { id } }";
    let outcome = async |title: &str| {
        let payload = app.act("upsertNotes", note(title), fields).await;
        payload["results"][0]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!((outcome("one").await, outcome("one").await), ("CREATED".into(), "UNCHANGED".into()));
    let named = json!({ "aboutId": format!("note:{key}"), "decision": "APPROVE" });
    let seen = "query ($k: [String!]!) { notesByKey(keys: $k) { title } }";
    let title = async || app.data(seen, json!({ "k": [key] })).await["notesByKey"][0]["title"].clone();
    assert_eq!(title().await, Value::Null);
    moderator.act("decide", named.clone(), "changed").await;
    assert_eq!(title().await, "one");
    // The next text waits, and given again it is what was written last.
    assert_eq!((outcome("two").await, outcome("two").await), ("UPDATED".into(), "UNCHANGED".into()));
    assert_eq!(title().await, "one");
    assert_eq!((outcome("one").await, outcome("one").await), ("UPDATED".into(), "UNCHANGED".into()));
    assert_eq!(outcome("three").await, "UPDATED");
    moderator.act("decide", named, "changed").await;
    assert_eq!(title().await, "three");
}

#[tokio::test]
async fn five_hundred_notes_are_written_by_few_statements() {
    let server = Server::shared();
    let app = service(server);
    let subjects: Vec<String> = (0..50).map(|_| new_key()).collect();
    let elements: Vec<Value> = subjects.iter().map(|subject| json!({ "subject": subject })).collect();
    assert_eq!(outcomes(&users(&app, json!(elements)).await), vec!["CREATED"; 50]);
    let keys: Vec<String> = (0..500).map(|_| new_key()).collect();
    let elements: Vec<Value> = keys
        .iter()
        .zip(subjects.iter().cycle())
        .map(|(key, subject)| json!({ "key": key, "authorId": format!("user:{subject}"), "title": "t", "body": "b" }))
        .collect();
    let query =
        "mutation ($i: UpsertNotesInput!) { upsertNotes(input: $i) { results { outcome error { code } } } }";
    for outcome in ["CREATED", "UNCHANGED"] {
        let reply = app.send(query, json!({ "i": { "notes": elements } })).await;
        let payload = &reply.body["data"]["upsertNotes"];
        assert_eq!(outcomes(payload), vec![outcome; 500], "{}", reply.body);
        assert!(reply.sql_statements <= 20, "{reply:?}");
    }
    let ids: Vec<String> = keys.iter().map(|key| format!("note:{key}")).collect();
    let query = "mutation ($i: RemoveNotesInput!) { removeNotes(input: $i) { results { outcome } } }";
    let reply = app.send(query, json!({ "i": { "noteIds": ids } })).await;
    assert_eq!(outcomes(&reply.body["data"]["removeNotes"]), vec!["REMOVED"; 500], "{}", reply.body);
    assert!(reply.sql_statements <= 25, "{reply:?}");
}

#[tokio::test]
async fn the_app_itself_becomes_no_user() {
    let server = Server::shared();
    let app = server.client_as(Role::Service, &new_key());
    users(&app, json!([{ "subject": new_key() }])).await;
    let viewer = app.data("{ viewer { user { id } } }", json!({})).await;
    assert_eq!(viewer["viewer"]["user"], Value::Null);
}

#[tokio::test]
async fn the_page_of_a_note_is_written_changed_and_left_alone_if_it_is_omitted() {
    let server = Server::shared();
    let service = service(server);
    let (author, _) = new_user(&service).await;
    let key = new_key();
    let mut note =
        json!({ "key": key, "authorId": format!("user:{author}"), "title": "One", "body": "Text" });
    let steps = [
        (Some("https://app.example/1"), "CREATED", json!("https://app.example/1")),
        (Some("https://app.example/1"), "UNCHANGED", json!("https://app.example/1")),
        (Some("https://app.example/2"), "UPDATED", json!("https://app.example/2")),
        (None, "UNCHANGED", json!("https://app.example/2")),
    ];
    for (url, outcome, shown) in steps {
        note["url"] = json!(url);
        let fields = format!("{RESULT} note {{ url }} }}");
        let written = service.act("upsertNotes", json!({ "notes": [note] }), &fields).await;
        assert_eq!(outcomes(&written), [outcome], "{url:?}");
        assert_eq!(written["results"][0]["note"]["url"], shown, "{url:?}");
    }
}
