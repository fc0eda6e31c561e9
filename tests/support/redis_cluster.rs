//! A Redis Cluster of this test's own, on free ports: masters and, for each, a replica.

use std::{
    collections::HashMap,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use parking_lot::Mutex;
use redis::{Value, aio::MultiplexedConnection};
use rustix::process::Signal;

use super::{OwnRedis, Place, Proxy, SOON, eventually, free_port, own_servers::limit_files};

/// Milliseconds after which nodes hold a silent one for failed.
const NODE_TIMEOUT: u32 = 500;
/// The same while the cluster is formed: on a busy machine a node that is only late could fail over before the
/// others have met it. A cluster was once not whole after 80 s.
const FORMING_TIMEOUT: u32 = 2_500;
/// The bus of a node listens on its port plus this.
const BUS: u16 = 10_000;

pub struct RedisCluster {
    nodes: Vec<RedisNode>,
    place: Arc<Place>,
}

pub struct RedisNode {
    pub port: u16,
    program: PathBuf,
    /// Where clients and replicas are told to find it, if that is not its port.
    proxy: Option<Proxy>,
    /// `None` while it is dead.
    running: Mutex<Option<OwnRedis>>,
}

impl RedisCluster {
    /// Starts `masters` and as many replicas, and waits until replicas follow.
    pub async fn start(masters: usize) -> Self {
        Self::start_program("redis-server".into(), masters).await
    }

    /// The same with another program, such as [`super::valkey`].
    pub async fn start_program(program: PathBuf, masters: usize) -> Self {
        let nodes = (0..2 * masters).map(|_| RedisNode::new(program.clone(), free_ports(), None)).collect();
        Self::of(nodes).await
    }

    /// The same as [`Self::start`], with a proxy before each node: its clients and replicas come that way, its
    /// cluster's bus does not.
    pub async fn start_behind_proxies(masters: usize) -> Self {
        let mut nodes = Vec::new();
        for _ in 0..2 * masters {
            let port = free_ports();
            nodes.push(RedisNode::new("redis-server".into(), port, Some(Proxy::start(port).await)));
        }
        Self::of(nodes).await
    }

    async fn of(nodes: Vec<RedisNode>) -> Self {
        let cluster = Self { nodes, place: Arc::new(Place::new()) };
        for node in &cluster.nodes {
            node.run(&cluster.place).await;
            node.set_timeout(FORMING_TIMEOUT).await;
        }
        let addresses = cluster.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port));
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .output()
            .unwrap();
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
        cluster.is_whole().await;
        for node in &cluster.nodes {
            node.set_timeout(NODE_TIMEOUT).await;
        }
        cluster
    }

    /// Waits until every node knows an owner of each slot, and follows its master if it is a replica; and until
    /// each master has a replica.
    pub async fn is_whole(&self) {
        for node in &self.nodes {
            eventually("the cluster is whole", SOON, || node.knows_all()).await;
        }
    }

    pub fn nodes(&self) -> &[RedisNode] {
        &self.nodes
    }

    /// The value of `redis_url`, with some of the nodes.
    pub fn url(&self) -> String {
        let some: Vec<String> =
            self.nodes.iter().step_by(2).map(|node| format!("127.0.0.1:{}", node.address())).collect();
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

    /// Has the replica of a master take its place as planned: it has everything by then. Waits until it has.
    pub async fn fail_over(&self, master: u16) {
        let replica = eventually("the master has a replica", SOON, || async {
            for node in &self.nodes {
                let Some(mut connection) = node.connect().await else { continue };
                let info: String =
                    redis::cmd("INFO").arg("replication").query_async(&mut connection).await.unwrap();
                let follows = info.contains(&format!("master_port:{master}\r\n"));
                if follows && info.contains("master_link_status:up") {
                    return Some(node);
                }
            }
            None
        })
        .await;
        let mut connection = replica.connect().await.unwrap();
        let () = redis::cmd("CLUSTER").arg("FAILOVER").query_async(&mut connection).await.unwrap();
        eventually("the replica is the master", SOON, || async { replica.is_master().await.then_some(()) })
            .await;
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

    /// Has Valkey move the lowest slots of one master to another, all at once.
    pub async fn move_first_slots_atomically(&self, from: u16, to: u16, slots: u32) {
        let to = self.id_of(to).await;
        let node = self.nodes.iter().find(|node| node.port == from).unwrap();
        let mut connection = node.connect().await.unwrap();
        let mut migrate = redis::cmd("CLUSTER");
        migrate.arg("MIGRATESLOTS").arg("SLOTSRANGE").arg(0).arg(slots - 1).arg("NODE").arg(to);
        migrate.exec_async(&mut connection).await.unwrap();
        eventually("the slots have moved", SOON, || async {
            let mut ask = redis::cmd("CLUSTER");
            let moves: Vec<HashMap<String, String>> =
                ask.arg("GETSLOTMIGRATIONS").query_async(&mut connection.clone()).await.unwrap();
            let newest = &moves[0];
            assert!(newest["state"] != "failed", "{newest:?}");
            (newest["state"] == "success").then_some(())
        })
        .await;
    }

    async fn id_of(&self, port: u16) -> String {
        let node = self.nodes.iter().find(|node| node.port == port).unwrap();
        let mut connection = node.connect().await.unwrap();
        redis::cmd("CLUSTER").arg("MYID").query_async(&mut connection).await.unwrap()
    }

    /// `kill -9`.
    pub fn kill(&self, port: u16) {
        self.node_at(port).kill();
    }

    /// Starts a killed node with its files.
    pub async fn start_again(&self, port: u16) {
        self.node_at(port).run(&self.place).await;
    }

    /// Starts a node that has ended by itself, as one does that cannot write.
    pub async fn is_started(&self, port: u16) {
        let node = self.node_at(port);
        if node.running.lock().as_mut().is_none_or(OwnRedis::has_ended) {
            node.run(&self.place).await;
        }
    }

    pub fn node_at(&self, port: u16) -> &RedisNode {
        self.nodes.iter().find(|node| node.port == port).unwrap()
    }

    /// The replica of a master, as that master knows it.
    pub async fn replica_of(&self, master: &RedisNode) -> Option<&RedisNode> {
        let mut connection = master.connect().await?;
        let id: String = redis::cmd("CLUSTER").arg("MYID").query_async(&mut connection).await.ok()?;
        let mut ask = redis::cmd("CLUSTER");
        let replicas: Vec<String> = ask.arg("REPLICAS").arg(id).query_async(&mut connection).await.ok()?;
        let is_it =
            |node: &&RedisNode| replicas.iter().any(|line| line.contains(&format!(":{}@", node.address())));
        self.nodes.iter().find(is_it)
    }
}

impl RedisNode {
    fn new(program: PathBuf, port: u16, proxy: Option<Proxy>) -> Self {
        Self { port, program, proxy, running: Mutex::default() }
    }

    /// Starts it, with its files if it has run before.
    async fn run(&self, place: &Arc<Place>) {
        let running = run(&self.program, place, self.port, self.address()).await;
        *self.running.lock() = Some(running);
    }

    /// `millis`: after which it holds a silent node for failed.
    async fn set_timeout(&self, millis: u32) {
        let mut connection = self.connect().await.unwrap();
        let mut set = redis::cmd("CONFIG");
        set.arg("SET").arg("cluster-node-timeout").arg(millis);
        let () = set.query_async(&mut connection).await.unwrap();
    }

    /// `kill -9`.
    pub fn kill(&self) {
        self.running.lock().take();
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(running) = &*self.running.lock() {
            running.signal(signal);
        }
    }

    /// Lets it write files up to this size only: `unlimited`, or bytes.
    pub fn limit_files(&self, size: &str) {
        if let Some(running) = &*self.running.lock() {
            limit_files(running.id(), size);
        }
    }

    /// Its port, or that of its proxy.
    pub fn address(&self) -> u16 {
        self.proxy.as_ref().map_or(self.port, |proxy| proxy.port)
    }

    /// If the cluster was started behind proxies.
    pub fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().unwrap()
    }

    pub async fn command(&self, words: &[&str]) -> Option<Value> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query_async(&mut self.connect().await?).await.ok()
    }

    pub async fn connect(&self) -> Option<MultiplexedConnection> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        client.get_multiplexed_async_connection().await.ok()
    }

    pub async fn is_master(&self) -> bool {
        self.command(&["ROLE"]).await.is_some_and(|role| format!("{role:?}").contains("master"))
    }

    /// Whether the node knows an owner of each slot, and its master if it is a replica.
    async fn knows_all(&self) -> Option<()> {
        let mut connection = self.connect().await?;
        let info: String = redis::cmd("CLUSTER").arg("INFO").query_async(&mut connection).await.ok()?;
        let replication: String =
            redis::cmd("INFO").arg("replication").query_async(&mut connection).await.ok()?;
        let info_of = |name: &str| replication.lines().find_map(|line| line.strip_prefix(name));
        let follows = match info_of("role:")? {
            "master" => info_of("connected_slaves:")? == "1" && replication.contains("state=online"),
            _ => info_of("master_link_status:")? == "up",
        };
        (info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384") && follows)
            .then_some(())
    }
}

async fn run(program: &Path, place: &Arc<Place>, port: u16, address: u16) -> OwnRedis {
    let (port_text, timeout, bus) = (port.to_string(), NODE_TIMEOUT.to_string(), (port + BUS).to_string());
    let address = address.to_string();
    let flags = [
        ("--port", port_text.as_str()),
        ("--bind", "127.0.0.1"),
        ("--cluster-enabled", "yes"),
        ("--cluster-announce-port", &address),
        ("--cluster-announce-bus-port", &bus),
        ("--cluster-config-file", "nodes.conf"),
        ("--cluster-node-timeout", &timeout),
        ("--cluster-require-full-coverage", "no"),
        ("--cluster-replica-validity-factor", "0"),
        ("--repl-diskless-sync-delay", "0"),
        ("--repl-ping-replica-period", "1"),
    ];
    let flags: Vec<&str> = flags.iter().flat_map(|(name, value)| [*name, *value]).collect();
    OwnRedis::start_with(program, place, port, &[], &flags).await
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
