//! Work that each node of Redis needs once, wherever the shards are.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
};

use futures_util::future::{Fuse, FutureExt};

use tokio::sync::watch;

use super::map::{NodeMap, NodeShards};
use crate::{StoreResult, redis::Redis};
use plaudit_catalogue::primitives::ShardId;

/// A node and the shards that it has.
#[derive(Clone)]
pub struct ShardsOfNode(pub(crate) NodeShards);

impl ShardsOfNode {
    pub fn shards(&self) -> &Arc<[ShardId]> {
        &self.0.shards
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.node, &other.0.node) && self.0.shards == other.0.shards
    }
}

/// Follows where the shards are.
pub struct NodeWatch(watch::Receiver<Arc<NodeMap>>);

impl NodeWatch {
    /// Waits until a shard is on another node than before.
    pub async fn change(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await // the map lives as long as any handle
        }
    }
}

/// The shards of the node that has a shard; this one alone if no node has it.
pub fn node_of(shard: ShardId, nodes: &[Arc<[ShardId]>]) -> Arc<[ShardId]> {
    nodes.iter().find(|shards| shards.contains(&shard)).map_or_else(|| [shard].into(), Arc::clone)
}

/// Names the node that has a shard: by its first shard. While slots move, another node may get the name.
pub fn node_name(shard: ShardId, nodes: &[Arc<[ShardId]>]) -> ShardId {
    node_of(shard, nodes)[0]
}

pub fn watch(redis: &Redis) -> NodeWatch {
    NodeWatch(redis.nodes().watch())
}

/// Does the work for each node. Where a node is new or has other shards, its work ends and begins again; work for
/// other nodes goes on. Never returns; the work is expected not to return either.
pub async fn on_each_node<F: Future>(redis: &Redis, mut work: impl FnMut(ShardsOfNode) -> F) {
    let mut places = redis.nodes().watch();
    let mut running: Vec<(ShardsOfNode, Pin<Box<Fuse<F>>>)> = Vec::new();
    loop {
        let now: Vec<_> = places.borrow_and_update().nodes.iter().cloned().map(ShardsOfNode).collect();
        running.retain(|(node, _)| now.iter().any(|other| other.is_same(node)));
        for node in now {
            if !running.iter().any(|(other, _)| other.is_same(&node)) {
                running.push((node.clone(), Box::pin(work(node).fuse())));
            }
        }
        let mut changed = pin!(places.changed());
        std::future::poll_fn(|context| {
            for (_, work) in &mut running {
                let _ = work.as_mut().poll(context);
            }
            match changed.as_mut().poll(context) {
                Poll::Ready(Ok(())) => Poll::Ready(()),
                _ => Poll::Pending, // the map lives as long as this handle
            }
        })
        .await;
    }
}

/// The shards of each node, in order. A shard that no node has is in none of them.
pub async fn shards_by_node(redis: &Redis) -> StoreResult<Vec<Arc<[ShardId]>>> {
    Ok(redis.nodes().map().await?.nodes.iter().map(|placed| Arc::clone(&placed.shards)).collect())
}

/// The number of nodes that have shards.
pub async fn nodes_in_use(redis: &Redis) -> StoreResult<u32> {
    Ok(redis.nodes().map().await?.nodes.len() as u32)
}

/// Has it read again where the shards are, soon.
pub fn find_shards_again(redis: &Redis) {
    redis.nodes().refresh_soon();
}
