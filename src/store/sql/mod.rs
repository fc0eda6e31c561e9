//! PostgreSQL: a function for each statement. With a [`Db`] it runs outside of a transaction, with a [`Tx`] inside it.
//! Each statement has a time limit and passes the breaker.

mod columns;
pub mod connection;
pub mod content;
pub mod counting;
pub mod import;
pub mod inbox;
pub mod moderation;
pub mod ownership;
pub mod people;
pub mod seed;
pub mod stream;
mod times;

pub use connection::pool::{Db, LEASE_CONNECTIONS};
pub use connection::server::{Probe, SqlServer};
pub use connection::timeline::Timeline;
pub use connection::tx::Tx;
pub use content::given_ids::GivenIds;

/// A query whose text is composed only of constants of the catalogue.
fn from_catalogue(sql: String) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(sql)
}
