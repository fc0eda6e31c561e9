//! What a failover or a power cut of Redis loses.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use redis::Value;

use super::{Row, likes::Likes, power};
use support::{
    OwnPostgres, OwnRedis, Place, Proxy, SOON, Server, Stores, eventually, free_port, proxy::Line,
};

const TRUST: &str = "host all all 127.0.0.1/32 trust";
/// From a master to its replicas.
const AWAY: Duration = Duration::from_millis(20);
/// So many likes before the fault.
const BEFORE: usize = 150;
/// How long PostgreSQL is away before the fault.
const POSTGRES_AWAY: Duration = Duration::from_millis(400);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AppendFsync {
    EverySecond,
    Always,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// `kill -9` of the master, and the promotion of the replica that has most.
    Failover,
    /// The only Redis starts again with what was on disk.
    PowerCut,
}

#[derive(Clone, Copy)]
pub struct RedisCase {
    pub blow: Blow,
    pub replicas: u32,
    pub fsync: AppendFsync,
    pub postgres_is_away: bool,
}

impl fmt::Display for RedisCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fsync = self.fsync.name();
        match self.blow {
            Blow::Failover => {
                write!(f, "Redis fails over, `redis_replicas` {}, `appendfsync {fsync}`", self.replicas)?;
            }
            Blow::PowerCut => write!(f, "Redis loses power, `appendfsync {fsync}`")?,
        }
        if self.postgres_is_away { write!(f, ", PostgreSQL away for {POSTGRES_AWAY:?}") } else { Ok(()) }
    }
}

impl AppendFsync {
    const fn name(self) -> &'static str {
        match self {
            Self::EverySecond => "everysec",
            Self::Always => "always",
        }
    }
}

/// A master with replicas, a PostgreSQL and a server.
struct Redises {
    place: Arc<Place>,
    fsync: AppendFsync,
    library: PathBuf,
    master: Option<OwnRedis>,
    master_port: u16,
    replicas: Vec<(u16, OwnRedis)>,
    /// The way to the master for replicas, and the one for the server.
    far: Proxy,
    near: Proxy,
}

impl Redises {
    async fn start(place: &Arc<Place>, replicas: u32, fsync: AppendFsync) -> Self {
        let (place, library) = (Arc::clone(place), power::library(place.path()));
        let master_port = free_port();
        let master = Some(run(&place, &library, master_port, fsync, None).await);
        let (far, near) = (Proxy::start(master_port).await, Proxy::start(master_port).await);
        let mut all = Self { place, fsync, library, master, master_port, replicas: Vec::new(), far, near };
        for _ in 0..replicas {
            all.add_replica(free_port(), all.far.port).await;
        }
        all.far.set(Line::Slow(AWAY));
        all
    }

    async fn add_replica(&mut self, port: u16, of: u16) {
        let replica = run(&self.place, &self.library, port, self.fsync, Some(of)).await;
        eventually("the replica follows", SOON, || async {
            info(port, "replication", "master_link_status:").await.filter(|status| status == "up")
        })
        .await;
        self.replicas.push((port, replica));
    }

    /// Afterwards there are as many replicas as before.
    async fn fail_over(&mut self) {
        self.master.take();
        let mut most = (0, 0);
        for (port, _) in &self.replicas {
            let has = info(*port, "replication", "slave_repl_offset:").await.unwrap().parse::<u64>().unwrap();
            most = most.max((has, *port));
        }
        let next = most.1;
        self.far.lead_to(next);
        command(next, &["REPLICAOF", "NO", "ONE"]).await;
        self.near.lead_to(next);
        let place = self.replicas.iter().position(|(port, _)| *port == next).unwrap();
        let former = self.master_port;
        (self.master_port, self.master) = {
            let (port, promoted) = self.replicas.swap_remove(place);
            (port, Some(promoted))
        };
        for (port, _) in &self.replicas {
            command(*port, &["REPLICAOF", "127.0.0.1", &self.far.port.to_string()]).await;
        }
        self.add_replica(former, self.far.port).await;
    }

    async fn lose_power(&mut self) {
        self.master.take();
        power::cut(&OwnRedis::directory(&self.place, self.master_port));
        self.master = Some(run(&self.place, &self.library, self.master_port, self.fsync, None).await);
    }
}

impl RedisCase {
    pub async fn run(self) -> Row {
        let place = Arc::new(Place::new());
        // One replica exists also where nobody waits for it.
        let replicas = if self.blow == Blow::Failover { self.replicas.max(1) } else { 0 };
        let mut redises = Redises::start(&place, replicas, self.fsync).await;
        let postgres = OwnPostgres::start(&place, TRUST, &[]).await;
        let to_postgres = Proxy::start(postgres.port).await;
        let (redis_url, database_url) = (
            format!("redis://127.0.0.1:{}", redises.near.port),
            format!("postgres://plaudit@127.0.0.1:{}/plaudit", to_postgres.port),
        );
        let stores = Stores::elsewhere(&redis_url, Vec::new(), &database_url);
        let waits_for = self.replicas.to_string();
        let flags = ["--redis-replicas", &waits_for, "--lease", "1s", "--reply-wait", "1s"];
        let server = Server::start_on(&stores, &flags);
        let likes = Likes::prepare(&server, &stores).await;
        let mut tasks = likes.begin(&server).await;
        likes.are_acknowledged(BEFORE).await;
        if self.postgres_is_away {
            to_postgres.set(Line::HalfOpen);
            tokio::time::sleep(POSTGRES_AWAY).await;
        }
        match self.blow {
            Blow::Failover => redises.master.take().map(drop),
            Blow::PowerCut => None,
        };
        let published = likes.published();
        likes.end();
        match self.blow {
            Blow::Failover => redises.fail_over().await,
            Blow::PowerCut => redises.lose_power().await,
        }
        to_postgres.set(Line::Straight);
        stores.rest().await;
        tasks.abort_all();
        while tasks.join_next().await.is_some() {}
        let (acknowledged, rows, shown) =
            (likes.acknowledged(), likes.rows(&stores).await, likes.shown().await);
        let told = server.metrics().await.into_iter();
        let told = told.filter(|(series, _)| series.starts_with("plaudit_lost_events_total"));
        let fallen = published.iter().map(|(note, count)| (count - shown[note]).max(0));
        Row {
            acknowledged: acknowledged.len(),
            published: Some(published.values().sum()),
            lost: acknowledged.difference(&rows).count(),
            taken_back: fallen.sum(),
            told: Some(told.map(|(_, lost)| lost as i64).sum()),
        }
    }
}

async fn run(
    place: &Arc<Place>,
    library: &std::path::Path,
    port: u16,
    fsync: AppendFsync,
    replica_of: Option<u16>,
) -> OwnRedis {
    let (port_text, of) = (port.to_string(), replica_of.map(|of| of.to_string()));
    let mut flags = vec!["--port", &port_text, "--bind", "127.0.0.1", "--appendfsync", fsync.name()];
    flags.extend(["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]);
    flags.extend(of.iter().flat_map(|of| ["--replicaof", "127.0.0.1", of]));
    let preload = format!("LD_PRELOAD={}", library.display());
    OwnRedis::start_with(std::path::Path::new("redis-server"), place, port, &[&preload], &flags).await
}

async fn command(port: u16, words: &[&str]) -> Value {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await.unwrap()
}

async fn info(port: u16, section: &str, line: &str) -> Option<String> {
    let info: String = redis::from_redis_value(command(port, &["INFO", section]).await).unwrap();
    info.lines().find_map(|text| text.strip_prefix(line)).map(|value| value.trim().to_owned())
}
