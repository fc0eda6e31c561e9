//! A Redis Cluster of this test's own, on free ports: masters and, for each, a replica.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use redis::aio::MultiplexedConnection;
use rustix::process::{Pid, Signal, kill_process};

use super::{Place, SOON, eventually};

/// Milliseconds after which nodes hold a silent one for failed.
const NODE_TIMEOUT: u32 = 500;
/// The bus of a node listens on its port plus this.
const BUS: u16 = 10_000;

pub struct RedisCluster {
    nodes: Vec<RedisNode>,
    // Dropped last.
    _place: Arc<Place>,
}

pub struct RedisNode {
    pub port: u16,
    files: PathBuf,
    process: Child,
}

impl RedisCluster {
    /// Starts `masters` and as many replicas, and waits until replicas follow.
    pub async fn start(masters: usize) -> Self {
        let place = Arc::new(Place::new());
        let nodes: Vec<RedisNode> = (0..2 * masters).map(|at| RedisNode::start(&place, at)).collect();
        let cluster = Self { nodes, _place: place };
        for node in &cluster.nodes {
            eventually("a node answers", SOON, || async { node.connect().await.map(drop) }).await;
        }
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

    pub fn nodes(&self) -> &[RedisNode] {
        &self.nodes
    }

    pub fn node_at(&mut self, port: u16) -> &mut RedisNode {
        self.nodes.iter_mut().find(|node| node.port == port).unwrap()
    }
}

impl RedisNode {
    fn start(place: &Place, at: usize) -> Self {
        let files = place.path().join(format!("redis-{at}"));
        fs::create_dir_all(&files).unwrap();
        let port = free_port();
        let process = spawn(port, &files);
        Self { port, files, process }
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

    /// `kill -9`.
    pub fn kill(&self) {
        let _ = kill_process(Pid::from_raw(self.process.id() as i32).unwrap(), Signal::KILL);
    }

    /// Starts a killed node with its files.
    pub fn start_again(&mut self) {
        let _ = self.process.wait();
        self.process = spawn(self.port, &self.files);
    }
}

impl Drop for RedisNode {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn(port: u16, files: &Path) -> Child {
    let settings = [
        ("port", port.to_string()),
        ("bind", "127.0.0.1".into()),
        ("dir", files.display().to_string()),
        ("save", String::new()),
        ("appendonly", "yes".into()),
        ("cluster-enabled", "yes".into()),
        ("cluster-config-file", "nodes.conf".into()),
        ("cluster-node-timeout", NODE_TIMEOUT.to_string()),
        ("cluster-require-full-coverage", "no".into()),
        ("cluster-replica-validity-factor", "0".into()),
        ("repl-diskless-sync-delay", "0".into()),
        ("repl-ping-replica-period", "1".into()),
    ];
    let mut server = Command::new("redis-server");
    for (name, value) in settings {
        server.args([format!("--{name}"), value]);
    }
    server.stdout(fs::File::create(files.join("log")).unwrap()).stderr(Stdio::null()).spawn().unwrap()
}

/// A port that is free, and whose bus is free, too.
fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if let Some(bus) = port.checked_add(BUS)
            && TcpListener::bind(("127.0.0.1", bus)).is_ok()
        {
            return port;
        }
    }
}
