//! A Redis Cluster of this test's own, on free ports: masters and, for each, a replica.

use std::{net::TcpListener, process::Command, sync::Arc};

use redis::aio::MultiplexedConnection;

use super::{OwnRedis, Place, SOON, eventually, free_port};

/// Milliseconds after which nodes hold a silent one for failed.
const NODE_TIMEOUT: u32 = 500;
/// The bus of a node listens on its port plus this.
const BUS: u16 = 10_000;

pub struct RedisCluster {
    nodes: Vec<RedisNode>,
    place: Arc<Place>,
}

pub struct RedisNode {
    pub port: u16,
    /// `None` while it is dead.
    running: Option<OwnRedis>,
}

impl RedisCluster {
    /// Starts `masters` and as many replicas, and waits until replicas follow.
    pub async fn start(masters: usize) -> Self {
        let place = Arc::new(Place::new());
        let mut nodes = Vec::new();
        for _ in 0..2 * masters {
            nodes.push(RedisNode::start(&place, free_ports()).await);
        }
        let cluster = Self { nodes, place };
        let addresses = cluster.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port));
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .output()
            .unwrap();
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
        for node in &cluster.nodes {
            eventually("the cluster is whole", SOON, || node.knows_all()).await;
        }
        cluster
    }

    /// The value of `redis_url`, with some of the nodes.
    pub fn url(&self) -> String {
        let some: Vec<String> =
            self.nodes.iter().step_by(2).map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis+cluster://{}", some.join(","))
    }

    /// A connection to the node that has the key now.
    pub async fn master_of(&self, key: &str) -> (&RedisNode, MultiplexedConnection) {
        eventually("the key has a master", SOON, || async {
            for node in &self.nodes {
                let Some(mut connection) = node.connect().await else { continue };
                let mut ask = redis::cmd("EXISTS");
                if ask.arg(key).query_async::<u32>(&mut connection).await.is_ok() && node.is_master().await {
                    return Some((node, connection));
                }
            }
            None
        })
        .await
    }

    /// Moves the lowest slots of one master to another, key by key.
    pub async fn move_first_slots(&self, from: u16, to: u16, slots: u32) {
        let (from, to) = (self.id_of(from).await, self.id_of(to).await);
        let moving = tokio::process::Command::new("redis-cli")
            .args(["--cluster", "reshard", &format!("127.0.0.1:{}", self.nodes[0].port)])
            .args(["--cluster-from", &from, "--cluster-to", &to])
            .args(["--cluster-slots", &slots.to_string(), "--cluster-yes"])
            .output();
        let moved = moving.await.unwrap();
        assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stdout));
    }

    async fn id_of(&self, port: u16) -> String {
        let node = self.nodes.iter().find(|node| node.port == port).unwrap();
        let mut connection = node.connect().await.unwrap();
        redis::cmd("CLUSTER").arg("MYID").query_async(&mut connection).await.unwrap()
    }

    /// `kill -9`.
    pub fn kill(&mut self, port: u16) {
        self.node_at(port).running = None;
    }

    /// Starts a killed node with its files.
    pub async fn start_again(&mut self, port: u16) {
        let running = run(&self.place, port).await;
        self.node_at(port).running = Some(running);
    }

    fn node_at(&mut self, port: u16) -> &mut RedisNode {
        self.nodes.iter_mut().find(|node| node.port == port).unwrap()
    }
}

impl RedisNode {
    async fn start(place: &Arc<Place>, port: u16) -> Self {
        Self { port, running: Some(run(place, port).await) }
    }

    pub async fn connect(&self) -> Option<MultiplexedConnection> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        client.get_multiplexed_async_connection().await.ok()
    }

    async fn is_master(&self) -> bool {
        let Some(mut connection) = self.connect().await else { return false };
        let role: redis::Value = redis::cmd("ROLE").query_async(&mut connection).await.unwrap();
        format!("{role:?}").contains("master")
    }

    /// Whether the node knows an owner of each slot, and its master if it is a replica.
    async fn knows_all(&self) -> Option<()> {
        let mut connection = self.connect().await?;
        let info: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await.ok()?;
        let replication: String =
            redis::cmd("INFO").arg("replication").query_async(&mut connection).await.ok()?;
        let follows = replication.contains("role:master") || replication.contains("master_link_status:up");
        (info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384") && follows)
            .then_some(())
    }
}

async fn run(place: &Arc<Place>, port: u16) -> OwnRedis {
    let (port_text, timeout) = (port.to_string(), NODE_TIMEOUT.to_string());
    let flags = [
        ("--port", port_text.as_str()),
        ("--bind", "127.0.0.1"),
        ("--cluster-enabled", "yes"),
        ("--cluster-config-file", "nodes.conf"),
        ("--cluster-node-timeout", &timeout),
        ("--cluster-require-full-coverage", "no"),
        ("--cluster-replica-validity-factor", "0"),
        ("--repl-diskless-sync-delay", "0"),
        ("--repl-ping-replica-period", "1"),
    ];
    let flags: Vec<&str> = flags.iter().flat_map(|(name, value)| [*name, *value]).collect();
    OwnRedis::start(place, port, &flags).await
}

/// A port that is free, and whose bus is free, too.
fn free_ports() -> u16 {
    loop {
        let port = free_port();
        if let Some(bus) = port.checked_add(BUS)
            && TcpListener::bind(("127.0.0.1", bus)).is_ok()
        {
            return port;
        }
    }
}
