//! What each counter counts, by rows: the one definition of all tests, independent of the product's.

use sqlx::{AssertSqlSafe, PgPool};

/// Unread events of a badge: of entries above the position up to which it was read, and of entries that were deleted.
macro_rules! unread {
    ($badge:literal, $kinds:literal) => {
        concat!(
            "SELECT e.recipient_id, e.unread FROM inbox_entry AS e NATURAL JOIN kind_name
             JOIN inbox_counts AS read ON read.id = e.recipient_id
             WHERE name IN (",
            $kinds,
            ") AND e.id > read.",
            $badge,
            "_read_to UNION ALL SELECT id, ",
            $badge,
            "_unlisted FROM inbox_counts"
        )
    };
}

/// What the notes of an author received, by rows and as an import has set it.
macro_rules! received {
    ($edge:literal, $counter:literal) => {
        concat!(
            "SELECT n.author_id, 1 FROM ",
            $edge,
            " AS e JOIN note AS n ON n.id = e.target_id WHERE e.included AND n.is_shown
             UNION ALL SELECT n.author_id, c.value FROM carried_total AS c JOIN note AS n USING (id)
             WHERE c.kind = 'note' AND c.counter = '",
            $counter,
            "' AND n.is_shown"
        )
    };
}

/// The kind of entity, the counter, and a query of ids of entities and what each adds. Views have no rows.
pub const COUNTERS: &[(&str, &str, &str)] = &[
    ("user", "following", "SELECT actor_id, 1 FROM follow WHERE included"),
    ("user", "followers", "SELECT target_id, 1 FROM follow WHERE included"),
    ("user", "notes", "SELECT author_id, 1 FROM note WHERE is_shown"),
    ("user", "comments", "SELECT author_id, 1 FROM comment_index WHERE is_counted AND NOT note_is_hidden"),
    ("user", "likes_received", received!("note_like", "likes")),
    ("user", "collects_received", received!("note_collect", "collects")),
    ("user", "groups", "SELECT actor_id, 1 FROM group_join WHERE included"),
    ("user", "coins", "SELECT user_id, amount FROM coin_ledger"),
    ("note", "likes", "SELECT target_id, 1 FROM note_like WHERE included"),
    ("note", "collects", "SELECT target_id, 1 FROM note_collect WHERE included"),
    ("note", "comments", "SELECT note_id, 1 FROM comment_index WHERE is_counted"),
    ("note", "ratings", "SELECT note_id, 1 FROM note_rating WHERE included"),
    ("note", "rating_sum", "SELECT note_id, score FROM note_rating WHERE included"),
    ("comment", "likes", "SELECT target_id, 1 FROM comment_like WHERE included"),
    ("comment", "replies", "SELECT parent_id, 1 FROM comment_index WHERE is_counted"),
    ("group", "members", "SELECT target_id, 1 FROM group_join WHERE included"),
    ("group", "notes", "SELECT group_id, 1 FROM note WHERE is_shown"),
    ("group", "featured_notes", "SELECT group_id, 1 FROM note WHERE is_shown AND featured_at IS NOT NULL"),
    ("inbox", "likes", unread!("likes", "'note_like', 'comment_like'")),
    ("inbox", "followers", unread!("followers", "'follow'")),
    ("inbox", "replies", unread!("replies", "'comment', 'reply', 'mention'")),
    ("inbox", "messages", unread!("messages", "'message'")),
];

/// Totals that differ from their rows. Removed entities keep their last totals.
pub async fn wrong_totals(sql: &PgPool) -> Vec<String> {
    let mut wrong = Vec::new();
    for &(kind, counter, rows) in COUNTERS {
        let table = match kind {
            "user" | "inbox" => "app_user",
            "note" => "note",
            "comment" => "comment_index",
            _ => "app_group",
        };
        let query = format!(
            "SELECT '{kind}_' || c.id || ': {counter} is ' || c.{counter} || ', its rows say ' || coalesce(sum(r.adds), 0)
             FROM {kind}_counts AS c JOIN {table} AS t ON t.id = c.id AND t.removed_at IS NULL
             LEFT JOIN ({rows} UNION ALL
                        SELECT id, value FROM carried_total WHERE kind = '{kind}' AND counter = '{counter}')
                 AS r (id, adds) ON r.id = c.id
             GROUP BY c.id, c.{counter} HAVING c.{counter} <> coalesce(sum(r.adds), 0)"
        );
        let differing: Vec<String> = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(sql).await.unwrap();
        wrong.extend(differing);
    }
    wrong
}
