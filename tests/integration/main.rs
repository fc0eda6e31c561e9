//! What users do, over HTTP and WebSocket, against the real program with a real Redis and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

#[expect(dead_code, reason = "the helpers of all tests; these need most")]
#[path = "../support/mod.rs"]
mod support;

mod architecture;
mod backlog;
mod bad_input;
mod coins;
mod comment_moderation;
mod comments;
mod concurrency;
mod configuration;
mod costs;
mod crashes;
mod dead;
mod demo_data;
mod edges;
mod embedded;
mod explain;
mod feed;
mod follows;
mod fuzz;
mod history;
mod hot;
mod inbox;
mod likes;
mod limits;
mod lists;
mod live;
mod membership;
mod metrics;
mod moderation;
mod outages;
mod plans;
mod posting;
mod races;
mod reconcile;
mod recovery;
mod roles;
mod schema;
mod shutdown;
mod storm;
mod views;
