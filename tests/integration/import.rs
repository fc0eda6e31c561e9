//! `plaudit import`: an app's history beside a live server.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use plaudit_token_auth::Role;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};
use support::{SOON, Server, Stores, eventually};

/// A directory with files of lines.
pub struct Files(tempfile::TempDir);

impl Files {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, lines: &[Value]) -> PathBuf {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub fn rejects(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(&format!("{name}.rejects.jsonl"))).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub fn command(server: &Server, arguments: &[&str]) -> Command {
    let mut command = server.command();
    command.arg("import").args(arguments);
    command
}

/// Runs an import; returns its exit code and what it printed.
pub fn import(server: &Server, file: &Path) -> (i32, String) {
    ended(command(server, &[file.to_str().unwrap()]).output().unwrap())
}

pub fn ended(output: Output) -> (i32, String) {
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

/// Recounts everything in both stores. Panics if anything drifted.
pub async fn nothing_drifted(server: &Server) {
    server.stores().rest().await;
    let (code, text) = ended(server.command().arg("reconcile").output().unwrap());
    assert_eq!(code, 0, "{text}");
}

pub fn user(subject: &str) -> Value {
    json!({ "type": "user", "subject": subject, "name": format!("Name of {subject}") })
}

pub fn note(key: &str, author: &str, at: &str) -> Value {
    json!({ "type": "note", "key": key, "author": author, "title": "Old", "body": "From the app", "at": at })
}

pub fn like(user: &str, note: &str, on: bool, at: &str) -> Value {
    json!({ "type": "like", "user": user, "note": note, "on": on, "at": at })
}

/// A history with one of each type: of a, b and c.
fn history() -> Vec<Value> {
    vec![
        user("a"),
        user("b"),
        user("c"),
        json!({ "type": "group", "key": "g", "owner": "a", "name": "Group", "at": "2018-01-01T00:00:00Z" }),
        note("p", "a", "2019-01-01T00:00:00Z"),
        json!({ "type": "note", "key": "q", "author": "a", "group": "g", "title": null,
                "at": "2019-01-02T00:00:00Z" }),
        json!({ "type": "comment", "key": "k", "note": "p", "author": "b", "body": "One", "at": "2019-02-01T00:00:00Z" }),
        json!({ "type": "comment", "key": "l", "note": "p", "author": "c", "replyTo": "k", "body": "Two",
                "at": "2019-02-02T00:00:00Z" }),
        json!({ "type": "comment", "key": "m", "note": "p", "author": "b", "replyTo": "l", "body": "Three",
                "images": ["https://a.example/1.png", "https://a.example/2.png"], "at": "2019-02-03T00:00:00Z" }),
        like("b", "p", true, "2019-03-01T00:00:00Z"),
        like("c", "p", true, "2019-03-02T00:00:00Z"),
        like("c", "q", false, "2019-03-03T00:00:00Z"),
        json!({ "type": "like", "user": "a", "comment": "k", "at": "2019-03-03T00:00:00Z" }),
        json!({ "type": "collect", "user": "b", "note": "p", "at": "2019-03-04T00:00:00Z" }),
        json!({ "type": "follow", "user": "b", "target": "a", "at": "2019-03-05T00:00:00Z" }),
        json!({ "type": "join", "user": "b", "group": "g", "at": "2019-03-06T00:00:00Z" }),
        json!({ "type": "rating", "user": "b", "note": "p", "score": 7, "at": "2019-03-07T00:00:00Z" }),
    ]
}

const HISTORY: &str = "{
    q: note(id: \"note:q\") { title body likeCount }
    p: note(id: \"note:p\") { key title createdAt likeCount collectCount commentCount
        author { name likesReceivedCount collectsReceivedCount followerCount noteCount } }
    b: user(id: \"user:b\") { name followingCount groupCount commentCount }
    g: group(id: \"group:g\") { name memberCount noteCount }
    k: node(id: \"comment:k\") { ... on Comment { body likeCount replyCount createdAt } }
    m: node(id: \"comment:m\") { ... on Comment { body images } }
}";

fn expected() -> Value {
    json!({
        "q": { "title": null, "body": null, "likeCount": 0 },
        "p": { "key": "p", "title": "Old", "createdAt": "2019-01-01T00:00:00.000Z", "likeCount": 2, "collectCount": 1,
               "commentCount": 3,
               "author": { "name": "Name of a", "likesReceivedCount": 2, "collectsReceivedCount": 1,
                           "followerCount": 1, "noteCount": 2 } },
        "b": { "name": "Name of b", "followingCount": 1, "groupCount": 1, "commentCount": 2 },
        "g": { "name": "Group", "memberCount": 1, "noteCount": 1 },
        "k": { "body": "One", "likeCount": 1, "replyCount": 2, "createdAt": "2019-02-01T00:00:00.000Z" },
        "m": { "body": "Three", "images": ["https://a.example/1.png", "https://a.example/2.png"] },
    })
}

#[tokio::test]
async fn a_history_is_counted_and_shown_once_however_often_it_is_imported() {
    let (server, files) = (Server::start(&[]), Files::new());
    let file = files.write("history.jsonl", &history());
    let (code, text) = ended(command(&server, &["--dry-run", file.to_str().unwrap()]).output().unwrap());
    assert!(code == 0 && text.contains("17 lines, nothing written, 0 lines rejected"), "{text}");
    assert_eq!(server.stores().number("SELECT count(*) FROM app_user WHERE id > $1", 0).await, 0);

    for rows in ["17 rows", "0 rows"] {
        let (code, text) = import(&server, &file);
        assert!(code == 0 && text.contains(&format!("17 lines, {rows} written, 0 lines rejected")), "{text}");
        let (reader, likers) = (server.client("b"), "{ note(id: \"note:p\") { viewerHasLiked } }");
        assert_eq!(reader.data(likers, json!({})).await["note"]["viewerHasLiked"], true);
        server.stores().rest().await;
        assert_eq!(server.anonymous().data(HISTORY, json!({})).await, expected());
    }
    nothing_drifted(&server).await;
    // Nobody is told of it.
    let stores = server.stores();
    for silent in ["inbox_entry", "activity", "comment_change", "submission", "event", "webhook_batch"] {
        let count = format!("SELECT count(*) FROM {silent} WHERE $1 = 0");
        assert_eq!(stores.number(&count, 0).await, 0, "{silent}");
    }
    let badges = "SELECT count(*) FROM inbox_counts WHERE replies + likes + followers + messages > $1";
    assert_eq!(stores.number(badges, 0).await, 0);
    let none = heat(&stores).await;
    assert!(none.is_empty(), "{none:?}");
    // A like of today is, and makes heat.
    assert_eq!(server.client("d").like("note:p").await["changed"], true);
    eventually("there are events, a badge and heat", SOON, || async {
        let events = stores.number("SELECT count(*) FROM event WHERE $1 = 0", 0).await;
        (events > 0 && stores.number(badges, 0).await == 1 && !heat(&stores).await.is_empty()).then_some(())
    })
    .await;
}

/// Keys of the notes' heat, in buckets of all spans.
async fn heat(stores: &Stores) -> Vec<String> {
    let (mut redis, mut found) = (stores.redis().await, Vec::new());
    for span in ["hour", "day", "week"] {
        let pattern = format!("{{*}}:hot:{span}:[0-9]*");
        let keys: Vec<String> = redis::cmd("KEYS").arg(pattern).query_async(&mut redis).await.unwrap();
        found.extend(keys);
    }
    found
}

#[tokio::test]
async fn compressed_files_and_standard_input_are_read_like_files() {
    let (server, files) = (Server::start(&[]), Files::new());
    let text: String = history().iter().map(|line| format!("{line}\n")).collect();
    fs::write(files.path("a.zst"), compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), Default::default());
    gz.write_all(text.as_bytes()).unwrap();
    fs::write(files.path("a.gz"), gz.finish().unwrap()).unwrap();
    for (name, rows) in [("a.zst", "17 rows"), ("a.gz", "0 rows")] {
        let (code, text) = import(&server, &files.path(name));
        assert!(code == 0 && text.contains(&format!("17 lines, {rows} written")), "{text}");
    }
    let mut child = command(&server, &["-"])
        .current_dir(files.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let (code, text) = ended(child.wait_with_output().unwrap());
    assert!(code == 0 && text.contains("standard input: 17 lines, 0 rows written"), "{text}");
}

#[tokio::test]
async fn wrong_lines_are_rejected_with_number_and_reason_and_the_others_are_written() {
    let (server, files) = (Server::start(&[]), Files::new());
    let at = "2019-05-01T00:00:00Z";
    let wrong = [
        (json!({ "type": "dislike" }), "unknown type"),
        (like("nobody", "p", true, at), "there is no user with the subject \"nobody\""),
        (like("b", "nothing", true, at), "there is no note with the key \"nothing\""),
        (like("b", "p", true, "2099-01-01T00:00:00Z"), "is in the future"),
        (note("p", "b", at), "another note has the key \"p\""),
        (note("r", "nobody", at), "there is no user with the subject \"nobody\""),
        (
            json!({ "type": "comment", "key": "x", "note": "q", "author": "b", "replyTo": "k", "body": "No", "at": at }),
            "the comment \"k\" is on another note",
        ),
        (
            json!({ "type": "comment", "key": "y", "note": "p", "author": "b", "replyTo": "none", "body": "No", "at": at }),
            "there is no comment with the key \"none\"",
        ),
        (
            json!({ "type": "note", "key": "k".repeat(201), "author": "a", "title": "x", "body": "y", "at": at }),
            "a key has 1 to 200 bytes",
        ),
        (json!({ "type": "join", "user": "b", "group": "none", "at": at }), "there is no group with the key"),
    ];
    let lines: Vec<Value> = history().into_iter().chain(wrong.iter().map(|(line, _)| line.clone())).collect();
    let file = files.write("mixed.jsonl", &lines);
    let (code, text) = ended(command(&server, &["--dry-run", file.to_str().unwrap()]).output().unwrap());
    assert!(code == 2 && text.contains("10 lines rejected"), "{text}");
    assert!(files.rejects("mixed.jsonl").is_empty());
    for _ in 0..2 {
        let (code, text) = import(&server, &file);
        assert!(code == 2 && text.contains("10 lines rejected to "), "{text}");
        let rejected = files.rejects("mixed.jsonl");
        assert_eq!(rejected.len(), wrong.len(), "{rejected:#?}");
        for ((at, (line, why)), rejected) in wrong.iter().enumerate().zip(&rejected) {
            assert_eq!(rejected["line"], history().len() + 1 + at);
            assert!(rejected["reason"].as_str().unwrap().contains(why), "{rejected}");
            assert_eq!(rejected["text"], line.to_string());
        }
        server.stores().rest().await;
        assert_eq!(server.anonymous().data(HISTORY, json!({})).await, expected());
    }
    nothing_drifted(&server).await;
    let (code, text) = import(&server, Path::new("/nowhere/at/all.jsonl"));
    assert!(code == 1 && text.contains("cannot read /nowhere/at/all.jsonl"), "{text}");
}

#[tokio::test]
async fn an_import_that_is_killed_continues_and_counts_every_line_once() {
    let (server, files) = (Server::start(&[]), Files::new());
    let (users, notes) = (600, 200);
    let mut lines: Vec<Value> = (0..users).map(|n| user(&format!("u{n}"))).collect();
    lines.extend((0..notes).map(|n| note(&format!("p{n}"), &format!("u{n}"), "2019-01-01T00:00:00Z")));
    for n in 0..users {
        for p in 0..notes {
            lines.push(like(&format!("u{n}"), &format!("p{p}"), true, "2020-01-01T00:00:00Z"));
        }
        lines.push(like(&format!("u{n}"), "nothing", true, "2020-01-01T00:00:00Z"));
    }
    let file = files.write("likes.jsonl", &lines);
    let stores = server.stores();
    let position = "SELECT coalesce((SELECT line FROM import_run WHERE line >= $1), 0)";
    for least in [50_000, 100_000] {
        let mut child = command(&server, &[file.to_str().unwrap()]).stdout(Stdio::null()).spawn().unwrap();
        eventually("some batches are written", SOON, || {
            let (has_ended, stores) = (child.try_wait().unwrap().is_some(), &stores);
            async move { (has_ended || stores.number(position, least).await > 0).then_some(()) }
        })
        .await;
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
    }
    let (code, text) = import(&server, &file);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("of an interrupted import") && text.contains("600 lines rejected"), "{text}");
    assert_eq!(files.rejects("likes.jsonl").len(), users);
    let likes = "SELECT count(*) FROM note_like WHERE is_on AND included AND $1 = 0";
    assert_eq!(stores.number(likes, 0).await, (users * notes) as i64);
    nothing_drifted(&server).await;
    let note = server.anonymous().data("{ note(id: \"note:p7\") { likeCount } }", json!({})).await;
    assert_eq!(note["note"]["likeCount"], users);

    // A file that was changed is read from its beginning.
    let (code, _) = import(&server, &file);
    assert_eq!(code, 2);
    let (code, text) = import(&server, &files.write("likes.jsonl", &lines[..500]));
    assert!(code == 0 && text.contains("500 lines, 0 rows written, 0 lines rejected"), "{text}");
    assert!(files.rejects("likes.jsonl").is_empty());
}

#[tokio::test]
async fn an_import_with_a_rate_writes_as_many_lines_and_continues_without_it_after_a_kill() {
    let (server, files) = (Server::start(&[]), Files::new());
    let mut lines = vec![user("author"), note("p", "author", "2019-01-01T00:00:00Z")];
    for n in 0..5_000 {
        lines.push(user(&format!("u{n}")));
        lines.push(like(&format!("u{n}"), "p", true, "2020-01-01T00:00:00Z"));
    }
    let (file, stores) = (files.write("slow.jsonl", &lines), server.stores());
    let mut slow =
        command(&server, &["--rate", "20", file.to_str().unwrap()]).stdout(Stdio::null()).spawn().unwrap();
    let position = "SELECT coalesce((SELECT line FROM import_run WHERE line >= $1), 0)";
    let written = eventually("some lines are written", SOON, || async {
        let written = stores.number(position, 20).await;
        (written > 0).then_some(written)
    })
    .await;
    assert!(slow.try_wait().unwrap().is_none(), "the import writes all lines at once");
    slow.kill().unwrap(); // SIGKILL
    slow.wait().unwrap();
    // A batch of 40 lines every two seconds: had it not rested, all would be written.
    assert!(written < 5_000 && written % 40 == 0, "{written}");
    let (code, text) = ended(command(&server, &["--rate", "0", file.to_str().unwrap()]).output().unwrap());
    assert!(code == 0 && text.contains("of an interrupted import"), "{text}");
    nothing_drifted(&server).await;
    let note = server.anonymous().data("{ note(id: \"note:p\") { likeCount } }", json!({})).await;
    assert_eq!(note["note"]["likeCount"], 5_000);
}

#[tokio::test]
async fn imported_likes_renew_counts_and_leave_what_is_cached_of_the_note() {
    let (server, files) = (Server::start(&[]), Files::new());
    let first = [user("a"), user("b"), note("p", "a", "2019-01-01T00:00:00Z")];
    import(&server, &files.write("first.jsonl", &first));
    let shown = async || {
        let note = server.anonymous().data("{ note(id: \"note:p\") { title likeCount } }", json!({})).await;
        note["note"].clone()
    };
    assert_eq!(shown().await, json!({ "title": "Old", "likeCount": 0 }));
    // Without an invalidation: a read of the row shows it.
    let sql = server.stores().sql().await;
    sqlx::query("UPDATE note SET title = 'New' WHERE key = 'p'").execute(&sql).await.unwrap();
    import(&server, &files.write("like.jsonl", &[like("b", "p", true, "2020-01-01T00:00:00Z")]));
    eventually("the like is shown beside the cached title", SOON, || async {
        (shown().await == json!({ "title": "Old", "likeCount": 1 })).then_some(())
    })
    .await;
    nothing_drifted(&server).await;
}

#[tokio::test]
async fn the_later_time_of_an_edge_wins_and_an_unlike_during_the_move_stays() {
    let (server, files) = (Server::start(&["--record-every-off"]), Files::new());
    import(&server, &files.write("history.jsonl", &history()[..9]));
    let (b, c) = (server.client("b"), server.client("c"));
    // c takes back a like that is not here yet, b likes before the older unlike comes.
    assert_eq!(c.unlike("note:p").await["changed"], false);
    assert_eq!(c.unlike("note:p").await["changed"], false);
    assert_eq!(b.like("note:p").await["changed"], true);
    let old = [like("b", "p", false, "2020-01-01T00:00:00Z"), like("c", "p", true, "2020-01-01T00:00:00Z")];
    for _ in 0..2 {
        let (code, text) = import(&server, &files.write("old.jsonl", &old));
        assert_eq!(code, 0, "{text}");
        nothing_drifted(&server).await;
        for (client, has) in [(&b, true), (&c, false)] {
            let note = client.note("note:p").await;
            assert_eq!((&note["viewerHasLiked"], &note["likeCount"]), (&json!(has), &json!(1)));
        }
    }
    // What is here and older gives way to a later line.
    let stores = server.stores();
    let past = "UPDATE note_like SET changed_at = '2020-01-01', created_at = '2020-01-01'";
    sqlx::query(past).execute(&stores.sql().await).await.unwrap();
    let new = [like("b", "p", false, "2021-01-01T00:00:00Z"), like("c", "p", true, "2021-01-01T00:00:00Z")];
    import(&server, &files.write("new.jsonl", &new));
    nothing_drifted(&server).await;
    for (client, has) in [(&b, false), (&c, true)] {
        let note = client.note("note:p").await;
        assert_eq!((&note["viewerHasLiked"], &note["likeCount"]), (&json!(has), &json!(1)));
    }
    // The import has taken the like of b out of the inbox of a.
    let badge = "SELECT likes FROM inbox_counts WHERE id = $1";
    assert_eq!(stores.number(badge, stores.user_of("a").await).await, 0);
}

#[tokio::test]
async fn an_edge_of_the_last_seconds_waits_until_older_changes_are_written_and_then_wins() {
    let (server, files) = (Server::start(&["--record-every-off"]), Files::new());
    import(&server, &files.write("history.jsonl", &history()[..9]));
    let (stores, b) = (server.stores(), server.client("b"));
    assert_eq!(b.like("note:p").await["changed"], true);
    stores.rest().await;
    // Nothing is persisted while somebody else holds the positions of the logs.
    let sql = stores.sql().await;
    let mut held = sql.begin().await.unwrap();
    sqlx::query("SELECT FROM shard FOR UPDATE").execute(&mut *held).await.unwrap();
    assert_eq!(b.unlike("note:p").await["changed"], true);
    let later = chrono::Utc::now() + chrono::TimeDelta::milliseconds(5);
    eventually("the time of the line is over", SOON, || async { (chrono::Utc::now() > later).then_some(()) })
        .await;
    let line = like("b", "p", true, &later.to_rfc3339_opts(chrono::SecondsFormat::Millis, true));
    let mut importing = command(&server, &[files.write("new.jsonl", &[line]).to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let old_enough = later + chrono::TimeDelta::milliseconds(11_000);
    eventually("an older change of the edge may no longer come", SOON, || async {
        (chrono::Utc::now() > old_enough).then_some(())
    })
    .await;
    assert!(importing.try_wait().unwrap().is_none(), "the import waits for the log");
    let written = "SELECT count(*) FROM note_like WHERE changed_at >= to_timestamp($1 / 1000.0)";
    assert_eq!(stores.number(written, later.timestamp_millis()).await, 0);
    held.rollback().await.unwrap();
    assert!(importing.wait().unwrap().success());
    nothing_drifted(&server).await;
    let note = b.note("note:p").await;
    assert_eq!((&note["viewerHasLiked"], &note["likeCount"]), (&json!(true), &json!(1)));
    // What the user does afterwards is later than the line.
    assert_eq!(b.unlike("note:p").await["changed"], true);
    import(&server, &files.path("new.jsonl"));
    nothing_drifted(&server).await;
    let note = b.note("note:p").await;
    assert_eq!((&note["viewerHasLiked"], &note["likeCount"]), (&json!(false), &json!(0)));
}

#[tokio::test]
async fn an_imported_like_that_is_taken_back_and_given_again_tells_nobody() {
    let (server, files) = (Server::start(&[]), Files::new());
    import(&server, &files.write("history.jsonl", &history()));
    let (stores, c) = (server.stores(), server.client("c"));
    let author = stores.user_of("a").await;
    for (on, likes) in [(false, 1), (true, 2), (false, 1), (true, 2)] {
        let answer = if on { c.like("note:p").await } else { c.unlike("note:p").await };
        assert_eq!((&answer["changed"], &answer["note"]["likeCount"]), (&json!(true), &json!(likes)));
        stores.rest().await;
        assert_eq!(stores.number("SELECT likes FROM inbox_counts WHERE id = $1", author).await, 0);
    }
    // A new like does.
    assert_eq!(server.client("d").like("note:p").await["changed"], true);
    stores.rest().await;
    assert_eq!(stores.number("SELECT likes FROM inbox_counts WHERE id = $1", author).await, 1);
    nothing_drifted(&server).await;
}

#[tokio::test]
async fn edges_of_hidden_users_and_removed_notes_are_kept_and_do_not_count() {
    let (server, files) = (Server::start(&[]), Files::new());
    import(&server, &files.write("first.jsonl", &history()[..9]));
    let moderator = server.client_as(Role::Moderator, "a moderator");
    moderator.act("hideUser", json!({ "userId": "user:b" }), "changed").await;
    server.client("a").act("deleteNote", json!({ "noteId": "note:q" }), "changed").await;
    server.stores().rest().await;
    let mut lines = history();
    lines.push(like("c", "q", true, "2019-04-01T00:00:00Z"));
    let (code, text) = import(&server, &files.write("all.jsonl", &lines));
    assert_eq!(code, 0, "{text}");
    nothing_drifted(&server).await;
    let counts =
        "{ note(id: \"note:p\") { likeCount collectCount author { likesReceivedCount followerCount } } }";
    let expected = json!({ "likeCount": 1, "collectCount": 0, "author": { "likesReceivedCount": 1, "followerCount": 0 } });
    assert_eq!(server.anonymous().data(counts, json!({})).await["note"], expected);
    moderator.act("restoreUser", json!({ "userId": "user:b" }), "changed").await;
    nothing_drifted(&server).await;
    let expected = json!({ "likeCount": 2, "collectCount": 1, "author": { "likesReceivedCount": 2, "followerCount": 1 } });
    assert_eq!(server.anonymous().data(counts, json!({})).await["note"], expected);
}

/// An import remembers ids from batch to batch, and not whether everybody sees what they name.
#[tokio::test]
async fn edges_that_an_import_reads_after_a_hiding_or_a_removal_do_not_count() {
    let (server, files) = (Server::start(&[]), Files::new());
    import(&server, &files.write("first.jsonl", &history()[..9]));
    let (at, stores) = ("2019-04-01T00:00:00Z", server.stores());
    // Batches of ten lines.
    let mut running = command(&server, &["--rate", "5", "-"])
        .current_dir(files.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = running.stdin.take().unwrap();
    let (mut send, mut sent) = (|line: Value| writeln!(lines, "{line}").unwrap(), 0);
    let mut all_written = async |more: i64| {
        sent += more;
        let rows = "SELECT count(*) FROM note_like WHERE created_at >= to_timestamp($1::bigint)";
        eventually("the lines are written", SOON, || async {
            (stores.number(rows, 1_554_076_800).await == sent).then_some(())
        })
        .await;
    };
    for key in ["n1", "n2", "n3"] {
        send(self::note(key, "a", at));
        send(like("b", key, true, at));
        send(like("c", key, true, at));
    }
    send(user("a tenth line"));
    all_written(6).await;
    let moderator = server.client_as(Role::Moderator, "a moderator");
    moderator.act("hideUser", json!({ "userId": "user:b" }), "changed").await;
    server.client("a").act("deleteNote", json!({ "noteId": "note:n2" }), "changed").await;
    send(like("b", "q", true, at)); // of a hidden user
    send(like("a", "n2", true, at)); // of a removed note
    send(like("a", "n3", true, at));
    (4..=10).for_each(|n| send(user(&format!("line {n}"))));
    all_written(3).await;
    drop(lines);
    assert_eq!(running.wait().unwrap().code(), Some(0));
    nothing_drifted(&server).await;
    let likes = "{ q: note(id: \"note:q\") { likeCount } n3: note(id: \"note:n3\") { likeCount } }";
    let expected = json!({ "q": { "likeCount": 0 }, "n3": { "likeCount": 2 } });
    assert_eq!(server.anonymous().data(likes, json!({})).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_lines_tell_the_progress() {
    let server = Server::start(&[]);
    let mut running = command(&server, &["-"])
        .env("FAILPOINTS", "import.line_every=return(1)")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = running.stdin.take().unwrap();
    writeln!(lines, "{}", user("who comes first")).unwrap();
    let mut said = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    let telling = tokio::task::spawn_blocking(move || said.find(|line| line.ends_with("0 rejected so far")));
    let told = tokio::time::timeout(SOON, telling).await.unwrap().unwrap().unwrap();
    assert!(told.starts_with("standard input: ") && told.contains(" per second"), "{told}");
    drop(lines);
    assert_eq!(running.wait().unwrap().code(), Some(0));
}

/// Toggles pairs through the server while the same pairs are imported again and again.
#[tokio::test]
async fn likes_that_are_toggled_throughout_an_import_of_them_end_as_they_were_switched_last() {
    let (server, files) = (Server::start(&["--record-every-off"]), Files::new());
    let (users, notes, rounds) = (8, 6, 12);
    let subject = |n: usize| format!("u{n}");
    let mut lines: Vec<Value> = (0..users).map(|n| user(&subject(n))).collect();
    lines.extend((0..notes).map(|n| note(&format!("p{n}"), "u0", "2019-01-01T00:00:00Z")));
    let things = files.write("things.jsonl", &lines);
    assert_eq!(import(&server, &things).0, 0);
    let mut lines = Vec::new();
    for round in 0..50 {
        for n in 0..users {
            for p in 0..notes {
                // Each round says the opposite of the one before, and the last one says that all are on.
                let at = format!("2020-01-01T00:00:{round:02}Z");
                lines.push(like(&subject(n), &format!("p{p}"), (n + p + round) % 2 == 0, &at));
            }
        }
    }
    let file = files.write("likes.jsonl", &lines);
    let toggling = async {
        let clients: Vec<_> = (0..users).map(|n| server.client(&subject(n))).collect();
        // The last state of each pair that was switched; the others are imported only.
        let mut last = std::collections::BTreeMap::new();
        for round in 0..rounds {
            for (n, client) in clients.iter().enumerate() {
                for p in (0..notes).filter(|p| (n + p + round) % 3 != 0 && *p > 0) {
                    let on = rand::random::<bool>();
                    let named = format!("note:p{p}");
                    let answer = if on { client.like(&named).await } else { client.unlike(&named).await };
                    assert!(answer["changed"].is_boolean());
                    last.insert((n, p), on);
                }
            }
        }
        last
    };
    let importing = async {
        let mut imports = 0;
        for _ in 0..6 {
            let mut import = command(&server, &[file.to_str().unwrap()]);
            let ended = tokio::task::spawn_blocking(move || import.output().unwrap()).await.unwrap();
            let (code, text) = self::ended(ended);
            assert_eq!(code, 0, "{text}");
            imports += 1;
        }
        imports
    };
    let (last, imports) = tokio::join!(toggling, importing);
    assert_eq!(imports, 6);
    nothing_drifted(&server).await;
    for n in 0..users {
        let client = server.client(&subject(n));
        for p in 0..notes {
            let imported = (n + p + 49) % 2 == 0;
            let expected = last.get(&(n, p)).copied().unwrap_or(imported);
            let note = client.note(&format!("note:p{p}")).await;
            assert_eq!(note["viewerHasLiked"], expected, "u{n} p{p}");
        }
    }
    // Both sides are equal after the switch: a last import changes nothing.
    let before = totals(&server.stores()).await;
    assert_eq!(import(&server, &file).0, 0);
    nothing_drifted(&server).await;
    assert_eq!(totals(&server.stores()).await, before);
    let unexplained = server.metric("plaudit_persist_mismatches_total{cause=\"unexplained\"}").await;
    assert_eq!(unexplained, 0.0);
}

async fn totals(stores: &Stores) -> Vec<(i64, i64)> {
    let likes = "SELECT id, likes FROM note_counts ORDER BY id";
    sqlx::query_as(likes).fetch_all(&stores.sql().await).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_from_before_the_erasure_of_a_user_are_rejected_also_if_the_subject_is_back() {
    let (server, files) = (Server::start(&[]), Files::new());
    let file = files.write("history.jsonl", &history());
    assert_eq!(import(&server, &file).0, 0);
    let erase = || ended(server.command().args(["erase", "user:a", "--yes"]).output().unwrap());
    assert_eq!(erase().0, 0);
    server.stores().rest().await;
    // The subject comes back as a new user.
    let again =
        server.client("a").act("createGroup", json!({ "name": "New" }), "group { owner { id } }").await;
    let old = [user("a"), like("a", "p", true, "2020-01-02T00:00:00Z"), user("d")];
    let old = files.write("old.jsonl", &old);
    for _ in 0..2 {
        let (code, text) = import(&server, &old);
        assert_eq!(code, 2, "{text}");
        let rejects = files.rejects("old.jsonl");
        let numbers: Vec<&Value> = rejects.iter().map(|reject| &reject["line"]).collect();
        assert_eq!(numbers, [1, 2], "{rejects:?}");
        assert!(rejects[1]["reason"].as_str().unwrap().contains("was erased"), "{rejects:?}");
    }
    let query = "{ user(id: \"user:a\") { id } other: user(id: \"user:d\") { name } }";
    let found = server.client("b").data(query, json!({})).await;
    assert_eq!(found["user"]["id"], again["group"]["owner"]["id"]);
    assert_eq!(found["other"]["name"], "Name of d");
    nothing_drifted(&server).await;
}
