//! Connections to PostgreSQL: pools, the server and its settings, the schema, and transactions.

pub mod announcements;
pub mod capacity;
pub mod migration;
pub mod new_event;
pub mod pool;
pub mod replaceable_pool;
pub mod replica;
pub mod replica_progress;
pub mod schema;
pub mod server;
pub mod session;
pub mod timeline;
pub mod tx;
