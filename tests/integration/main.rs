//! What users do, over HTTP and WebSocket, against the real program with a real Redis and PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

#[expect(dead_code, reason = "the helpers of all tests; these need most")]
#[path = "../support/mod.rs"]
mod support;

mod access;
mod architecture;
mod backlog;
mod bad_input;
mod browsers;
mod coins;
mod comment_moderation;
mod comments;
mod concurrency;
mod configuration;
mod costs;
mod crashes;
mod dead;
mod demo_data;
mod dev;
mod documents;
mod edges;
mod embedded;
mod explain;
mod fanout;
mod feed;
mod follows;
mod fuzz;
mod history;
mod hot;
mod http;
mod inbox;
mod likes;
mod limits;
mod lists;
mod live;
mod log;
mod membership;
mod metrics;
mod moderation;
mod outages;
mod pages;
mod plans;
mod posting;
mod races;
mod rates;
mod reconcile;
mod recovery;
mod roles;
mod schema;
mod security;
mod shutdown;
mod slow_clients;
mod socket;
mod socket_limits;
mod sse;
mod storm;
mod tokens;
mod views;
