//! What is left of users who were erased.

use support::Stores;

/// Columns that name the user who did something, or whose something is.
const COLUMNS: &str = "SELECT c.table_name || '.' || c.column_name
    FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
    WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE'
      AND c.column_name IN ('actor_id', 'user_id', 'recipient_id', 'reporter_id')";

/// Rows that stay without their texts, and rows about the user.
const OTHERS: [&str; 8] = [
    "app_user WHERE id = $1 AND (name <> '' OR avatar_url IS NOT NULL OR subject IS NOT NULL)",
    "note WHERE author_id = $1 AND (removed_at IS NULL OR title <> '' OR body <> '')",
    "comment_index WHERE author_id = $1 AND removed_at IS NULL",
    "comment_body AS b JOIN comment_index AS c USING (id)
     WHERE author_id = $1 AND (b.body <> '' OR b.mentions <> '{}' OR b.images <> '{}')",
    "edit AS e JOIN comment_index AS c ON e.kind = 'comment' AND c.id = e.target_id WHERE author_id = $1",
    "submission AS s JOIN comment_index AS c ON s.kind = 'comment' AND c.id = s.target_id WHERE author_id = $1",
    "follow WHERE target_id = $1",
    "inbox_entry NATURAL JOIN kind_name WHERE name = 'message' AND target_id = $1",
];

/// Names of what is left of a user.
pub async fn remains(stores: &Stores, user: i64) -> Vec<String> {
    let columns: Vec<String> = sqlx::query_scalar(COLUMNS).fetch_all(&stores.sql().await).await.unwrap();
    assert!(columns.len() > 8, "{columns:?}");
    let rows = columns.iter().map(|column| {
        let (table, column) = column.split_once('.').unwrap();
        // The event of the erasure itself says whom it was about, and so who did it.
        let others = if table == "event" { " AND kind <> 115" } else { "" };
        format!("{table} WHERE {column} = $1{others}")
    });
    let mut remains = Vec::new();
    for rows in rows.chain(OTHERS.map(str::to_owned)) {
        let left = stores.number(&format!("SELECT count(*) FROM {rows}"), user).await;
        if left > 0 {
            remains.push(format!("user {user}: {left} in {rows}"));
        }
    }
    remains
}
