//! Schedules of kills of real processes: two servers, a Redis and a PostgreSQL.

use std::sync::Arc;

use plaudit_catalogue::primitives::fault::Point;
use plaudit_embedded_stores::AppendFsync;
use plaudit_store::sql::{Db, stream::webhooks};
use rand::{SeedableRng, rngs::StdRng};

use crate::{
    deployment::{self, Deployment},
    hook::{Hook, SECRET},
    nemesis::Plan,
    seeds,
    servers::Servers,
};
use support::{Server, Stores};

const FLAGS: [&str; 8] =
    ["--lease", "1s", "--reply-wait", "200ms", "--batch-wait", "5ms", "--batch-events", "20"];

#[tokio::test(flavor = "multi_thread")]
async fn ten_schedules_of_real_kills_lose_nothing_and_count_nothing_twice() {
    run_all(seeds(1, 10), |_| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_while_it_stops_loses_nothing_and_counts_nothing_twice() {
    let plan = |_, _| Plan::of_crash_at_stop(Point::BeforeRelease);
    let failures = deployment::run_all(start, vec![1], plan, |_| {}).await;
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Runs these schedules in sequence on the same servers. Panics at the end if any has failed.
pub async fn run_all(seeds: Vec<u64>, progress: impl FnMut(usize)) {
    let plan = |seed, steps| Plan::of_single_stores(&mut StdRng::seed_from_u64(seed), steps);
    let failures = deployment::run_all(start, seeds, plan, progress).await;
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
}

/// Two servers on the same stores. Every acknowledged write is on disk.
async fn start() -> Deployment {
    let stores = Stores::start(AppendFsync::Always).await;
    let hook = Hook::start().await;
    let mut flags = FLAGS.to_vec();
    flags.extend(["--webhook-url", hook.url(), "--webhook-secret", SECRET]);
    let servers = vec![Server::start_on(&stores, &flags), Server::start_on(&stores, &flags)];
    let db = Db::for_pipeline(stores.database_url(), 1).unwrap();
    webhooks::webhook_position(&db).await.unwrap();
    Deployment { stores, cluster: None, servers: Arc::new(Servers::new(servers, 0..2)), hook, db }
}
