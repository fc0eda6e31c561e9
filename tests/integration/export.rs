//! `plaudit export` and `plaudit import --dry-run`: the lines of an import, written and compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Output, Stdio},
};

use plaudit_catalogue::{Counter, EntityKind};
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use support::{Server, Stores};

/// Runs a command; returns its exit code and what it printed, errors last.
fn run(server: &Server, arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } = server.command().args(arguments).output().unwrap();
    (status.code().unwrap(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

/// The lines of a whole export. It tells on standard error, in one line, what it left out.
fn export(server: &Server) -> Vec<String> {
    let Output { status, stdout, stderr } = server.command().arg("export").output().unwrap();
    let told = String::from_utf8(stderr).unwrap();
    assert!(status.success() && told.starts_with("left out: ") && told.lines().count() == 1, "{told}");
    String::from_utf8(stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Lines without the installation that they are from.
fn from_anywhere(lines: &[String]) -> BTreeSet<String> {
    let strip = |line: &String| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("from");
        line.to_string()
    };
    lines.iter().map(strip).collect()
}

/// A directory with files of lines.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write<L: ToString>(&self, name: &str, lines: impl IntoIterator<Item = L>) -> String {
        let text: String = lines.into_iter().map(|line| line.to_string() + "\n").collect();
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }
}

/// What the demo data has none of, by keys.
fn history() -> Vec<Value> {
    let at = |day: u32| format!("2019-02-{day:02}T03:04:05.678Z");
    vec![
        json!({ "type": "user", "subject": "a", "name": "Ann", "avatarUrl": "https://a.example/a.png", "at": at(1) }),
        json!({ "type": "user", "subject": "b\"\\ü", "name": "Bo", "at": at(1) }),
        json!({ "type": "group", "key": "g", "owner": "a", "name": "Group", "description": "Of\nusers", "at": at(1) }),
        json!({ "type": "note", "key": "p", "author": "a", "group": "g", "url": "https://a.example/p?q=1",
                "title": "Old \"note\"", "body": "Two\nlines \\ and 🙂", "at": at(2) }),
        json!({ "type": "comment", "key": "k", "note": "p", "author": "a", "body": "One", "at": at(3) }),
        json!({ "type": "comment", "key": "l", "note": "p", "author": "b\"\\ü", "replyTo": "k", "body": "",
                "images": ["https://a.example/1.png", "https://a.example/2.png"], "at": at(4) }),
        json!({ "type": "comment", "key": "m", "note": "p", "author": "a", "replyTo": "l", "body": "Three", "at": at(5) }),
        json!({ "type": "like", "user": "b\"\\ü", "note": "p", "at": at(6) }),
        json!({ "type": "like", "user": "a", "note": "p", "on": false, "at": at(6) }),
        json!({ "type": "like", "user": "a", "comment": "k", "at": at(6) }),
        json!({ "type": "collect", "user": "a", "note": "p", "at": at(6) }),
        json!({ "type": "follow", "user": "b\"\\ü", "target": "a", "at": at(6) }),
        json!({ "type": "join", "user": "a", "group": "g", "at": at(6) }),
        json!({ "type": "rating", "user": "b\"\\ü", "note": "p", "score": 7, "at": at(7) }),
        json!({ "type": "carried", "note": "p", "counter": "likes", "value": 40 }),
        json!({ "type": "carried", "note": "p", "counter": "views", "value": 1000 }),
        json!({ "type": "carried", "user": "a", "counter": "followers", "value": 3 }),
    ]
}

/// Every count of the entities that the lines create, by their types and names.
async fn counts(stores: &Stores, lines: &[String]) -> BTreeMap<(String, String), String> {
    let named: BTreeSet<(String, String)> = lines.iter().filter_map(|line| created(line)).collect();
    let (sql, mut all) = (stores.sql().await, BTreeMap::new());
    // An inbox is left out of an export.
    for of in EntityKind::ALL.iter().filter(|kind| **kind != EntityKind::Inbox) {
        let kind = of.name();
        let table = match of {
            EntityKind::User => "app_user",
            EntityKind::Comment => "comment_index",
            EntityKind::Group => "app_group",
            EntityKind::Note | EntityKind::Inbox => "note",
        };
        let name = match of {
            EntityKind::User => "coalesce(e.subject, '')".to_owned(),
            _ => format!("coalesce(e.key, '{kind}_' || e.id || '@' || (SELECT id FROM installation))"),
        };
        // A position, which is another one elsewhere, is no count.
        let counters = of.counters().iter().filter(|counter| **counter != Counter::NoteCommentPosition);
        let columns: Vec<String> = counters.map(|counter| format!("'{0}', c.{0}", counter.name())).collect();
        let query = format!(
            "SELECT {name}, json_build_object({})::text FROM {table} AS e JOIN {kind}_counts AS c ON c.id = e.id",
            columns.join(", ")
        );
        let rows: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(query)).fetch_all(&sql).await.unwrap();
        all.extend(rows.into_iter().map(|(name, counts)| ((kind.to_owned(), name), counts)));
    }
    all.retain(|name, _| named.contains(name));
    assert_eq!(all.len(), named.len());
    all
}

/// Type and name of what a line creates.
fn created(line: &str) -> Option<(String, String)> {
    let line: Value = serde_json::from_str(line).unwrap();
    let (kind, name) = (line["type"].as_str()?, line["subject"].as_str().or(line["key"].as_str())?);
    Some((kind.to_owned(), name.to_owned()))
}

/// All lists that begin at the feed, as everybody sees them.
async fn lists(server: &Server) -> Vec<Value> {
    let query =
        "query ($after: String) { feed(first: 10, after: $after) { pageInfo { hasNextPage endCursor } nodes {
        title body createdAt likeCount collectCount commentCount ratingCount ratingAverage
        author { name avatarUrl noteCount followerCount } group { name description memberCount noteCount }
        likers(first: 10) { nodes { name } }
        newest: comments(first: 5, orderBy: NEWEST) { nodes { body createdAt } }
        comments(first: 5) { nodes { body images isRemoved likeCount replyCount author { name }
            replies(first: 3) { nodes { body images replyTo { body } author { name } } } } } } } }";
    let (reader, mut notes, mut after) = (server.anonymous(), Vec::new(), Value::Null);
    loop {
        let feed = reader.data(query, json!({ "after": after })).await["feed"].clone();
        notes.extend(feed["nodes"].as_array().unwrap().clone());
        if feed["pageInfo"]["hasNextPage"] == false {
            return notes;
        }
        after = feed["pageInfo"]["endCursor"].clone();
    }
}

async fn text(stores: &Stores, query: &str) -> String {
    sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(&stores.sql().await).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_data_exported_and_imported_elsewhere_has_equal_counts_lists_and_texts() {
    let (from, to, files) = (Server::start(&[]), Server::start(&[]), Files::new());
    assert_eq!(run(&from, &["seed", "--users", "60", "--notes", "120"]).0, 0);
    let (code, report) = run(&from, &["import", &files.write("history.jsonl", history())]);
    assert_eq!(code, 0, "{report}");
    let stores = from.stores();
    // What not everybody sees: a hidden user, a removed note, a removed comment. Below the comments is no
    // reply, which would stand one level higher elsewhere.
    let quiet = "SELECT subject FROM app_user AS u WHERE subject NOT IN ('a', 'b\"\\ü')
                 AND EXISTS (SELECT FROM note WHERE author_id = u.id)
                 AND EXISTS (SELECT FROM note_like WHERE actor_id = u.id)
                 AND EXISTS (SELECT FROM comment_index WHERE author_id = u.id)
                 AND NOT EXISTS (SELECT FROM comment_index AS c JOIN comment_index AS r ON r.parent_id = c.id
                                 WHERE c.author_id = u.id)
                 ORDER BY id LIMIT 1";
    let hidden = text(&stores, quiet).await;
    let grouped = format!(
        "SELECT n.id FROM note AS n JOIN app_user AS u ON u.id = author_id AND subject <> '{hidden}'
         WHERE group_id IS NOT NULL AND is_shown AND featured_at IS NULL AND n.id <> $1 ORDER BY n.id LIMIT 1"
    );
    let featured = stores.number(&grouped, 100).await;
    let moderator = from.client_as(Role::Moderator, "a moderator");
    moderator.act("hideUser", json!({ "userId": format!("user:{hidden}") }), "changed").await;
    moderator.act("featureNote", json!({ "noteId": format!("note_{featured}") }), "changed").await;
    let note = "FROM note AS n JOIN app_user AS u ON u.id = n.author_id WHERE n.id = 100";
    let author = text(&stores, &format!("SELECT subject {note}")).await;
    from.client(&author).act("deleteNote", json!({ "noteId": "note_100" }), "changed").await;
    let comment = "FROM comment_index AS c JOIN app_user AS u ON u.id = c.author_id
                   WHERE c.is_counted AND NOT EXISTS (SELECT FROM comment_index AS r WHERE r.parent_id = c.id)
                   ORDER BY c.id LIMIT 1";
    let id = text(&stores, &format!("SELECT 'comment_' || c.id {comment}")).await;
    let author = text(&stores, &format!("SELECT subject {comment}")).await;
    from.client(&author).act("deleteComment", json!({ "commentId": id }), "changed").await;
    stores.rest().await;

    let lines = export(&from);
    let has = |part: &str| lines.iter().any(|line| line.contains(part));
    for part in ["\"counter\":\"views\"", "\"counter\":\"coins\"", "\"featuredAt\""] {
        assert!(has(part), "no line has {part}");
    }
    for (kind, least) in [
        ("user", 60),
        ("group", 14),
        ("note", 90),
        ("comment", 90),
        ("like", 500),
        ("follow", 90),
        ("carried", 3),
    ] {
        let start = format!("{{\"type\":\"{kind}\"");
        let number = lines.iter().filter(|line| line.starts_with(&start)).count();
        assert!(number >= least, "{number} lines of {kind}");
    }
    let (code, report) = run(&to, &["import", &files.write("lines.jsonl", &lines)]);
    assert_eq!(code, 0, "{report}");
    to.stores().rest().await;

    let (once, again) = (from_anywhere(&lines), from_anywhere(&export(&to)));
    assert_eq!((once.len(), once.difference(&again).next()), (lines.len(), None));
    assert_eq!(again.difference(&once).next(), None);
    let in_lines: Vec<String> =
        lines.iter().filter(|line| created(line) != Some(("user".into(), hidden.clone()))).cloned().collect();
    let (before, after) = (counts(&stores, &in_lines).await, counts(&to.stores(), &in_lines).await);
    let differing = before.iter().find(|(name, counts)| after.get(*name) != Some(*counts));
    assert_eq!(differing, None, "{:?}", differing.map(|(name, _)| &after[name]));
    let (before, after) = (lists(&from).await, lists(&to).await);
    assert!(before.len() >= 90);
    assert_eq!(before.len(), after.len());
    for (one, other) in before.iter().zip(&after) {
        assert_eq!(one, other);
    }

    // Both are the same for a comparison, and an export that comes back changes nothing.
    let path = files.path("lines.jsonl").to_str().unwrap().to_owned();
    for server in [&from, &to] {
        let (code, report) = run(server, &["import", "--dry-run", &path]);
        assert!(code == 0 && report.contains(" 0 missing, 0 otherwise, 0 later in Plaudit"), "{report}");
        let (code, report) = run(server, &["import", &path]);
        assert!(code == 0 && report.contains("lines, 0 rows written, 0 lines rejected"), "{report}");
        server.stores().rest().await;
        let (code, report) = run(server, &["reconcile"]);
        assert_eq!(code, 0, "{report}");
    }
    assert_eq!(export(&from), lines);

    // Coins that were spent here are not taken twice by an export of a balance that is lower by now.
    let rich = json!({ "type": "carried", "user": "a", "counter": "coins" });
    for (value, spent, left) in [(50, 30, 20), (40, 10, 0), (10, 0, 0)] {
        let mut line = rich.clone();
        line["value"] = value.into();
        line["from"] = "another".into();
        let (code, report) = run(&to, &["import", &files.write("coins.jsonl", [line])]);
        assert_eq!(code, 0, "{report}");
        if spent > 0 {
            let spend = json!({ "userId": "user:a", "amount": -spent, "reason": "Spent" });
            to.client_as(Role::Service, "a service").act("grantCoins", spend, "user { id }").await;
        }
        to.stores().rest().await;
        let coins = to.anonymous().data("{ user(id: \"user:a\") { coinCount } }", json!({})).await;
        assert_eq!(coins["user"]["coinCount"], left, "after {value}");
    }
    assert_eq!(run(&to, &["reconcile"]).0, 0);

    // Whoever reads only the beginning causes no error.
    let mut child =
        from.command().arg("export").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first.trim_end(), lines[0]);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_what_nobody_sees_stands_one_level_higher_and_its_note_keeps_its_count() {
    let (from, to, files) = (Server::start(&[]), Server::start(&[]), Files::new());
    // Each line twice in one batch, too.
    let twice = [history(), history()].concat();
    let (code, report) = run(&from, &["import", &files.write("history.jsonl", twice)]);
    assert!(code == 0 && report.contains("34 lines, 17 rows written"), "{report}");
    from.client("a").act("deleteComment", json!({ "commentId": "comment:k" }), "changed").await;
    from.stores().rest().await;
    let lines = export(&from);
    for _ in 0..2 {
        let (code, report) = run(&to, &["import", &files.write("lines.jsonl", &lines)]);
        assert_eq!(code, 0, "{report}");
        to.stores().rest().await;
        let note = "{ note(id: \"note:p\") { commentCount
                      comments(first: 5) { nodes { key replies(first: 5) { nodes { key replyTo { key } } } } } } }";
        let note = to.anonymous().data(note, json!({})).await["note"].clone();
        let replies = json!({ "nodes": [{ "key": "m", "replyTo": { "key": "l" } }] });
        assert_eq!(note["commentCount"], 2);
        assert_eq!(note["comments"]["nodes"], json!([{ "key": "l", "replies": replies }]));
    }
    assert!(!lines.iter().any(|line| line.contains("\"k\"")), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_tells_what_is_missing_otherwise_or_later_and_writes_the_lines_that_are_needed() {
    let (server, files) = (Server::start(&[]), Files::new());
    let file = files.write("history.jsonl", history());
    let differences = files.path("differences.jsonl").to_str().unwrap().to_owned();
    let compare =
        |file: &str| run(&server, &["import", "--dry-run", file, "--write-differences", &differences]);
    let written = || fs::read_to_string(&differences).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();

    // Nothing is there. An edge that is off lacks nothing.
    let (code, report) = compare(&file);
    assert!(
        code == 2 && report.contains("17 lines, 16 missing, 0 otherwise, 0 later in Plaudit"),
        "{report}"
    );
    assert!(report.contains("  like: 3 lines, 2 missing, 0 otherwise"), "{report}");
    assert_eq!(run(&server, &["import", &differences]).0, 0);
    for _ in 0..2 {
        let (code, report) = compare(&file);
        assert!(code == 0 && report.contains("17 lines, 0 missing, 0 otherwise, 0 later"), "{report}");
        assert!(written().is_empty());
    }

    // A like that was taken back, a note that was removed, and other lines.
    assert_eq!(server.client("b\"\\ü").unlike("note:p").await["changed"], true);
    let late = "2020-01-01T00:00:00Z";
    let other = [
        json!({ "type": "user", "subject": "a", "name": "Another" }),
        json!({ "type": "note", "key": "p", "author": "a", "title": "Other", "body": "Other", "at": late }),
        json!({ "type": "comment", "key": "k", "note": "p", "author": "a", "body": "Other", "at": late }),
        json!({ "type": "collect", "user": "a", "note": "p", "on": false, "at": late }),
        json!({ "type": "rating", "user": "b\"\\ü", "note": "p", "score": 8, "at": late }),
        json!({ "type": "rating", "user": "b\"\\ü", "note": "p", "score": 9, "at": "2018-01-01T00:00:00Z" }),
        json!({ "type": "like", "user": "nobody", "note": "p", "at": late }),
        json!({ "type": "follow", "user": "nobody", "target": "a", "on": false, "at": late }),
        json!({ "type": "dislike" }),
    ];
    let other = files.write("other.jsonl", other);
    for (file, numbers) in [
        (&file, "17 lines, 0 missing, 0 otherwise, 1 later in Plaudit"),
        (&other, "8 lines, 1 missing, 5 otherwise, 1 later in Plaudit"),
    ] {
        let (code, report) = compare(file);
        assert!(report.contains(numbers), "{report}");
        // Unknown users, and a wrong line.
        let rejected =
            if *file == other { "9 lines, nothing written, 3 lines rejected" } else { " 0 lines rejected" };
        assert!(report.contains(rejected), "{report}");
        assert_eq!(code, if *file == other { 2 } else { 0 });
    }
    let lines: Vec<String> = fs::read_to_string(&other).unwrap().lines().map(str::to_owned).collect();
    let needed: Vec<String> = [0, 1, 2, 3, 4, 6].map(|at: usize| lines[at].clone()).into();
    assert_eq!(written(), needed);
    // An import of them settles edges and ratings; texts stay.
    run(&server, &["import", &differences]);
    let (code, report) = compare(&other);
    assert!(code == 2 && report.contains("8 lines, 1 missing, 3 otherwise, 1 later in Plaudit"), "{report}");

    server.client("a").act("deleteNote", json!({ "noteId": "note:p" }), "changed").await;
    let (_, report) = compare(&file);
    assert!(report.contains("  note: 1 lines, 0 missing, 0 otherwise, 1 later in Plaudit"), "{report}");
    let (code, report) = compare("/nowhere/at/all.jsonl");
    assert!(code == 1 && report.contains("cannot read /nowhere/at/all.jsonl"), "{report}");
}
