//! Demo data: complete, consistent, and written once.

use chrono::{Days, Utc};
use plaudit_token_auth::Role;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool};
use support::{COUNTERS, Client, SOON, Server, eventually, number, wrong_totals};

/// Queries of inconsistencies, which must count none.
const INCONSISTENCIES: &[(&str, &str)] = &[
    (
        "edges that are on and do not count, or the other way around",
        "SELECT count(*) FROM (SELECT is_on, included FROM note_like UNION ALL SELECT is_on, included FROM note_collect
                               UNION ALL SELECT is_on, included FROM comment_like
                               UNION ALL SELECT is_on, included FROM follow
                               UNION ALL SELECT is_on, included FROM group_join) AS edge WHERE is_on <> included",
    ),
    (
        "notes and comments that do not count",
        "SELECT (SELECT count(*) FROM note WHERE NOT is_shown)
                + (SELECT count(*) FROM comment_index WHERE NOT is_counted OR note_is_hidden)",
    ),
    (
        "notes whose history does not end at the current total",
        "SELECT count(*) FROM (SELECT DISTINCT ON (kind, target_id) kind, target_id, total_after FROM activity
                               ORDER BY kind, target_id, position DESC) AS last
         JOIN note_counts AS c ON c.id = target_id NATURAL JOIN kind_name
         WHERE total_after <> CASE name WHEN 'note_like' THEN likes ELSE collects END",
    ),
    (
        "users whose last balance differs from their total",
        "SELECT count(*) FROM (SELECT DISTINCT ON (user_id) user_id, balance_after FROM coin_ledger
                               ORDER BY user_id, id DESC) AS last
         JOIN user_counts AS c ON c.id = user_id WHERE balance_after <> coins",
    ),
    (
        "inbox entries that are older than the one before",
        "SELECT count(*) FROM (SELECT created_at, lag(created_at) OVER (PARTITION BY recipient_id ORDER BY id)
                               AS before FROM inbox_entry) AS entry WHERE created_at < before",
    ),
    (
        "entries that say otherwise than the likes",
        "SELECT count(*) FROM inbox_entry NATURAL JOIN kind_name
         WHERE name = 'note_like' AND (actors, unread) <>
             (SELECT count(*) FILTER (WHERE told > since), count(*) FILTER (WHERE told > read_to)
              FROM note_like AS e WHERE e.target_id = inbox_entry.target_id)",
    ),
    (
        "notes in a group whose author is not a member",
        "SELECT count(*) FROM note WHERE group_id IS NOT NULL AND NOT EXISTS
             (SELECT FROM group_join WHERE actor_id = author_id AND target_id = group_id AND is_on)",
    ),
];

async fn total(sql: &PgPool, query: String) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(sql).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_fills_an_empty_database_once_and_every_total_agrees_with_its_rows() {
    let server = Server::start(&[]);
    let seed = || {
        let output = server.command().args(["seed", "--users", "60", "--notes", "120"]).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(seed().contains("60 users, 14 groups with "));
    assert!(seed().contains("nothing was written"));
    let sql = server.stores().sql().await;
    for (kind, counter, _) in COUNTERS {
        let of_all = format!("SELECT sum({counter})::bigint FROM {kind}_counts");
        // Nobody rates.
        assert_eq!(total(&sql, of_all).await > 0, !counter.starts_with("rating"), "{kind} {counter}");
    }
    assert_eq!(wrong_totals(&sql).await, Vec::<String>::new());
    for (description, query) in INCONSISTENCIES {
        assert_eq!(total(&sql, (*query).to_owned()).await, 0, "{description}");
    }
    let feed = "{ viewer { user { name } } feed(first: 5) { nodes { title likeCount author { name }
                  comments(first: 2) { nodes { body likeCount viewerHasLiked } } } } }";
    let feed = server.client("mira.okafor").data(feed, json!({})).await;
    assert_eq!(feed["viewer"]["user"]["name"], "Mira Okafor");
    assert_eq!(feed["feed"]["nodes"].as_array().unwrap().len(), 5);
    // New entities get ids that are free.
    let group = json!({ "name": "A test", "description": "" });
    let group = server.client("mira.okafor").act("createGroup", group, "group { id }").await;
    assert_eq!(number(&group["group"]["id"]), 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_demo_data_shows_groups_collections_coins_hot_notes_and_their_history() {
    let server = Server::start(&["--seed-if-empty"]);
    // Right after a start, all counts and lists are cold.
    let mira = server.client("mira.okafor").retrying();
    has_collection_coins_and_messages(&mira).await;
    groups_have_members_and_notes(&mira).await;
    let sql = server.stores().sql().await;
    let hottest = eventually("the notes of the hour are ranked by heat", SOON, || async {
        let hot = hot_of_the_hour(&mira).await?;
        let heats = heats_of_the_hour(&sql).await;
        let heat = |id: &i64| heats.iter().find(|(note, _)| note == id).map_or(0, |(_, heat)| *heat);
        let ranked = hot.iter().zip(&heats).all(|(id, (_, best))| heat(id) == *best);
        (hot.len() == 20 && ranked).then(|| hot[0])
    })
    .await;
    the_history_ends_at_the_current_total(&server.client_as(Role::Moderator, "a moderator"), hottest).await;
}

async fn has_collection_coins_and_messages(mira: &Client) {
    let query = "{ viewer { user { coinCount groupCount }
                   coinEntries(first: 1) { nodes { balance } }
                   collectedNotes(first: 5) { nodes { viewerHasCollected collectCount } }
                   inbox { entries(first: 100) { nodes { kind } } } } }";
    let viewer = mira.data(query, json!({})).await["viewer"].clone();
    let user = &viewer["user"];
    assert!(user["coinCount"].as_i64() > Some(0) && user["groupCount"].as_i64() > Some(0), "{viewer}");
    assert_eq!(viewer["coinEntries"]["nodes"][0]["balance"], user["coinCount"]);
    let collected = viewer["collectedNotes"]["nodes"].as_array().unwrap();
    assert_eq!(collected.len(), 5);
    assert!(collected.iter().all(|note| note["viewerHasCollected"] == true));
    let entries = viewer["inbox"]["entries"]["nodes"].as_array().unwrap();
    let kinds: std::collections::BTreeSet<_> = entries.iter().map(|entry| entry["kind"].as_str()).collect();
    assert!(kinds.len() > 2, "{kinds:?}");
}

async fn groups_have_members_and_notes(mira: &Client) {
    let query = "query ($g: ID!) { group(id: $g) {
        id name description owner { name } memberCount noteCount featuredNoteCount
        members(first: 100) { nodes { id } } notes(first: 100) { nodes { group { id } } } } }";
    for id in 1..=14 {
        let group = mira.data(query, json!({ "g": format!("group_{id}") })).await["group"].clone();
        let count = |counter: &str| group[counter].as_u64().unwrap() as usize;
        let listed = |list: &str| group[list]["nodes"].as_array().unwrap();
        assert!(!group["description"].as_str().unwrap().is_empty() && group["owner"]["name"].is_string());
        assert_eq!(listed("members").len(), count("memberCount").min(100));
        assert_eq!(listed("notes").len(), count("noteCount").min(100));
        assert!(count("memberCount") > 20 && count("noteCount") > 20, "{group}");
        assert_eq!(count("featuredNoteCount"), 3);
        assert!(listed("notes").iter().all(|note| note["group"]["id"] == group["id"]));
    }
}

/// `None` while Redis is in recovery.
async fn hot_of_the_hour(client: &Client) -> Option<Vec<i64>> {
    let reply = client.send("{ hotNotes(orderBy: HOUR) { nodes { id } } }", json!({})).await.body;
    let notes = reply["data"]["hotNotes"]["nodes"].as_array()?;
    Some(notes.iter().map(|note| number(&note["id"])).collect())
}

/// Heat of each note in the current window, computed from the history, the hottest notes first.
async fn heats_of_the_hour(sql: &PgPool) -> Vec<(i64, i64)> {
    let query = "SELECT target_id, sum(CASE name WHEN 'note_collect' THEN 2 ELSE 1 END)::bigint AS heat
                 FROM activity NATURAL JOIN kind_name WHERE at >= date_bin('5 min', now(), 'epoch') - interval '55 min'
                 GROUP BY 1 ORDER BY heat DESC";
    sqlx::query_as(query).fetch_all(sql).await.unwrap()
}

async fn the_history_ends_at_the_current_total(moderator: &Client, note: i64) {
    let query = "query ($n: ID!, $from: DateTime!) { note(id: $n) { likeCount activity(from: $from) { gained total } } }";
    let from = (Utc::now() - Days::new(7)).to_rfc3339();
    let data = moderator.data(query, json!({ "n": format!("note_{note}"), "from": from })).await;
    let points = data["note"]["activity"].as_array().unwrap();
    assert_eq!(points.len(), 8);
    assert_eq!(points[7]["total"], data["note"]["likeCount"]);
    let number = |value: &Value| value.as_i64().unwrap();
    for pair in points.windows(2) {
        assert_eq!(number(&pair[1]["total"]), number(&pair[0]["total"]) + number(&pair[1]["gained"]));
    }
    assert!(points.iter().map(|point| number(&point["gained"])).sum::<i64>() > 0);
}
