//! Every argument and input field of type `ID`, in the schema: each takes a key in place of an id, and means the same.

use std::collections::{BTreeMap, BTreeSet};

use async_graphql::parser::types::InputValueDefinition;
use plaudit_token_auth::Role;
use serde_json::{Value, json};

use super::schema_types::{Types, named};
use support::{Server, Socket, Stores, in_days, number, token_as};

const APP: (Role, &str) = (Role::Service, "ids: the app");
const READER: (Role, &str) = (Role::User, "ids: a reader");
const MODERATOR: (Role, &str) = (Role::Moderator, "ids: a moderator");
const LEAVER: (Role, &str) = (Role::User, "ids: a leaver");

const OF_APP: &str = "user:ids: the app";
const OF_LEAVER: &str = "user:ids: a leaver";
const ANN: &str = "user:ids: ann";
const BEN: &str = "user:ids: ben";
/// By the app, with the next note and comment, and the first note in it.
const GROUP: &str = "group:ids/group";
const NOTE: &str = "note:ids/note";
const COMMENT: &str = "comment:ids/comment";
/// By others.
const OTHER_NOTE: &str = "note:ids/other";
const BAD_NOTE: &str = "note:ids/bad";
const GOOD_COMMENT: &str = "comment:ids/good";
const BAD_COMMENT: &str = "comment:ids/bad";

/// A root field, and arguments with keys. They may be sent again, and are answered the same then.
struct Case {
    of: &'static str,
    field: &'static str,
    by: (Role, &'static str),
    arguments: Value,
    shown: &'static str,
}

fn query(field: &'static str, by: (Role, &'static str), arguments: Value, shown: &'static str) -> Case {
    Case { of: "Query", field, by, arguments, shown }
}

fn live(field: &'static str, arguments: Value, shown: &'static str) -> Case {
    Case { of: "Subscription", field, by: READER, arguments, shown }
}

fn act(by: (Role, &'static str), field: &'static str, input: Value, shown: &'static str) -> Case {
    Case { of: "Mutation", field, by, arguments: json!({ "input": input }), shown }
}

/// In their order.
fn cases() -> Vec<Case> {
    let steps = [reads(), of_readers(), of_moderators(), of_the_app(), removals()];
    steps.into_iter().flatten().collect()
}

fn reads() -> Vec<Case> {
    vec![
        query("node", READER, json!({ "id": COMMENT }), "id"),
        query("nodes", READER, json!({ "ids": [NOTE, COMMENT, GROUP, ANN] }), "id"),
        query("note", READER, json!({ "id": NOTE }), "id"),
        query("group", READER, json!({ "id": GROUP }), "id"),
        query("user", READER, json!({ "id": ANN }), "id"),
        query("explain", MODERATOR, json!({ "id": NOTE }), ""),
        query("exportUser", APP, json!({ "userId": ANN }), "nodes { kind json }"),
        live("noteCountsChanged", json!({ "noteIds": [NOTE] }), "id"),
        live("userCountsChanged", json!({ "userIds": [ANN] }), "id"),
        live("commentCountsChanged", json!({ "commentIds": [COMMENT] }), "id"),
        live("groupCountsChanged", json!({ "groupIds": [GROUP] }), "id"),
        live("noteCommentsChanged", json!({ "noteId": NOTE }), "comments { id }"),
    ]
}

fn of_readers() -> Vec<Case> {
    let reply = json!({ "noteId": NOTE, "replyToId": COMMENT, "mentions": [ANN], "body": "Words" });
    let mut cases = vec![
        act(READER, "addComment", reply, "comment { note { id } parent { id } mentions { id } }"),
        act(READER, "rateNote", json!({ "noteId": NOTE, "score": 7 }), "note { id }"),
        act(READER, "unrateNote", json!({ "noteId": NOTE }), "note { id }"),
        act(READER, "recordViews", json!({ "noteIds": [NOTE] }), "notes { id }"),
        act(READER, "reportNote", json!({ "noteId": NOTE, "reason": "SPAM" }), "note { id }"),
        act(READER, "reportComment", json!({ "commentId": COMMENT, "reason": "SPAM" }), "comment { id }"),
    ];
    for field in ["likeNote", "unlikeNote", "collectNote", "uncollectNote"] {
        cases.push(act(READER, field, json!({ "noteId": NOTE }), "note { id }"));
    }
    for field in ["likeComment", "unlikeComment"] {
        cases.push(act(READER, field, json!({ "commentId": COMMENT }), "comment { id }"));
    }
    for field in ["follow", "unfollow"] {
        cases.push(act(READER, field, json!({ "userId": ANN }), "user { id }"));
    }
    for field in ["joinGroup", "leaveGroup"] {
        cases.push(act(READER, field, json!({ "groupId": GROUP }), "group { id }"));
    }
    cases
}

fn of_moderators() -> Vec<Case> {
    let decided =
        |about: &str, decision: &str| json!({ "aboutId": about, "decision": decision, "reason": "Because" });
    let mut cases = vec![
        act(MODERATOR, "decide", decided(GOOD_COMMENT, "APPROVE"), "about { id }"),
        act(MODERATOR, "decide", decided(BAD_COMMENT, "REJECT"), "about { id }"),
        act(MODERATOR, "decide", decided(NOTE, "APPROVE"), "about { id }"),
        act(MODERATOR, "decide", decided(BAD_NOTE, "REJECT"), "about { id }"),
        act(MODERATOR, "suspendUser", json!({ "userId": BEN, "until": in_days(1) }), "user { id }"),
        act(MODERATOR, "unsuspendUser", json!({ "userId": BEN }), "user { id }"),
    ];
    for reported in [NOTE, COMMENT] {
        cases.push(act(MODERATOR, "decide", decided(reported, "KEEP"), "decidedId"));
    }
    for field in ["hideUser", "restoreUser"] {
        cases.push(act(MODERATOR, field, json!({ "userId": BEN }), "user { id }"));
    }
    cases
}

fn of_the_app() -> Vec<Case> {
    let post = json!({ "title": "New", "body": "Text", "groupId": GROUP });
    let edit = json!({ "commentId": COMMENT, "body": "Other words", "mentions": [ANN] });
    let grant = json!({ "userId": ANN, "amount": 1, "reason": "Because" });
    let message = json!({ "senderId": ANN, "recipientId": OF_APP });
    let group = json!({ "key": "ids/upserted", "ownerId": ANN, "name": "Upserted" });
    let note =
        json!({ "key": "ids/upserted", "authorId": ANN, "groupId": GROUP, "title": "New", "body": "Text" });
    vec![
        act(APP, "createNote", post, "note { group { id } }"),
        act(APP, "updateNote", json!({ "noteId": NOTE, "title": "Another" }), "note { id }"),
        act(APP, "updateComment", edit, "comment { id }"),
        act(APP, "updateGroup", json!({ "groupId": GROUP, "name": "Another" }), "group { id }"),
        act(APP, "featureNote", json!({ "noteId": NOTE }), "note { id isFeatured }"),
        act(APP, "unfeatureNote", json!({ "noteId": NOTE }), "note { id isFeatured }"),
        act(APP, "removeGroupMember", json!({ "groupId": GROUP, "userId": ANN }), "group { id } user { id }"),
        act(APP, "removeGroupNote", json!({ "groupId": GROUP, "noteId": NOTE }), "group { id } note { id }"),
        act(APP, "grantCoins", grant, "user { id }"),
        act(APP, "recordMessage", message, "recipient { id }"),
        act(
            APP,
            "upsertGroups",
            json!({ "groups": [group] }),
            "results { error { code } group { id owner { id } } }",
        ),
        act(
            APP,
            "upsertNotes",
            json!({ "notes": [note] }),
            "results { error { code } note { id author { id } group { id } } }",
        ),
    ]
}

fn removals() -> Vec<Case> {
    let own = json!({ "userId": OF_LEAVER, "confirmation": OF_LEAVER });
    let several = json!({ "noteIds": [OTHER_NOTE] });
    vec![
        act(APP, "removeNotes", several, "results { error { code } removedNoteId }"),
        act(APP, "deleteComment", json!({ "commentId": COMMENT }), "deletedCommentId"),
        act(APP, "deleteNote", json!({ "noteId": NOTE }), "deletedNoteId"),
        act(APP, "deleteGroup", json!({ "groupId": GROUP }), "deletedGroupId"),
        act(LEAVER, "eraseUser", own, "erasedUserId"),
    ]
}

/// The app's own id, without the kind.
fn bare(key: &str) -> &str {
    key.split_once(':').unwrap().1
}

/// Creates what the keys name; their ids.
async fn ids_by_key(server: &Server) -> BTreeMap<String, String> {
    let (app, stores) = (server.client_as(APP.0, APP.1), server.stores());
    let text = |id: &Value| id.as_str().unwrap().to_owned();
    let mut ids = BTreeMap::new();

    let users = [ANN, BEN, OF_APP, OF_LEAVER];
    let input = json!({ "users": users.map(|user| json!({ "subject": bare(user) })) });
    let written = app.act("upsertUsers", input, "results { user { id } }").await;
    for (user, result) in users.iter().zip(written["results"].as_array().unwrap()) {
        ids.insert((*user).to_owned(), text(&result["user"]["id"]));
    }
    let input = json!({ "name": "All", "key": bare(GROUP) });
    let group = app.act("createGroup", input, "group { id }").await;
    ids.insert(GROUP.to_owned(), text(&group["group"]["id"]));
    let input = json!({ "title": "One", "body": "Text", "key": bare(NOTE), "groupId": group["group"]["id"] });
    let note = app.act("createNote", input, "note { id author { id } }").await["note"].clone();
    ids.insert(NOTE.to_owned(), text(&note["id"]));

    let (on, author) = (number(&note["id"]), number(&note["author"]["id"]));
    for (key, id, is_waiting) in [
        (COMMENT, stores.new_comment_by(author, on).await, false),
        (GOOD_COMMENT, stores.new_comment(on).await, true),
        (BAD_COMMENT, stores.new_comment(on).await, true),
        (OTHER_NOTE, stores.new_note().await, false),
        (BAD_NOTE, stores.new_note().await, true),
    ] {
        give_key(&stores, id, key, is_waiting).await;
        ids.insert(key.to_owned(), format!("{}_{id}", key.split_once(':').unwrap().0));
    }
    ids
}

/// Gives a key to a note or comment that no server has read; if it `is_waiting`, a person has to decide about it.
async fn give_key(stores: &Stores, id: i64, key: &str, is_waiting: bool) {
    let statement = match (key.starts_with("note:"), is_waiting) {
        (true, false) => "UPDATE note SET key = $2 WHERE id = $1",
        (true, true) => {
            "WITH queued AS (INSERT INTO submission (kind, target_id, undecided_why) VALUES ('note', $1, 'Because'))
             UPDATE note SET key = $2, state = 'pending' WHERE id = $1"
        }
        (false, false) => "UPDATE comment_index SET key = $2 WHERE id = $1",
        (false, true) => {
            "WITH queued AS (INSERT INTO submission (kind, target_id, undecided_why) VALUES ('comment', $1, 'Because'))
             UPDATE comment_index SET key = $2, state = 'pending' WHERE id = $1"
        }
    };
    let statement = sqlx::query(statement).bind(id).bind(bare(key));
    statement.execute(&stores.sql().await).await.unwrap();
}

/// Where the arguments take ids: paths, such as `Mutation.likeNote.input.noteId`.
fn places_of_ids(types: &Types) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for (of, field, argument) in types.arguments() {
        add_places(types, argument, &format!("{of}.{field}"), &mut places);
    }
    places
}

fn add_places(types: &Types, value: &InputValueDefinition, within: &str, places: &mut BTreeSet<String>) {
    let (place, of) = (format!("{within}.{}", value.name.node), named(&value.ty.node));
    if of == "ID" {
        places.insert(place);
    } else if let Some(fields) = types.input(of) {
        fields.iter().for_each(|field| add_places(types, &field.node, &place, places));
    }
}

/// The operation of a case, with the arguments as variables.
fn document(types: &Types, case: &Case) -> String {
    let (mut declared, mut given) = (Vec::new(), Vec::new());
    for (of, field, argument) in types.arguments() {
        let name = argument.name.node.as_str();
        if (of, field) == (case.of, case.field) && case.arguments.get(name).is_some() {
            declared.push(format!("${name}: {}", argument.ty.node));
            given.push(format!("{name}: ${name}"));
        }
    }
    let (operation, declared, given) = (case.of.to_lowercase(), declared.join(", "), given.join(", "));
    let shown = if case.shown.is_empty() { String::new() } else { format!("{{ {} }}", case.shown) };
    format!("{operation} ({declared}) {{ {}({given}) {shown} }}", case.field)
}

fn is_key(text: &str) -> bool {
    ["user:", "note:", "comment:", "group:"].iter().any(|kind| text.starts_with(kind))
}

/// Where a case has keys: paths as those of the schema.
fn add_places_of_keys(value: &Value, place: &str, places: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if is_key(text) => {
            places.insert(place.to_owned());
        }
        Value::Array(items) => items.iter().for_each(|item| add_places_of_keys(item, place, places)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| add_places_of_keys(value, &format!("{place}.{name}"), places)),
        _ => {}
    }
}

/// The same with ids in place of keys.
fn with_ids(value: &Value, ids: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) if is_key(text) => json!(ids[text]),
        Value::Array(items) => items.iter().map(|item| with_ids(item, ids)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), with_ids(value, ids))).collect()
        }
        other => other.clone(),
    }
}

/// The answer: `data`, or errors; of a subscription, its first event.
async fn answer(server: &Server, case: &Case, document: &str, arguments: Value) -> Value {
    let (role, subject) = case.by;
    if case.of != "Subscription" {
        let mut body = server.client_as(role, subject).send(document, arguments).await.body;
        if case.field == "explain" {
            body["data"] = body["data"]["explain"]["entity"].take(); // other parts of it change with time
        }
        return body;
    }
    let mut socket = Socket::open(&server.url, Some(token_as(role, subject))).await;
    socket.subscribe("1", document, arguments).await;
    socket.receive().await["payload"].take()
}

/// Whether it is refused, or any element of it.
fn has_error(answer: &Value) -> bool {
    answer.to_string().contains("\"code\":\"")
}

#[test]
fn every_place_of_an_id_is_tried_with_a_key() {
    let mut tried = BTreeSet::new();
    for case in cases() {
        add_places_of_keys(&case.arguments, &format!("{}.{}", case.of, case.field), &mut tried);
    }
    let places = places_of_ids(&Types::read());
    let missing: Vec<&String> = places.difference(&tried).collect();
    assert!(missing.is_empty(), "add to the cases of this file: {missing:#?}");
    let unknown: Vec<&String> = tried.difference(&places).collect();
    assert!(unknown.is_empty(), "no longer in the schema: {unknown:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_place_of_an_id_is_answered_as_the_id_is() {
    let server = Server::start(&[]);
    let (ids, types) = (ids_by_key(&server).await, Types::read());
    let mut wrong = Vec::new();
    for case in cases() {
        let document = document(&types, &case);
        let by_key = answer(&server, &case, &document, case.arguments.clone()).await;
        let by_id = answer(&server, &case, &document, with_ids(&case.arguments, &ids)).await;
        if has_error(&by_key) || by_key["data"] != by_id["data"] {
            wrong.push(format!("{document}: {by_key} by key, {by_id} by id"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
