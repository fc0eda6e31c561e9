//! Query plans: every list is paged by keyset cursors, keeps its order while items arrive, and is read by an index.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
};

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::graphql::schema_types::Types;
use support::{Client, SOON, Server, Stores, eventually, key, note, user};

/// Lists to whose top the paging test adds items. `WHO` is the number of a user, note or group, `ARGS` the
/// arguments of the page, `NODES` the selected fields.
const LISTS: &[&str] = &[
    "feed(ARGS) NODES",
    "followingFeed(ARGS) NODES",
    "user(id: \"user_WHO\") { notes(ARGS) NODES }",
    "user(id: \"user_WHO\") { followers(ARGS) NODES }",
    "user(id: \"user_WHO\") { following(ARGS) NODES }",
    "user(id: \"user_WHO\") { groups(ARGS) NODES }",
    "note(id: \"note_WHO\") { likers(ARGS) NODES }",
    "note(id: \"note_WHO\") { comments(ARGS) NODES }",
    "group(id: \"group_WHO\") { notes(ARGS) NODES }",
    "group(id: \"group_WHO\") { members(ARGS) NODES }",
    "viewer { likedNotes(ARGS) NODES }",
    "viewer { collectedNotes(ARGS) NODES }",
    "viewer { unpublishedComments(ARGS) NODES }",
    "viewer { unpublishedNotes(ARGS) NODES }",
    "viewer { coinEntries(ARGS) NODES }",
];

/// Lists that the paging test leaves out, because it cannot easily add items at their top. Entries of an inbox move.
const OTHERS: &[&str] = &[
    "viewer { inbox { entries(ARGS) { nodes { id actors(first: 10) { id } } pageInfo { hasNextPage endCursor } } } }",
    "note(id: \"note_WHO\") { comments(orderBy: NEWEST, ARGS) NODES }",
    "note(id: \"note_WHO\") { ratings(ARGS) NODES }",
    "node(id: \"comment_5\") { ... on Comment { replies(ARGS) NODES } }",
    "node(id: \"comment_5\") { ... on Comment { replies(orderBy: NEWEST, ARGS) NODES } }",
    "groups(ARGS) NODES",
    "groups(orderBy: NEWEST, ARGS) NODES",
    "users(prefix: \"Some\", ARGS) NODES",
    "user(id: \"user_WHO\") { notes(orderBy: HOT, ARGS) NODES }",
    "group(id: \"group_WHO\") { notes(orderBy: HOT, ARGS) NODES }",
    "reviewQueue { items(state: REPORTED, ARGS) NODES }",
    "reviewQueue { items(state: REPORTED, orderBy: OLDEST, ARGS) NODES }",
    "hotNotes(orderBy: ALL, ARGS) NODES",
    "hotNotes(orderBy: HOUR, ARGS) NODES",
];

/// Lists whose plans are not looked at, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("Comment.likers", "the statement is that of `Note.likers`, of another table of the same form"),
    ("Query.events", "a stream, read by position only"),
    ("Query.exportUser", "goes through all that a user has"),
    ("ReviewItem.reports", "read with `reviewQueue`"),
    ("Viewer.likedComments", "the statement is that of `likedNotes`, of another table of the same form"),
];

/// Lists that are pushed: the root field, its argument, the part of a position that orders them, and its
/// selection. `WHO` as above.
const PUSHED: &[(&str, &str, usize, &str)] = &[
    ("noteCommentsChanged", "noteId: \"note_WHO\", ", 1, "comments { id body }"),
    ("feedChanged", "", 2, "noteIds"),
    ("inboxEntryAdded", "", 1, "entries { id }"),
];

/// A page: its ids, and the cursor of the next page.
struct Page {
    ids: Vec<String>,
    next: Option<String>,
}

async fn page(client: &Client, list: &str, who: i64, first: usize, after: Option<&str>) -> Page {
    let id = match list {
        list if list.contains("ratings") => "user { id }",
        list if list.contains("reviewQueue") => "queuedAt reports(first: 1) { nodes { text } }",
        _ => "id",
    };
    let field = list
        .replace("WHO", &who.to_string())
        .replace("ARGS", "first: $first, after: $after")
        .replace("NODES", &format!("{{ nodes {{ {id} }} pageInfo {{ hasNextPage endCursor }} }}"));
    let query = format!("query ($first: Int, $after: String) {{ {field} }}");
    let data = client.data(&query, json!({ "first": first, "after": after })).await;
    let mut page = &data;
    while page.get("nodes").is_none() {
        let inside = page.as_object().and_then(|fields| fields.values().next());
        page = inside.unwrap_or_else(|| panic!("{field}: {data}"));
    }
    let id = |node: &Value| {
        node["id"].as_str().or(node["user"]["id"].as_str()).or(node["queuedAt"].as_str()).unwrap().to_owned()
    };
    let ids = page["nodes"].as_array().unwrap().iter().map(id);
    let next = (page["pageInfo"]["hasNextPage"] == true)
        .then(|| page["pageInfo"]["endCursor"].as_str().unwrap().to_owned());
    Page { ids: ids.collect(), next }
}

/// The type and the field of a list above.
fn of_schema(list: &str) -> String {
    let before = &list[..list.find("ARGS").unwrap()];
    let path: Vec<&str> = before.split(" { ").collect();
    let (within, last) = (&path[..path.len() - 1], path[path.len() - 1]);
    let of = match within.last().map(|field| field.split('(').next().unwrap()) {
        None => "Query",
        Some("user") => "User",
        Some("note") => "Note",
        Some("group") => "Group",
        Some("viewer") => "Viewer",
        Some("inbox") => "Inbox",
        Some("reviewQueue") => "ReviewQueue",
        Some("... on Comment") => "Comment",
        Some(other) => panic!("of which type is {other}?"),
    };
    format!("{of}.{}", last.split('(').next().unwrap())
}

#[test]
fn every_list_of_the_schema_is_here_or_has_a_reason() {
    let looked_at = LISTS.iter().chain(OTHERS).map(|list| of_schema(list));
    let known: BTreeSet<String> = looked_at.chain(LEFT_OUT.iter().map(|(of, _)| (*of).to_owned())).collect();
    let types = Types::read();
    let pages = types.arguments().filter(|(of, _, page)| *of != "Subscription" && page.name.node == "after");
    assert_eq!(known, pages.map(|(of, field, _)| format!("{of}.{field}")).collect());
}

const FEW_PER_PAGE: usize = 7;

#[tokio::test]
async fn a_list_is_read_without_gaps_or_duplicates_while_items_arrive_at_its_top() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let reader = server.client("reader");
    let own = post(&reader, None).await;
    let group = reader.data("mutation { createGroup(input: { name: \"All\" }) { group { id } } }", json!({}));
    assert_eq!(group.await["createGroup"]["group"]["id"], "group_1");
    assert_eq!((own.as_str(), who(&reader).await.as_str()), ("note_1", "user_1"));
    let mut arrived = 0;
    while arrived < 2 * FEW_PER_PAGE + 1 {
        arrive(&server, &reader, &mut arrived).await;
    }
    stores.rest().await;

    for list in LISTS {
        let Page { ids: expected, next } = page(&reader, list, 1, 100, None).await;
        assert!(expected.len() > 2 * FEW_PER_PAGE && next.is_none(), "{list}: {expected:?}");
        let mut page_read = page(&reader, list, 1, FEW_PER_PAGE, None).await;
        let mut read = page_read.ids;
        while let Some(next) = page_read.next {
            // Two new items are enough, and keep the lists short.
            if read.len() <= 2 * FEW_PER_PAGE {
                arrive(&server, &reader, &mut arrived).await;
            }
            page_read = page(&reader, list, 1, FEW_PER_PAGE, Some(&next)).await;
            read.extend(page_read.ids);
        }
        assert_eq!(read, expected, "{list}");
        stores.rest().await;
        let now = page(&reader, list, 1, 100, None).await.ids;
        assert!(now.len() > expected.len() && now.ends_with(&expected), "{list}: {now:?}");
    }
}

/// Adds an item to the top of every list of the first user, the first note and the first group.
async fn arrive(server: &Server, reader: &Client, arrived: &mut usize) {
    *arrived += 1;
    let newcomer = server.client(&format!("newcomer {arrived}"));
    newcomer.follow(&user(1)).await;
    newcomer.like(&note(1)).await;
    newcomer.data("mutation { joinGroup(input: { groupId: \"group_1\" }) { changed } }", json!({})).await;
    reader.follow(&who(&newcomer).await).await;
    let group =
        newcomer.act("createGroup", json!({ "name": "One more" }), "group { id }").await["group"]["id"]
            .clone();
    reader.act("joinGroup", json!({ "groupId": group }), "changed").await;
    let new_note = post(&newcomer, Some("group_1")).await;
    reader.like(&new_note).await;
    let collect = "mutation ($n: ID!) { collectNote(input: { noteId: $n }) { changed } }";
    reader.data(collect, json!({ "n": new_note })).await;
    post(reader, None).await;
    let comment = "WITH i AS (INSERT INTO comment_index (note_id, author_id, state) VALUES (1, 1, 'approved') RETURNING id)
                   INSERT INTO comment_body SELECT id, 'A comment' FROM i";
    let held = comment.replace("approved", "rejected");
    let waiting = "INSERT INTO note (author_id, title, body, state) VALUES (1, 'A note', 'Text', 'pending')";
    let coins = "INSERT INTO coin_ledger (user_id, amount, balance_after, reason, granted_by) VALUES (1, 1, 1, 'x', 1)";
    for statement in [held.as_str(), waiting, coins] {
        execute(&server.stores().sql().await, statement).await;
    }
    sqlx::query(comment).execute(&server.stores().sql().await).await.unwrap();
}

async fn post(author: &Client, group: Option<&str>) -> String {
    let query = "mutation ($g: ID) {
        createNote(input: { title: \"A note\", body: \"Text\", groupId: $g }) { note { id } } }";
    let data = author.data(query, json!({ "g": group })).await;
    data["createNote"]["note"]["id"].as_str().unwrap().to_owned()
}

async fn who(client: &Client) -> String {
    client.data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Tables of a million rows each.
const BIG: [&str; 17] = [
    "note",
    "note_counts",
    "note_like",
    "note_collect",
    "follow",
    "group_join",
    "inbox_entry",
    "comment_index",
    "comment_body",
    "comment_change",
    "note_rating",
    "app_user",
    "app_group",
    "group_counts",
    "coin_ledger",
    "report_case",
    "report",
];
/// The user, note and group with long lists, and those with short ones.
const MANY: i64 = 1;
const FEW: i64 = 2;
/// Enough executions for PostgreSQL to choose between a generic and a custom plan.
const TIMES: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn no_list_scans_or_sorts_a_table_of_a_million_rows() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let mut pipeline = Server::start_on(&stores, &["--roles", "pipeline"]);
    fill(&stores).await;
    explain_everything(&stores).await;
    // One connection, so that statements are prepared once. Without the pipeline, all statements are of requests.
    let api = Server::start_on(&stores, &["--roles", "api", "--database-connections", "1"]);
    pipeline.stop();
    // Rankings are made by the pipeline; without one, the request ranks by totals.
    stores.command(&["DEL", &key(0, "hot:ranking:all"), &key(0, "hot:ranking:hour")]).await;

    let marks = stores.sql().await;
    for list in LISTS.iter().chain(OTHERS) {
        mark(&marks, list).await;
        read_pages(&api, list).await;
    }
    for (field, argument, ordered_by, selection) in PUSHED {
        mark(&marks, field).await;
        read_changes(&api, field, argument, *ordered_by, selection).await;
    }
    mark(&marks, "end").await;
    let log = eventually("the plans are in the log", SOON, || async {
        let log = fs::read_to_string(stores.data_dir().join("postgres.log")).unwrap();
        plans(&log).iter().any(|plan| marked(plan) == Some("end")).then_some(log)
    })
    .await;
    let (mut list, mut read, mut faults) = ("", HashSet::new(), Vec::new());
    let plans = plans(&log);
    for plan in &plans {
        match marked(plan) {
            Some(name) => list = name,
            None => {
                let nodes = nodes(&plan["Plan"]);
                if nodes.iter().any(|node| is_big(node)) {
                    read.insert(list);
                    faults.extend(fault(&nodes).map(|fault| format!("{list}: {fault}\n{plan:#}")));
                }
            }
        }
    }
    assert_eq!(read.len(), LISTS.len() + OTHERS.len() + PUSHED.len(), "only {read:?} have plans");
    assert!(faults.is_empty(), "{} bad plans, the first: {}", faults.len(), faults[0]);
}

/// Reads the first page, the next one, and one in the middle, of a long list and of a short one.
async fn read_pages(api: &Server, list: &str) {
    // Moderators, who may read every list.
    let client = |of: i64| api.client_as(Role::Moderator, &format!("user {of}"));
    let (many, few) = (client(MANY), client(FEW));
    // The items of the short list are spread over the whole time, so its first item lies amid the long list.
    let middle = page(&few, list, FEW, 1, None).await.next;
    for _ in 0..TIMES {
        let first = page(&many, list, MANY, 20, None).await;
        assert_eq!(first.ids.len(), 20, "{list}");
        page(&many, list, MANY, 20, first.next.as_deref()).await;
        page(&many, list, MANY, 100, middle.as_deref()).await;
        assert!(!page(&few, list, FEW, 20, None).await.ids.is_empty(), "{list}");
        page(&few, list, FEW, 20, middle.as_deref()).await;
    }
}

/// Reads what is new since now, since long ago, and since a position amid the list, of a long list and of a short one.
async fn read_changes(api: &Server, field: &str, argument: &str, ordered_by: usize, selection: &str) {
    for who in [MANY, FEW] {
        let argument = argument.replace("WHO", &who.to_string());
        let query = format!(
            "subscription ($after: ChangePosition) {{ {field}({argument}after: $after) {{ position hasMore {selection} }} }}"
        );
        let mut socket = api.socket(&format!("user {who}")).await;
        let mut position = Value::Null;
        for number in 0..3 * TIMES {
            let after = match number % 3 {
                0 => json!("0".repeat(48)),
                1 => Value::Null,
                _ => {
                    let middle = format!("{:016x}", ROWS / 2);
                    let (mut after, at) = (position.as_str().unwrap().to_owned(), 16 * ordered_by);
                    after.replace_range(at..at + 16, &middle);
                    json!(after)
                }
            };
            let id = number.to_string();
            socket.subscribe(&id, &query, json!({ "after": after })).await;
            let event = socket.data().await[field].clone();
            assert_eq!(
                event["hasMore"] == true,
                number % 3 == 0 || number % 3 == 2 && (who == MANY || field == "feedChanged"),
                "{event}"
            );
            position = event["position"].clone();
            socket.send(json!({ "type": "complete", "id": id })).await;
        }
    }
}

/// Makes PostgreSQL log the plan of each statement of new connections.
async fn explain_everything(stores: &Stores) {
    let sql = stores.sql().await;
    for setting in [
        "session_preload_libraries = 'auto_explain'",
        "auto_explain.log_min_duration = 0",
        "auto_explain.log_format = 'json'",
    ] {
        execute(&sql, &format!("ALTER DATABASE plaudit SET {setting}")).await;
    }
}

/// Writes a line into the log of plans.
async fn mark(sql: &PgPool, name: &str) {
    execute(sql, &format!("SELECT {}", quoted(name))).await;
}

fn quoted(name: &str) -> String {
    format!("'mark: {name}'")
}

fn marked(plan: &Value) -> Option<&str> {
    plan["Query Text"].as_str()?.strip_prefix("SELECT 'mark: ")?.strip_suffix('\'')
}

/// The plans that `auto_explain` logged: JSON, indented by a tab.
fn plans(log: &str) -> Vec<Value> {
    let after_heads = log.split("  plan:\n").skip(1);
    let text = |rest: &str| rest.lines().map_while(|line| line.strip_prefix('\t')).collect::<String>();
    after_heads.map(|rest| serde_json::from_str(&text(rest)).unwrap()).collect()
}

/// The node and all its descendants.
fn nodes(node: &Value) -> Vec<&Value> {
    let descendants = node["Plans"].as_array().into_iter().flatten().flat_map(nodes);
    std::iter::once(node).chain(descendants).collect()
}

fn is_big(node: &Value) -> bool {
    node["Relation Name"].as_str().is_some_and(|name| BIG.contains(&name))
}

/// Describes a node of the plan whose cost grows with the table, if there is one.
fn fault(nodes: &[&Value]) -> Option<String> {
    nodes.iter().find_map(|node| {
        let kind = node["Node Type"].as_str().unwrap();
        let filtered = node["Filter"].as_str().filter(|filter| SELECTIVE.iter().any(|s| filter.contains(s)));
        // A plan of no rows is of a condition that is never true, such as a position that was not given.
        if kind.ends_with("Sort") && node["Plan Rows"] != 0 {
            Some(format!("{kind} by {}", node["Sort Key"]))
        } else if is_big(node) && node.get("Index Cond").is_none() && !is_bounded(node) {
            Some(format!("{kind} of all rows of {}", node["Relation Name"]))
        } else if is_big(node) && filtered.is_some() {
            Some(format!("{kind} of {} filters rows: {filtered:?}", node["Relation Name"]))
        } else {
            None
        }
    })
}

/// The index condition is in a child node; or the node reads the first thousands of an index: a ranking, or the numbers
/// of the review queue.
fn is_bounded(node: &Value) -> bool {
    let firsts = ["note_counts_by_heat", "report_case_by_reports"];
    node["Node Type"] == "Bitmap Heap Scan" || firsts.iter().any(|index| node["Index Name"] == *index)
}

/// Conditions on an id or a cursor, which an index must answer.
const SELECTIVE: [&str; 3] = ["id = ", "id < ", "id) < "];

const USERS: i64 = 200_000;
const GROUPS: i64 = 20_000;
/// Notes that get activity; there are more notes.
const NOTES: i64 = 300_000;
const ROWS: i64 = 1_000_000;
/// Limit of users that one user follows.
const FOLLOW_LIMIT: i64 = 5_000;
/// One of seven is open.
const CASES: &str = "report_case (about, by_reason, first_reported_at, last_reported_at, closed_at)
    SELECT 'note_' || i, ARRAY[i % 50, 0, 0, 0, 0, 0, 0, 1], at, at, CASE WHEN i % 7 <> 1 THEN at END";

/// A fifth of each table belongs to the first user, note or group; a fifth points at it; the rest is spread.
/// Rows are inserted in chronological order.
async fn fill(stores: &Stores) {
    let sql = stores.sql().await;
    for setting in ["fsync = off", "full_page_writes = off", "max_wal_size = '8GB'"] {
        execute(&sql, &format!("ALTER SYSTEM SET {setting}")).await;
    }
    execute(&sql, "SELECT pg_reload_conf()").await;
    let subjects = "INSERT INTO app_user (subject, name) SELECT 'user ' || i, 'Somebody'";
    execute(&sql, &format!("{subjects} FROM generate_series(1, {USERS}) AS i")).await;
    let names = "INSERT INTO app_group (owner_id, name, description) SELECT i, 'A group', 'All of us'";
    execute(&sql, &format!("{names} FROM generate_series(1, {GROUPS}) AS i")).await;
    let notes = format!(
        "note (author_id, group_id, title, body, created_at, removed_at, state) SELECT
             CASE WHEN i % 100000 = 7 THEN 2 ELSE {} END, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 1 ELSE {} END,
             'A note', 'Text', at, CASE WHEN i % 100 = 99 THEN at END,
             CASE WHEN i % 50 IN (5, 7) THEN 'rejected' ELSE 'approved' END",
        first_or("i % 5 = 0", USERS, 7_919),
        any(GROUPS, 104_729),
    );
    let authors = any(USERS, 104_729);
    let authors = format!("CASE WHEN i % 100000 = 7 THEN 2 WHEN i % 10 = 7 THEN 1 ELSE {authors} END");
    let comments = format!(
        "comment_index (note_id, author_id, parent_id, created_at, removed_at, state, hot_score) SELECT
             {}, {}, CASE WHEN i % 10 = 1 THEN 5 END, at, CASE WHEN i % 100 = 99 THEN at END,
             CASE WHEN i % 50 = 7 THEN 'rejected' ELSE 'approved' END, i % 1000",
        first_or("i % 5 = 0", NOTES, 7_919),
        authors,
    );
    let changes = format!("comment_change SELECT i, {}, i", first_or("i % 5 = 0", NOTES, 7_919));
    let entries = format!(
        "inbox_entry (recipient_id, kind, target_id, id, unread, actors, created_at)
             SELECT {}, (SELECT kind FROM kind_name WHERE name = 'note_like'), i, i, 1, 1, at",
        first_or("i % 5 = 0", USERS, 7_919),
    );
    let ratings = format!(
        "note_rating (user_id, note_id, score, created_at, changed_at) SELECT i, {}, i % 11, at, at",
        first_or("i % 5 = 0", NOTES, 7_919),
    );
    let coins = format!(
        "coin_ledger (user_id, amount, balance_after, reason, granted_by, created_at) SELECT {}, 1, 1, 'A coin', 1, at",
        first_or("i % 5 = 0", USERS, 7_919),
    );
    let reports = format!(
        "report (case_id, reporter_id, reason, created_at) SELECT {}, i, 1, at",
        first_or("i % 5 = 0", ROWS, 7_919)
    );
    let first_half = async {
        add(&sql, "note", &notes).await;
        add(&sql, "note_like", &edges("note_like", NOTES, NOTES)).await;
        add(&sql, "note_collect", &edges("note_collect", NOTES, NOTES)).await;
        add(&sql, "comment_body", "comment_body SELECT i, 'A comment'").await;
    };
    let second_half = async {
        add(&sql, "comment_index", &comments).await;
        add(&sql, "inbox_entry", &entries).await;
        add(&sql, "comment_change", &changes).await;
        add(&sql, "note_rating", &ratings).await;
        add(&sql, "coin_ledger", &coins).await;
        add(&sql, "report_case", CASES).await;
        add(&sql, "report", &reports).await;
        add(&sql, "follow", &edges("follow", USERS - 1, FOLLOW_LIMIT)).await;
        add(&sql, "group_join", &edges("group_join", GROUPS, GROUPS)).await;
    };
    tokio::join!(first_half, second_half);
    execute(&sql, "INSERT INTO note_counts (id, likes, author_id, group_id, comment_position) SELECT id, id % 1000, author_id, group_id, 1000000 FROM note ORDER BY id").await;
    execute(&sql, "ANALYZE").await;
}

/// Edges; the first user has at most `most` of them.
fn edges(kind: &str, targets: i64, most: i64) -> String {
    format!(
        "{kind} SELECT CASE WHEN i % 5 = 0 AND i / 5 < {most} THEN 1 WHEN i % 5 = 1 THEN 2 + i / 5 ELSE {} END,
                CASE WHEN i % 5 = 0 AND i / 5 < {most} THEN 1 + i / 5 WHEN i % 5 = 1 THEN 1 ELSE {} END,
                i % 50 <> 7, i % 50 <> 7, at, at",
        any(USERS, 7_919),
        any(targets, 104_729),
    )
}

/// SQL: the first id if the condition holds, else any other id.
fn first_or(condition: &str, of: i64, step: i64) -> String {
    format!("CASE WHEN {condition} THEN 1 ELSE {} END", any(of, step))
}

/// SQL: an id other than the first, in a scattered order.
fn any(of: i64, step: i64) -> String {
    format!("2 + i * {step} % {}", of - 1)
}

/// Adds a million rows without triggers, checks and indexes, and then creates the indexes, which is much faster.
async fn add(sql: &PgPool, table: &str, insert: &str) {
    let keys = "SELECT conname, pg_get_constraintdef(c.oid) FROM pg_constraint AS c
        WHERE conrelid = to_regclass($1) AND contype = 'p'
          AND NOT EXISTS (SELECT FROM pg_constraint AS other WHERE other.confrelid = c.conrelid)";
    let keys: Vec<(String, String)> = sqlx::query_as(keys).bind(table).fetch_all(sql).await.unwrap();
    let indexes = "SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename = $1
        AND indexname NOT IN (SELECT conname FROM pg_constraint)";
    let indexes: Vec<(String, String)> = sqlx::query_as(indexes).bind(table).fetch_all(sql).await.unwrap();
    let mut script = "SET LOCAL session_replication_role = replica; SET LOCAL synchronous_commit = off;
        SET LOCAL maintenance_work_mem = '256MB';"
        .to_owned();
    script.extend(keys.iter().map(|(name, _)| format!("ALTER TABLE {table} DROP CONSTRAINT {name};")));
    script.extend(indexes.iter().map(|(name, _)| format!("DROP INDEX {name};")));
    script.push_str(&format!(
        "INSERT INTO {insert} FROM (SELECT i, now() - ({ROWS} - i) * interval '1 second' AS at
                                    FROM generate_series(1::bigint, {ROWS}) AS i) AS numbers;"
    ));
    script.extend(keys.iter().map(|(name, key)| format!("ALTER TABLE {table} ADD CONSTRAINT {name} {key};")));
    script.extend(indexes.iter().map(|(_, index)| format!("{index};")));
    execute(sql, &format!("BEGIN; {script} COMMIT")).await;
}

async fn execute(sql: &PgPool, text: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(text)).execute(sql).await.unwrap();
}
