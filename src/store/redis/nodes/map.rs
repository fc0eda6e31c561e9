//! Which node has each shard. One server has all of them; in a cluster they are where the slots of their
//! [tags](crate::redis::tags) are; behind Sentinel they are on the master of the moment.
//!
//! The map is read again each second, and at once when a node refuses a shard, does not answer, or is silent on its
//! channels. Commands are never repeated, except those that a node refused because the shard is elsewhere: it has not
//! executed them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, Notify, watch};

use super::{
    cluster::{self, SlotOwners},
    deployment::{Address, Deployment, Members},
    link::within,
    node::Node,
};
use crate::{StoreError, StoreResult, redis::tags};
use plaudit_catalogue::primitives::{ShardCount, ShardId};

/// Time between two reads of the map without another reason.
const REFRESH_EVERY: Duration = Duration::from_secs(1);
/// Least time between two reads of the map.
const REFRESH_PAUSE: Duration = Duration::from_millis(50);
/// Time limit of the question where the masters are, per server that is asked.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(400);
/// Most nodes of a cluster that are asked for the owners of slots. Each knows all of them.
const ASKED: usize = 8;

/// The map, and how to read it.
pub struct Nodes {
    deployment: Deployment,
    shards: ShardCount,
    map: watch::Sender<Arc<NodeMap>>,
    /// Locked while the map is being read.
    reading: Mutex<()>,
    wanted: Notify,
    /// Whether the one server was seen to have become a node of a cluster.
    is_in_cluster: AtomicBool,
}

/// A node and its shards.
#[derive(Clone)]
pub struct NodeShards {
    pub node: Arc<Node>,
    pub shards: Arc<[ShardId]>,
}

/// Where each shard is.
#[derive(Default)]
pub struct NodeMap {
    pub nodes: Vec<NodeShards>,
    /// By shard: the index of its node. Empty until the map was read.
    by_shard: Vec<Option<usize>>,
}

impl NodeMap {
    /// The index of the shard's node.
    ///
    /// # Errors
    /// [`StoreError::RedisUnready`] if no node has the shard.
    pub fn index(&self, shard: ShardId) -> StoreResult<usize> {
        self.by_shard.get(shard.index()).copied().flatten().ok_or_else(|| {
            StoreError::RedisUnready(format!(
                "no node of the cluster has the slot {}: `redis-cli --cluster check` names the slots without a node",
                tags::slot(shard)
            ))
        })
    }

    /// The shard's node.
    ///
    /// # Errors
    /// As [`Self::index`].
    pub fn of(&self, shard: ShardId) -> StoreResult<&NodeShards> {
        self.index(shard).map(|at| &self.nodes[at])
    }

    /// Groups the shards by the nodes that `node_of` gives them.
    fn new(shards: ShardCount, mut node_of: impl FnMut(ShardId) -> Option<Arc<Node>>) -> Self {
        let mut nodes: Vec<(Arc<Node>, Vec<ShardId>)> = Vec::new();
        let by_shard = shards.all().map(|shard| {
            let node = node_of(shard)?;
            let at = nodes.iter().position(|(known, _)| Arc::ptr_eq(known, &node)).unwrap_or_else(|| {
                nodes.push((node, Vec::new()));
                nodes.len() - 1
            });
            nodes[at].1.push(shard);
            Some(at)
        });
        let by_shard = by_shard.collect();
        let nodes =
            nodes.into_iter().map(|(node, shards)| NodeShards { node, shards: shards.into() }).collect();
        Self { nodes, by_shard }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.by_shard == other.by_shard
            && self.nodes.iter().zip(&other.nodes).all(|(one, two)| Arc::ptr_eq(&one.node, &two.node))
    }
}

impl Nodes {
    /// Must be called in a runtime. Nothing is connected yet.
    pub fn new(deployment: Deployment, shards: ShardCount) -> StoreResult<Arc<Self>> {
        let map = match &deployment {
            Deployment::Server(client) => {
                let node = Arc::new(Node::new(client.clone())?);
                NodeMap::new(shards, |_| Some(Arc::clone(&node)))
            }
            _ => NodeMap::default(),
        };
        let is_fixed = !map.nodes.is_empty();
        let nodes = Arc::new(Self {
            deployment,
            shards,
            map: watch::Sender::new(Arc::new(map)),
            reading: Mutex::default(),
            wanted: Notify::default(),
            is_in_cluster: AtomicBool::default(),
        });
        if !is_fixed {
            tokio::spawn(refresh_while_used(Arc::downgrade(&nodes)));
        }
        Ok(nodes)
    }

    pub const fn is_cluster(&self) -> bool {
        matches!(self.deployment, Deployment::Cluster(_))
    }

    /// Whether one command may touch several shards. A node of a cluster refuses that, also where it has all shards.
    pub fn shards_share_commands(&self) -> bool {
        !self.is_cluster() && !self.is_in_cluster.load(Relaxed)
    }

    /// Records whether the server that answered is a node of a cluster: a server can become one while Plaudit runs.
    pub fn record_in_cluster(&self, is_in_cluster: bool) {
        self.is_in_cluster.store(is_in_cluster, Relaxed);
    }

    /// A client of a server that another one has named.
    pub fn client_of(&self, address: &Address) -> StoreResult<redis::Client> {
        self.deployment.client_of(address)
    }

    /// The map; reads it if that was never done.
    pub async fn map(&self) -> StoreResult<Arc<NodeMap>> {
        let map = Arc::clone(&self.map.borrow());
        if map.nodes.is_empty() { self.newer_than(&map).await } else { Ok(map) }
    }

    /// Follows the map: the value changes with it.
    pub fn watch(&self) -> watch::Receiver<Arc<NodeMap>> {
        self.map.subscribe()
    }

    /// A map that was read after `known`: for a caller for whom `known` was wrong. Boxed: it is rarely needed, and
    /// otherwise takes stack space in every call.
    pub fn newer_than<'a>(&'a self, known: &'a Arc<NodeMap>) -> BoxFuture<'a, StoreResult<Arc<NodeMap>>> {
        Box::pin(async move {
            let _reading = self.reading.lock().await;
            let current = Arc::clone(&self.map.borrow());
            if Arc::ptr_eq(&current, known) { self.refresh().await } else { Ok(current) }
        })
    }

    /// Has the map read again, soon.
    pub fn refresh_soon(&self) {
        self.wanted.notify_one();
    }

    async fn refresh(&self) -> StoreResult<Arc<NodeMap>> {
        let current = Arc::clone(&self.map.borrow());
        let map = match &self.deployment {
            Deployment::Server(_) => return Ok(current),
            Deployment::Cluster(members) => self.map_of_cluster(members, &current).await?,
            Deployment::Sentinel { sentinels, name } => {
                self.map_by_sentinel(sentinels, name, &current).await?
            }
        };
        if map.is_same(&current) && !current.nodes.is_empty() {
            return Ok(current);
        }
        let map = Arc::new(map);
        tracing::info!(nodes = ?describe(&map), "shards are on these nodes of Redis");
        self.map.send_replace(Arc::clone(&map));
        Ok(map)
    }

    async fn map_of_cluster(&self, members: &Members, current: &NodeMap) -> StoreResult<NodeMap> {
        let mut known = known_nodes(current);
        for address in &members.addresses {
            node_at(&mut known, members, address)?;
        }
        let asked = known.values().take(ASKED);
        let answers = asked.map(|node| within(ANSWER_TIMEOUT, cluster::slot_owners(node)));
        let mut owners = SlotOwners::default();
        let mut failure = None;
        for answer in futures_util::future::join_all(answers).await {
            match answer {
                Ok(answer) => owners.merge(answer),
                Err(error) => failure = Some(error),
            }
        }
        if let (true, Some(error)) = (owners.is_empty(), failure) {
            return Err(error);
        }
        let mut map = Ok(());
        let nodes = NodeMap::new(self.shards, |shard| {
            let address = owners.of(tags::slot(shard))?;
            node_at(&mut known, members, address).map_err(|error| map = Err(error)).ok()
        });
        map.map(|()| nodes)
    }

    async fn map_by_sentinel(
        &self,
        sentinels: &Members,
        name: &str,
        current: &NodeMap,
    ) -> StoreResult<NodeMap> {
        let mut failure = StoreError::RedisUnready("no Sentinel is known".into());
        for sentinel in &sentinels.addresses {
            match within(ANSWER_TIMEOUT, cluster::master_by_sentinel(sentinels, sentinel, name)).await {
                Ok(address) => {
                    let node = node_at(&mut known_nodes(current), sentinels, &address)?;
                    return Ok(NodeMap::new(self.shards, |_| Some(Arc::clone(&node))));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

/// The nodes of a map, by address.
fn known_nodes(map: &NodeMap) -> HashMap<String, Arc<Node>> {
    map.nodes.iter().map(|placed| (placed.node.address(), Arc::clone(&placed.node))).collect()
}

/// The node at an address: the known one, with its connections, or a new one.
fn node_at(
    known: &mut HashMap<String, Arc<Node>>,
    members: &Members,
    address: &Address,
) -> StoreResult<Arc<Node>> {
    let name = address.to_string();
    if let Some(node) = known.get(&name) {
        return Ok(Arc::clone(node));
    }
    let node = Arc::new(Node::new(members.client(address)?)?);
    known.insert(name, Arc::clone(&node));
    Ok(node)
}

fn describe(map: &NodeMap) -> Vec<String> {
    let shards = |placed: &NodeShards| placed.shards.iter().map(|shard| shard.0).collect::<Vec<_>>();
    map.nodes.iter().map(|placed| format!("{}: {:?}", placed.node.address(), shards(placed))).collect()
}

/// Reads the map again each second, and when it is wanted, until nobody uses it.
async fn refresh_while_used(nodes: Weak<Nodes>) {
    loop {
        let Some(used) = nodes.upgrade() else { return };
        let _ = tokio::time::timeout(REFRESH_EVERY, used.wanted.notified()).await;
        let reading = used.reading.lock().await;
        if let Err(error) = used.refresh().await {
            tracing::debug!(%error, "cannot read where the shards are");
        }
        drop(reading);
        drop(used);
        tokio::time::sleep(REFRESH_PAUSE).await;
    }
}
