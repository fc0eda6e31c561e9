//! What users do, over HTTP and WebSocket, against the real program with a real Redis and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod support;

mod architecture;
mod bad_input;
mod concurrency;
mod configuration;
mod crashes;
mod embedded;
mod feed;
mod follows;
mod likes;
mod live;
mod membership;
mod outages;
mod plans;
mod recovery;
mod roles;
mod schema;
