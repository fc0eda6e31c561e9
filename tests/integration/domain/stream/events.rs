//! The stream of events: what services and `plaudit events` read.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use plaudit_token_auth::Role;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::domain::people::erasure::comment;
use support::{Client, SOON, Server, eventually, until_erased};

const EVENTS: &str = "query ($after: String, $first: Int) { events(first: $first, after: $after) {
    nodes { cursor type at notice number actor { id subject name } target { id key subject name url }
            note { id key name url } recipient { id subject name } }
    edges { cursor } pageInfo { hasNextPage endCursor } } }";

/// All events after a cursor, page by page.
async fn events(service: &Client, mut after: Value) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = service.data(EVENTS, json!({ "after": after, "first": 3 })).await["events"].take();
        let nodes = page["nodes"].as_array().unwrap();
        let cursors: Vec<&Value> =
            page["edges"].as_array().unwrap().iter().map(|edge| &edge["cursor"]).collect();
        assert_eq!(cursors, nodes.iter().map(|event| &event["cursor"]).collect::<Vec<_>>());
        all.extend(nodes.clone());
        after = page["pageInfo"]["endCursor"].clone();
        assert!(after.is_string(), "{page}");
        if page["pageInfo"]["hasNextPage"] == false {
            return all;
        }
    }
}

/// Type, or notice with recipient; actor; and target of an event.
fn summary(event: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let what = match &event["notice"] {
        Value::Null => text(&event["type"]),
        notice => format!("{} tells {}", text(notice), text(&event["recipient"]["subject"])),
    };
    let target = &event["target"];
    let target = if target["key"].is_null() { &target["subject"] } else { &target["key"] };
    format!("{what}: {} {}", text(&event["actor"]["subject"]), text(target))
}

/// All events, once this one is among them.
async fn until_told(service: &Client, last: &str) -> Vec<Value> {
    eventually("all events are there", SOON, || async {
        let events = events(service, Value::Null).await;
        events.iter().any(|event| summary(event) == last).then_some(events)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn services_read_what_happened_in_order_with_keys_and_subjects() {
    const PAGE: &str = "https://app.example/posts/1";
    let server = Server::start(&["--activity-retention", "0s"]);
    // Only services set keys.
    let [ann, ben] = ["ann", "ben"].map(|subject| server.client_as(Role::Service, subject));
    let service = server.client_as(Role::Service, "a service");
    let input = json!({ "title": "A title", "body": "Text", "key": "post-1", "url": PAGE });
    let created = ann.act("createNote", input, "note { id author { id } }").await["note"].clone();
    let (note, ann_id) = (&created["id"], &created["author"]["id"]);
    let liked = json!({ "noteId": note });
    for (mutation, input) in [
        ("likeNote", liked.clone()),
        ("likeNote", liked.clone()),
        ("unlikeNote", liked.clone()),
        ("unlikeNote", liked.clone()),
        ("likeNote", liked.clone()),
        ("collectNote", liked.clone()),
        ("follow", json!({ "userId": ann_id })),
        ("unfollow", json!({ "userId": ann_id })),
    ] {
        ben.act(mutation, input, "changed").await;
        server.stores().rest().await;
    }
    comment(&ben, note, None, "Well said.").await;
    let second = json!({ "noteId": note, "body": "And more.", "key": "answer-2" });
    let second = ben.act("addComment", second, "comment { id }").await["comment"]["id"].clone();
    let all = until_told(&service, "NOTE_COMMENTED tells ann: ben answer-2").await;
    ben.act("deleteComment", json!({ "commentId": second }), "changed").await;
    let removed = json!({ "noteId": note, "idempotencyKey": "once" });
    for _ in 0..2 {
        ann.act("deleteNote", removed.clone(), "changed").await;
    }
    let after = all.last().unwrap()["cursor"].clone();
    let later: Vec<String> = events(&service, after).await.iter().map(summary).collect();
    assert_eq!(later, ["REMOVED: ben answer-2", "REMOVED: ann post-1"]);

    let by_ben =
        |of: &str| -> Vec<String> { all.iter().map(summary).filter(|line| line.contains(of)).collect() };
    assert_eq!(by_ben("LIKED: "), ["LIKED: ben post-1", "UNLIKED: ben post-1", "LIKED: ben post-1"]);
    assert_eq!(by_ben("LLECTED: "), ["COLLECTED: ben post-1"]);
    assert_eq!(by_ben("LLOWED: "), ["FOLLOWED: ben ann", "UNFOLLOWED: ben ann"]);
    assert_eq!(by_ben("COMMENTED: "), ["COMMENTED: ben -", "COMMENTED: ben answer-2"]);
    for notice in ["NOTE_LIKED tells ann: ben post-1", "FOLLOWED tells ann: ben ann"] {
        assert!(!by_ben(notice).is_empty(), "{notice}");
    }
    let answers = by_ben("NOTE_COMMENTED tells ann");
    assert_eq!(answers, ["NOTE_COMMENTED tells ann: ben -", "NOTE_COMMENTED tells ann: ben answer-2"]);
    let of_second = all.iter().find(|event| summary(event) == answers[1]).unwrap();
    let in_note = json!({ "id": note, "key": "post-1", "name": "A title", "url": PAGE });
    assert_eq!(of_second["note"], in_note);
    let like = all.iter().find(|event| summary(event) == "NOTE_LIKED tells ann: ben post-1").unwrap();
    assert_eq!(like["target"]["url"], PAGE);
    assert_eq!((&of_second["number"], &of_second["actor"]["name"]), (&json!(1), &json!("ben")));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_services_read_events_and_a_wrong_cursor_names_the_argument() {
    let server = Server::shared();
    let service = server.client_as(Role::Service, "a service");
    for role in [Role::User, Role::Moderator] {
        let error = server.client_as(role, "somebody").error(EVENTS, json!({ "first": 1 })).await;
        assert_eq!(error["extensions"]["code"], "FORBIDDEN");
    }
    for after in ["", "x", "42", "bm90ZXMgNDI=", &"0".repeat(49)] {
        let error = service.error(EVENTS, json!({ "first": 1, "after": after })).await;
        assert_eq!(error["extensions"]["argument"], "after", "{error}");
    }
    let other = service.error(EVENTS, json!({ "first": 1, "after": "0".repeat(48) })).await;
    assert_eq!(other["extensions"]["reason"], "OTHER_INSTALLATION", "{other}");
    for first in [0, 101, -1] {
        let error = service.error(EVENTS, json!({ "first": first })).await;
        assert_eq!(error["extensions"]["argument"], "first", "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_off_is_not_written_and_says_which_setting_it_needs() {
    let server = Server::start(&["--event-retention", "0s"]);
    let author = server.client("ann");
    let note =
        author.act("createNote", json!({ "title": "A", "body": "B" }), "note { id }").await["note"]["id"]
            .clone();
    author.act("likeNote", json!({ "noteId": note }), "changed").await;
    author.act("deleteNote", json!({ "noteId": note }), "changed").await;
    server.stores().rest().await;
    assert_eq!(server.stores().number("SELECT count(*) FROM event WHERE $1 > 0", 1).await, 0);
    let error = server.client_as(Role::Service, "a service").error(EVENTS, json!({ "first": 1 })).await;
    assert!(error["message"].as_str().unwrap().contains("event_retention"), "{error}");
    let output = server.command().args(["events"]).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("event_retention"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_empties_events_and_its_own_keeps_the_subject_for_a_while() {
    let mut server = Server::start(&[]);
    let (ann, erik) = (server.client("ann"), server.client("erik-at-example"));
    let service = server.client_as(Role::Service, "a service");
    let created = ann
        .act("createNote", json!({ "title": "A", "body": "B" }), "note { id author { id } }")
        .await["note"]
        .clone();
    erik.act("likeNote", json!({ "noteId": created["id"] }), "changed").await;
    ann.act("follow", json!({ "userId": erik.act("updateProfile", json!({ "name": "Erik" }), "user { id }").await["user"]["id"] }), "changed").await;
    server.stores().rest().await;
    let me = erik.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"].clone();
    for _ in 0..2 {
        service.act("eraseUser", json!({ "userId": me }), "changed").await;
    }
    until_erased(&server.stores(), &me).await;
    let all = events(&service, Value::Null).await;
    let lines: Vec<String> = all.iter().map(summary).collect();
    let erased: Vec<&String> = lines.iter().filter(|line| line.contains("erik")).collect();
    assert_eq!(erased, ["ERASED: a service erik-at-example"], "{lines:?}");
    assert!(
        lines.contains(&"LIKED: - -".to_owned()) && lines.contains(&"FOLLOWED: ann -".to_owned()),
        "{lines:?}"
    );
    let digests = "SELECT count(*) FROM erased_subject, installation
                   WHERE digest = sha256(subject_salt || 'erik-at-example'::bytea) AND $1 > 0";
    assert_eq!(server.stores().number(digests, 1).await, 1);

    let age = "UPDATE event SET written_at = now() - interval '4 days' WHERE subject IS NOT NULL";
    sqlx::query(age).execute(&server.stores().sql().await).await.unwrap();
    server.stop();
    server.start_again();
    eventually("the subject is gone", SOON, || async {
        let left = "SELECT count(*) FROM event WHERE subject IS NOT NULL AND $1 > 0";
        (server.stores().number(left, 1).await == 0).then_some(())
    })
    .await;
    let service = server.client_as(Role::Service, "a service");
    let erasure =
        events(&service, Value::Null).await.into_iter().find(|event| event["type"] == "ERASED").unwrap();
    assert_eq!((&erasure["target"]["id"], &erasure["target"]["subject"]), (&me, &Value::Null));
}

/// `plaudit events --follow`, and its lines.
struct Follower {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Follower {
    fn start(server: &Server, after: Option<&str>) -> Self {
        let mut command = server.command();
        command.args(["events", "--follow"]).stdout(Stdio::piped());
        if let Some(after) = after {
            command.args(["--after", after]);
        }
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_follows_the_stream_in_json_lines_and_goes_on_after_a_cursor() {
    let server = Server::start(&[]);
    let ann = server.client_as(Role::Service, "ann");
    let mut follower = Follower::start(&server, None);
    let mut notes = Vec::new();
    for number in 0..3 {
        let input = json!({ "title": "A", "body": "B", "key": format!("post-{number}") });
        notes.push(ann.act("createNote", input, "note { id }").await["note"]["id"].clone());
        ann.act("deleteNote", json!({ "noteId": notes[number] }), "changed").await;
    }
    let lines: Vec<Value> = (0..3).map(|_| follower.next()).collect();
    let keys: Vec<&Value> = lines.iter().map(|line| &line["target"]["key"]).collect();
    assert_eq!(keys, ["post-0", "post-1", "post-2"]);
    assert_eq!((&lines[0]["type"], &lines[0]["actor"]["subject"]), (&json!("REMOVED"), &json!("ann")));
    kill_process(Pid::from_child(&follower.child), Signal::TERM).unwrap();
    assert!(follower.child.wait().unwrap().success());
    assert!(follower.lines.next().is_none(), "no line is left half-written");

    // The same cursors as in GraphQL.
    let service = server.client_as(Role::Service, "a service");
    assert_eq!(events(&service, lines[1]["cursor"].clone()).await.len(), 1);
    let mut again = Follower::start(&server, lines[1]["cursor"].as_str());
    assert_eq!(again.next(), lines[2]);
    // Nobody reads any more.
    drop(again.lines);
    ann.act("createGroup", json!({ "name": "A group" }), "group { id }").await;
    let input = json!({ "title": "A", "body": "B" });
    let note = ann.act("createNote", input, "note { id }").await["note"]["id"].clone();
    ann.act("deleteNote", json!({ "noteId": note }), "changed").await;
    assert!(again.child.wait().unwrap().success());

    let output =
        server.command().args(["events", "--after", lines[0]["cursor"].as_str().unwrap()]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3);
    let refused = server.command().args(["events", "--after", &"0".repeat(48)]).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another installation"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_in_between_leaves_no_event_out_and_tells_none_twice() {
    let mut server = Server::start(&["--batch-wait", "0s"]);
    let ann = server.client_as(Role::Service, "ann");
    let note = ann
        .act("createNote", json!({ "title": "A", "body": "B", "key": "post" }), "note { id }")
        .await["note"]["id"]
        .clone();
    let mut liked = 0;
    for round in 0..3 {
        for fan in 0..20 {
            let fan = server.client(&format!("fan {round} {fan}"));
            liked += usize::from(fan.try_act("likeNote", json!({ "noteId": note }), "changed").await.is_ok());
        }
        server.kill();
        server.start_again();
    }
    server.stores().rest().await;
    let service = server.client_as(Role::Service, "a service");
    let likes: Vec<String> = events(&service, Value::Null)
        .await
        .iter()
        .map(summary)
        .filter(|line| line.starts_with("LIKED"))
        .collect();
    let distinct: std::collections::BTreeSet<&String> = likes.iter().collect();
    assert_eq!((likes.len(), distinct.len()), (liked, liked), "{likes:?}");
}
