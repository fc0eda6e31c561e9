//! The catalogue's counters and lines of rows, and the tables of the database.

use std::collections::BTreeSet;

use plaudit_catalogue::{Counter, EntityKind, Rows};
use plaudit_embedded_stores::AppendFsync;
use plaudit_store::sql::{Db, connection::migration};
use support::{COUNTERS, Stores};

/// Columns that no line has, and what becomes of what they name.
const ELSEWHERE: &[(&str, &str)] = &[
    // An erasure empties the row at once; the event of the erasure keeps the subject for some days.
    ("app_user", "subject"),
    ("event", "subject"),
    // Taken out of all rows at the end of an erasure.
    ("activity", "actor_id"),
    ("event", "actor_id"),
    ("event", "recipient_id"),
    ("event", "target_id"),
    // Entries about comments and messages are deleted with them; others with the edge.
    ("inbox_entry", "target_id"),
    // Dropped by a stage of an erasure.
    ("dead_event", "actor_id"),
    ("dead_event", "target_id"),
    // The trigger `close_report_case`.
    ("report_case", "about"),
    // Copies of the note's, beside its totals.
    ("note_counts", "author_id"),
    ("note_counts", "group_id"),
    // Ids alone, which say nothing of an erased user.
    ("activity", "acted_by"),
    ("activity", "target_id"),
    ("backfill", "after_id"),
    ("backfill", "ordered_by"),
    ("backfill", "subject"),
    ("backfill", "within_id"),
    ("coin_ledger", "granted_by"),
    ("comment_change", "comment_id"),
    ("comment_change", "note_id"),
    ("comment_index", "reply_to_id"),
    ("decision", "decided_by"),
    ("idempotency_key", "result_id"),
    ("invalidation", "names"),
    ("nightly_reconcile", "after_id"),
    ("repair", "entity"),
    ("report_case", "decided_by"),
];

fn is_in_a_line(table: &str, column: &str) -> bool {
    let statements = |rows: &Rows| [Some(rows.on_removal), rows.on_erasure].into_iter().flatten();
    let is_changed = |text: &str| text.contains(&format!(" {table} ")) && text.contains(column);
    Rows::all().any(|rows| {
        let of_moves = rows.moves().into_iter().filter(|m| !m.is_of_owner).map(|m| m.of);
        let columns = [rows.user, rows.key].into_iter().chain(rows.target.map(|(column, _)| column));
        rows.table == table && columns.chain(of_moves).any(|name| name == column)
            || statements(&rows).any(is_changed)
    })
}

#[test]
fn what_a_counter_counts_is_defined_for_tests_but_of_views_and_positions() {
    let is_undefined = |counter: &&Counter| {
        let named = (counter.kind().name(), counter.name());
        !COUNTERS.iter().any(|(kind, name, _)| (*kind, *name) == named)
    };
    let all = EntityKind::ALL.iter().flat_map(|kind| kind.counters());
    let undefined: Vec<&Counter> = all.filter(is_undefined).collect();
    let without_rows = [&Counter::NoteViews, &Counter::NoteCommentPosition];
    assert_eq!(undefined, without_rows, "tests/support/totals.rs must say what each counter counts");
}

#[tokio::test]
async fn every_column_that_names_a_thing_is_in_a_line_of_rows_or_has_a_reason_not_to_be() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let db = Db::for_pipeline(stores.database_url(), 1).unwrap();
    migration::migrate(&db).await.unwrap();
    let columns: Vec<(String, String)> = sqlx::query_as(
        "SELECT table_name::text, column_name::text FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name !~ '^activity_'
           AND (udt_name IN ('int8', '_int8') AND (column_name ~ '_(id|by)$' OR column_name = 'mentions')
                OR udt_name = 'text' AND column_name IN ('about', 'decided_by', 'entity', 'names', 'subject'))",
    )
    .fetch_all(&stores.sql().await)
    .await
    .unwrap();
    let elsewhere = |table: &str, column: &str| ELSEWHERE.contains(&(table, column));
    let forgotten: Vec<_> = columns
        .iter()
        .filter(|(table, column)| !is_in_a_line(table, column) && !elsewhere(table, column))
        .collect();
    assert!(
        forgotten.is_empty(),
        "{forgotten:?}: say in src/catalogue/rows.rs what becomes of these rows, or here why nothing does"
    );
    let found: BTreeSet<(&str, &str)> =
        columns.iter().map(|(table, column)| (table.as_str(), column.as_str())).collect();
    let gone: Vec<_> = ELSEWHERE.iter().filter(|of| !found.contains(*of)).collect();
    assert!(gone.is_empty(), "{gone:?} are no columns any more");
    // A line whose table or columns do not exist would erase nothing.
    for rows in Rows::all() {
        let text = format!("SELECT {}, {} FROM {} LIMIT 0", rows.user, rows.key, rows.table);
        sqlx::query(sqlx::AssertSqlSafe(text)).execute(&stores.sql().await).await.unwrap();
    }
}
