//! Connections to PostgreSQL: pools, the server and its settings, the schema, and transactions.

pub mod announcements;
pub mod capacity;
pub mod migration;
pub(super) mod pool;
pub(super) mod replaceable_pool;
pub(super) mod replica;
pub(super) mod replica_progress;
pub mod schema;
pub(super) mod server;
pub(super) mod session;
pub(super) mod timeline;
pub(super) mod tx;
