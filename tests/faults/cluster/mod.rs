//! Schedules of faults on a Redis Cluster of three masters and three replicas, and a PostgreSQL with a standby: two
//! servers for requests, two for the pipeline. `redis_replicas` is 1, so nothing acknowledged may be lost by any of them.

mod masters;
mod primary;

use std::sync::Arc;

use parking_lot::Mutex;
use plaudit_store::sql::{Db, stream::webhooks};
use rand::{SeedableRng, rngs::StdRng};

use crate::{
    deployment::{self, Deployment, faketime},
    hook::{Hook, SECRET},
    nemesis::{Bounds, Plan},
    seeds,
    servers::Servers,
};
use support::{OwnPostgres, Place, Proxy, RedisCluster, Server, Stores};

const MASTERS: usize = 3;
const SHARDS: u16 = 6;
const FLAGS: [&str; 12] = [
    "--virtual-shards",
    "6",
    "--redis-replicas",
    "1",
    "--lease",
    "1s",
    "--reply-wait",
    "1s",
    "--batch-wait",
    "5ms",
    "--batch-events",
    "20",
];
/// Where everybody who may connect is trusted.
const TRUST: &str = "host all all 127.0.0.1/32 trust";

/// Stores with replicas, and proxies before them. They suffer one fault at a time.
pub struct ClusterStores {
    redis: RedisCluster,
    /// The port of the node that has a fault.
    hit: Mutex<Option<u16>>,
    postgres: tokio::sync::Mutex<PostgresPair>,
    /// Leads to the primary.
    proxy: Proxy,
}

struct PostgresPair {
    primary: OwnPostgres,
    standby: OwnPostgres,
}

#[tokio::test(flavor = "multi_thread")]
async fn six_schedules_of_failovers_and_moved_slots_lose_nothing_and_count_nothing_twice() {
    run_all(seeds(1, 6), |_| {}).await;
}

/// Runs these schedules in sequence on the same servers. Panics at the end if any has failed.
pub async fn run_all(seeds: Vec<u64>, progress: impl FnMut(usize)) {
    let plan = |seed, steps| {
        let bounds = Bounds { servers: 4, shards: SHARDS, steps, has_clocks: faketime().is_some() };
        Plan::of_cluster(&mut StdRng::seed_from_u64(seed), &bounds)
    };
    let failures = deployment::run_all(start, seeds, plan, progress).await;
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
}

async fn start() -> Deployment {
    let cluster = ClusterStores::start().await;
    let nodes = cluster.redis.nodes().iter().map(|node| node.port).collect();
    let database = format!("postgres://plaudit@127.0.0.1:{}/plaudit", cluster.proxy.port);
    let stores = Stores::elsewhere(&cluster.redis.url(), nodes, &database);
    let hook = Hook::start().await;
    let webhook = ["--webhook-url", hook.url(), "--webhook-secret", SECRET];
    let server = |role| Server::start_on(&stores, &[&FLAGS[..], &webhook, &["--roles", role]].concat());
    // The others are ready only when shards have owners.
    let servers = ["pipeline", "pipeline", "api", "api"].map(server).into_iter().collect();
    let db = Db::for_pipeline(stores.database_url(), 1).unwrap();
    webhooks::webhook_position(&db).await.unwrap();
    let servers = Arc::new(Servers::new(servers, 2..4));
    Deployment { stores, cluster: Some(cluster), servers, hook, db }
}

impl ClusterStores {
    async fn start() -> Self {
        let place = Arc::new(Place::new());
        let redis = RedisCluster::start_behind_proxies(MASTERS).await;
        let primary = OwnPostgres::start(&place, TRUST, &[]).await;
        let standby = primary.standby("standby", &[]).await;
        let proxy = Proxy::start(primary.port).await;
        let pair = PostgresPair { primary, standby };
        Self { redis, hit: Mutex::default(), postgres: tokio::sync::Mutex::new(pair), proxy }
    }
}
