//! Test helpers: start servers, send them requests, and read their stores.

#![expect(clippy::new_without_default, clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod certificates;
mod client;
mod collector;
mod disk;
mod erased;
mod event_stream;
mod issuer;
mod keys;
mod moderation_service;
mod own_servers;
mod place;
mod program;
pub mod proxy;
pub mod raw;
pub mod redis_cluster;
mod server;
mod socket;
mod stores;
mod totals;
mod webhook_endpoint;

use std::time::{Duration, Instant};

pub use certificates::{Authority, Certificate};
pub use client::{Client, Reply, note, number, user};
pub use collector::{Collector, Span, Takes};
pub use erased::{drift, keys_with, rows_of, tables_with, until_erased};
pub use event_stream::{EventStream, StreamItem};
pub use issuer::{Issuer, Key};
pub use keys::key;
pub use moderation_service::{Answer, ModerationService};
pub use own_servers::{Balancer, OwnPostgres, OwnRedis, PgBouncer, Sentinel, free_port, valkey};
pub use place::Place;
pub use program::{built, path_of, printed, program, text_of};
pub use proxy::Proxy;
pub use redis_cluster::RedisCluster;
pub use server::{SECRET, Server, plaudit, refused_start, token, token_as, token_for};
pub use socket::{Socket, upgrade};
pub use stores::{Stores, Totals};
pub use totals::{COUNTERS, wrong_totals};
pub use webhook_endpoint::{Delivery, Reply as WebhookReply, WebhookEndpoint};

/// Waits until `condition` returns a value; panics after `bound` with the text `what`.
pub async fn eventually<T, F>(what: &str, bound: Duration, mut condition: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let start = Instant::now();
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        assert!(start.elapsed() < bound, "not within {bound:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Time limit for what should take a moment; long enough for a busy machine.
pub const SOON: Duration = Duration::from_secs(80);

/// The time in this many days, as an API value.
pub fn in_days(days: i64) -> String {
    let time = chrono::Utc::now() + chrono::Duration::days(days);
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
