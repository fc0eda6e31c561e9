//! Demo data: writes whole tables of an empty database (`rows`), then inboxes, history and totals from the rows
//! (`derived`).
//!
//! The caller chooses the ids, from 1: in an empty database every id is free.

pub mod derived;
pub mod rows;

use super::{Tx, from_catalogue};
use crate::StoreResult;

pub use derived::{
    MessageRows, TOTALS, add_history, add_inbox_entries, count_rows, rank_comments, sum_ledger,
};
pub use rows::{
    GrantRows, NoteRows, add_comment_bodies, add_comments, add_edges, add_grants, add_groups, add_notes,
    add_users, set_views,
};

/// Tables whose ids come from a sequence.
pub const NUMBERED: [&str; 4] = ["app_user", "app_group", "note", "comment_index"];

/// Locks the tables of [`NUMBERED`] against inserts until the transaction ends: no other transaction can take an id
/// that is used here, and the second of two seeds sees the rows of the first.
pub async fn lock_entities(tx: &mut Tx) -> StoreResult<()> {
    let text = format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", NUMBERED.join(", "));
    tx.db.run(sqlx::query(from_catalogue(text)).execute(&mut *tx.inner)).await.map(drop)
}

/// Settings of the transaction. Its statements may scan and hash tables: they derive rows from all rows of a
/// table, and the session's plans would look each of them up, in an index that may not even begin with what
/// they look up. It may be idle while data is generated.
pub async fn prepare(tx: &mut Tx) -> StoreResult<()> {
    let query = sqlx::query(
        "SELECT set_config(name, value, true)
         FROM (VALUES ('enable_seqscan', 'on'), ('enable_hashjoin', 'on'),
                      ('idle_in_transaction_session_timeout', '0')) AS setting (name, value)",
    );
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Whether there is no user and no note, not even a removed one. Then there is no group either, because a group has a
/// creator.
pub async fn is_empty(tx: &mut Tx) -> StoreResult<bool> {
    let query =
        sqlx::query_scalar("SELECT NOT EXISTS (SELECT FROM app_user) AND NOT EXISTS (SELECT FROM note)");
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Sets a table's sequence after the ids that were used here.
pub async fn advance_ids(tx: &mut Tx, table: &'static str) -> StoreResult<()> {
    let text = format!(
        "SELECT setval(ids, greatest(nextval(ids), (SELECT max(id) FROM {table})))
         FROM (SELECT pg_get_serial_sequence('{table}', 'id')::regclass AS ids) AS sequence",
    );
    tx.db.run(sqlx::query(from_catalogue(text)).execute(&mut *tx.inner)).await.map(drop)
}
