//! PostgreSQL: one method per statement. Methods of [`Db`] run outside of a transaction, those of [`Tx`] inside one.
//! Each statement has a time limit and passes the breaker.

pub mod activity;
pub mod announcements;
pub mod backfills;
pub mod capacity;
pub mod carried;
pub mod changes;
pub mod coins;
mod columns;
pub mod comment_edits;
pub mod comments;
pub mod counts;
pub mod dead;
pub mod edges;
pub mod erasure;
mod event_json;
pub mod event_retention;
pub mod events;
pub mod explain;
pub mod export;
mod given_ids;
pub mod group_moderation;
pub mod groups;
pub mod hiding;
pub mod idempotency;
pub mod import;
pub mod inbox;
mod inbox_erasure;
mod inbox_retention;
pub mod installation;
pub mod invalidations;
mod keys;
mod lists;
pub mod migration;
pub mod moderation;
mod new_event;
mod note_lists;
pub mod note_moderation;
pub mod note_texts;
pub mod notes;
pub mod notices;
mod notifications;
mod pool;
pub mod rankings;
pub mod ratings;
pub mod recount;
mod removed_texts;
pub mod repairs;
mod replaceable_pool;
mod replica;
mod replica_progress;
pub mod reports;
pub mod reshard;
mod row_reads;
pub mod schema;
pub mod seed;
mod server;
mod session;
pub mod shards;
pub mod sharing;
pub mod submissions;
pub mod threads;
mod timeline;
mod times;
mod touched;
mod tx;
pub mod users;
pub mod webhooks;

pub use given_ids::GivenIds;
pub use pool::{Db, LEASE_CONNECTIONS};
pub use row_reads::RowReads;
pub use server::{Probe, SqlServer};
pub use timeline::Timeline;
pub use tx::Tx;

/// A query whose text is composed only of constants of the catalogue.
fn from_catalogue(sql: String) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(sql)
}
