//! Totals in PostgreSQL compared with the rows that they include.

use support::Stores;

/// A row for each unread event of a badge: of entries above the position up to which it was read.
macro_rules! unread {
    ($badge:literal, $kinds:literal) => {
        concat!(
            "SELECT e.recipient_id AS id FROM inbox_entry AS e NATURAL JOIN kind_name
             JOIN inbox_counts AS read ON read.id = e.recipient_id, generate_series(1, e.unread)
             WHERE name IN (",
            $kinds,
            ") AND e.id > read.",
            $badge,
            "_read_to"
        )
    };
}

/// Each total with a query of its rows. Removed entities keep their last totals.
const TOTALS: [(&str, &str, &str); 21] = [
    ("user", "following", "SELECT actor_id AS id FROM follow WHERE included"),
    ("user", "followers", "SELECT target_id AS id FROM follow WHERE included"),
    ("user", "notes", "SELECT author_id AS id FROM note WHERE is_shown"),
    ("user", "comments", "SELECT author_id AS id FROM comment_index WHERE is_counted AND NOT note_is_hidden"),
    ("note", "comments", "SELECT note_id AS id FROM comment_index WHERE is_counted"),
    ("note", "ratings", "SELECT note_id AS id FROM note_rating WHERE included"),
    ("note", "rating_sum", "SELECT note_id AS id FROM note_rating, generate_series(1, score) WHERE included"),
    ("comment", "replies", "SELECT parent_id AS id FROM comment_index WHERE is_counted"),
    (
        "user",
        "likes_received",
        "SELECT n.author_id AS id FROM note_like AS e JOIN note AS n ON n.id = e.target_id WHERE e.included AND n.is_shown",
    ),
    (
        "user",
        "collects_received",
        "SELECT n.author_id AS id FROM note_collect AS e JOIN note AS n ON n.id = e.target_id WHERE e.included AND n.is_shown",
    ),
    ("user", "groups", "SELECT actor_id AS id FROM group_join WHERE included"),
    ("note", "likes", "SELECT target_id AS id FROM note_like WHERE included"),
    ("note", "collects", "SELECT target_id AS id FROM note_collect WHERE included"),
    ("comment", "likes", "SELECT target_id AS id FROM comment_like WHERE included"),
    ("group", "members", "SELECT target_id AS id FROM group_join WHERE included"),
    ("group", "notes", "SELECT group_id AS id FROM note WHERE is_shown AND group_id IS NOT NULL"),
    ("group", "featured_notes", "SELECT group_id AS id FROM note WHERE is_shown AND featured_at IS NOT NULL"),
    ("inbox", "likes", unread!("likes", "'note_like', 'comment_like'")),
    ("inbox", "followers", unread!("followers", "'follow'")),
    ("inbox", "replies", unread!("replies", "'comment', 'reply', 'mention'")),
    ("inbox", "messages", unread!("messages", "'message'")),
];

/// Open cases whose numbers differ from their reports.
const CASES: &str = "SELECT c.about || ' has ' || c.by_reason::text || ', reports ' || r.by_reason::text
    FROM report_case AS c CROSS JOIN LATERAL (
        SELECT array_agg((SELECT count(*) FROM report WHERE case_id = c.id AND reason = place) ORDER BY place) AS by_reason
        FROM generate_subscripts(c.by_reason, 1) AS place) AS r
    WHERE c.closed_at IS NULL AND (c.by_reason <> r.by_reason OR NOT EXISTS (SELECT FROM report WHERE case_id = c.id))";

pub async fn differences(stores: &Stores) -> Vec<String> {
    let sql = stores.sql().await;
    let mut differences: Vec<String> = sqlx::query_scalar(CASES).fetch_all(&sql).await.unwrap();
    for (kind, column, rows) in TOTALS {
        let table = match kind {
            "user" | "inbox" => "app_user",
            "note" => "note",
            "comment" => "comment_index",
            _ => "app_group",
        };
        let query = format!(
            "SELECT c.id, c.{column}, count(r.id) FROM {kind}_counts AS c
             JOIN {table} AS t ON t.id = c.id AND t.removed_at IS NULL
             LEFT JOIN ({rows}) AS r ON r.id = c.id GROUP BY c.id, c.{column} HAVING c.{column} <> count(r.id)"
        );
        let differing: Vec<(i64, i64, i64)> =
            sqlx::query_as(sqlx::AssertSqlSafe(query)).fetch_all(&sql).await.unwrap();
        differences.extend(
            differing.iter().map(|(id, total, rows)| format!("{kind}:{id} {column} is {total}, rows {rows}")),
        );
    }
    differences
}
