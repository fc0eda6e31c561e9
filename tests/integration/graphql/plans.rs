//! The documents that clients send: examples, operations of the demo, and those of other clients' tests. Each is
//! answered by its plan from the second time on.

use std::{collections::BTreeMap, fs, path::PathBuf};

use chrono::{TimeDelta, Utc};
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use support::{Answer, ModerationService, Server, Socket, note, number, token_as, user};

const SUBJECT: &str = "a user of the documents";

/// An operation with the fragments that it uses.
struct Operation {
    name: String,
    text: String,
    is_subscription: bool,
}

/// All files with this ending below a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![support::path_of(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "graphql") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The operations and fragments of a file, in which each ends with a line of its own: `}`.
fn definitions(text: &str) -> Vec<String> {
    let text: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    text.join("\n").split_inclusive("\n}").map(|definition| definition.trim().to_owned()).collect()
}

/// The operations of these files. Each may use the fragments of all of them, as in the demo.
fn operations(files: &[PathBuf]) -> Vec<Operation> {
    let texts = files.iter().map(|file| fs::read_to_string(support::path_of("").join(file)).unwrap());
    let definitions: Vec<String> = texts.flat_map(|text| definitions(&text)).collect();
    let (fragments, operations): (Vec<_>, Vec<_>) =
        definitions.into_iter().filter(|of| !of.is_empty()).partition(|of| of.starts_with("fragment "));
    let fragments: BTreeMap<String, String> =
        fragments.into_iter().map(|of| (of.split(' ').nth(1).unwrap().to_owned(), of)).collect();
    operations.into_iter().map(|operation| whole(operation, &fragments)).collect()
}

fn whole(operation: String, fragments: &BTreeMap<String, String>) -> Operation {
    let name = operation.split(['(', '{']).next().unwrap().to_owned();
    let is_subscription = operation.starts_with("subscription");
    let (mut text, mut used) = (operation, Vec::new());
    while let Some(next) = fragments
        .keys()
        .find(|name| !used.contains(name) && text.split_whitespace().any(|w| spreads(w, name)))
    {
        text = format!("{text}\n{}", fragments[next]);
        used.push(next);
    }
    Operation { name, text, is_subscription }
}

fn spreads(word: &str, fragment: &str) -> bool {
    word.strip_prefix("...") == Some(fragment)
}

/// The same with `__typename` in every object, as urql sends it.
fn with_type_names(operation: Operation) -> Operation {
    let line = |line: &str| match line.trim() {
        "}" if line.starts_with(' ') => format!("__typename {line}"),
        _ => line.to_owned(),
    };
    let text = operation.text.lines().map(line).collect::<Vec<_>>().join("\n");
    Operation { text, ..operation }
}

/// Values for the variables of all documents.
async fn variables(server: &Server) -> Value {
    let (stores, author) = (server.stores(), server.client(SUBJECT));
    let (u, other) = (user(stores.new_user().await), user(stores.new_user().await));
    // Its founder may post in it.
    let group = author.act("createGroup", json!({ "name": "Documents" }), "group { id }").await;
    let group = &group["group"]["id"];
    let input = json!({ "title": "A document", "body": "Text", "groupId": group });
    let n = &author.act("createNote", input, "note { id }").await["note"]["id"];
    let comment = format!("comment_{}", stores.new_comment(number(n)).await);
    let input = json!({ "noteId": n, "body": "Text" });
    let waiting = &author.act("addComment", input, "comment { id }").await["comment"]["id"];
    json!({
        "ids": [n, u, comment, group], "keys": ["none"],
        "noteId": n, "userId": u, "commentId": comment, "groupId": group,
        "noteIds": [n], "userIds": [u], "commentIds": [comment], "groupIds": [group],
        "senderId": u, "recipientId": other,
        "title": "A document", "body": "Text", "name": "Documents", "description": "Text",
        "badges": ["LIKES"], "amount": 1, "score": 7, "reason": "A document", "window": "WEEK", "waiting": waiting, "orderBy": "NEWEST",
        "why": "SPAM", "text": "Text", "decision": "KEEP",
        "until": (Utc::now() + TimeDelta::days(1)).to_rfc3339(),
        "users": [{ "subject": SUBJECT }],
        "groups": [{ "key": number(n).to_string(), "ownerId": u, "name": "Documents" }],
        "notes": [{ "key": number(n).to_string(), "authorId": u, "title": "A document", "body": "Text" }],
        "subject": SUBJECT, "prefix": "a", "from": "2026-01-01T00:00:00.000Z",
        "first": 3, "count": 3, "withComments": true,
    })
}

/// Answers and events, and executions that panicked.
async fn executions(server: &Server) -> (f64, f64) {
    let metrics = server.metrics().await;
    let of = |end: &str| metrics[&format!("plaudit_executions_total{{end=\"{end}\"}}")];
    (of("answered"), of("panicked"))
}

#[tokio::test]
async fn every_document_of_the_project_is_answered_by_its_plan() {
    // Nobody but the test decides about comments.
    let silent = ModerationService::start(|_| Answer::Silence).await;
    let server = Server::start(&silent.flags("2m"));
    let values = variables(&server).await;
    let mut documents: Vec<Operation> = files("schema/examples")
        .into_iter()
        .chain(["apollo", "relay"].map(|name| format!("tests/documents/{name}.graphql").into()))
        .flat_map(|file| operations(&[file]))
        .collect();
    let demo = ["app", "admin", "shared"].map(|part| files(&format!("web-demo/{part}"))).concat();
    documents.extend(operations(&demo).into_iter().map(with_type_names));
    assert!(documents.len() > 90, "{} documents", documents.len());
    for document in documents {
        let has = |word: &str| document.text.contains(word);
        // Nobody decides twice about a text, or removes an object twice.
        let is_decision = has("$aboutId");
        let mut values =
            if is_decision || has("delete") || has("removeGroup") || has("removeNotes(") || has("eraseUser(")
            {
                variables(&server).await
            } else {
                values.clone()
            };
        if is_decision || has("updateComment(") {
            values["commentId"] = values["waiting"].clone();
            values["aboutId"] = values["waiting"].clone();
        }
        if has("$key: String!") {
            values["key"] = json!(document.name);
        }
        // The demo calls every id `id`; examples that do accept any.
        values["id"] = values[if has("group(id") { "groupId" } else { "userId" }].clone();
        if has("reportNote(") {
            values["noteId"] = json!(note(server.stores().new_note().await));
        }
        if has("decide(") && !is_decision {
            values["id"] = values["commentId"].clone();
            let report = json!({ "commentId": values["id"], "reason": "SPAM" });
            server.client("a reporter").act("reportComment", report, "changed").await;
        }
        if document.is_subscription {
            is_executed_by_its_plan(&server, &document, &values).await;
        } else {
            is_answered_by_its_plan(&server, &document, &values).await;
        }
    }
}

async fn is_answered_by_its_plan(server: &Server, document: &Operation, values: &Value) {
    let roles = [Role::User, Role::Moderator, Role::Service];
    let clients = roles.map(|role| server.client_as(role, SUBJECT));
    let (before, panicked) = executions(server).await;
    let mut answers = Vec::new();
    for client in &clients {
        answers.push(client.send(&document.text, values.clone()).await.body);
    }
    let now = executions(server).await;
    assert_eq!(now, (before + 3.0, panicked), "{}: {answers:#?}", document.name);
    let is_whole = |answer: &Value| answer.get("errors").is_none();
    assert!(answers.iter().any(is_whole), "{}: {answers:#?}", document.name);
}

async fn is_executed_by_its_plan(server: &Server, document: &Operation, values: &Value) {
    let (before, panicked) = executions(server).await;
    let role = if document.text.contains(" events(") { Role::Service } else { Role::Moderator };
    let mut socket = Socket::open(&server.url, Some(token_as(role, SUBJECT))).await;
    socket.subscribe("x", &document.text, values.clone()).await;
    assert!(socket.data().await.is_object(), "{}", document.name);
    let now = executions(server).await;
    assert!(now.0 > before && now.1 == panicked, "{}: {before}, {panicked} and {now:?}", document.name);
}

#[tokio::test]
async fn introspection_is_answered_every_time_alone_and_beside_data() {
    let server = Server::start(&[]);
    let introspection = include_str!("../../documents/introspection.graphql");
    for time in 1..=2 {
        let alone = server.anonymous().data(introspection, json!({})).await;
        let beside = "query { feed { nodes { id } } __type(name: \"Note\") { name } }";
        let beside = server.anonymous().data(beside, json!({})).await;
        assert!(alone["__schema"]["types"].as_array().unwrap().len() > 50);
        assert_eq!(beside, json!({ "feed": { "nodes": [] }, "__type": { "name": "Note" } }), "time {time}");
    }
}
