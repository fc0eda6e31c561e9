//! Redis as the rest of the program sees it: calls go to the node that has their shard.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use redis::Value;

use super::{
    deployment::Deployment,
    map::{NodeMap, NodeShards, Nodes},
    node::{Node, RedisCaller},
    refusals::Refusals,
    server::CertificateFiles,
};
use crate::{StoreError, StoreResult, breaker::WaitPolicy, redis::call::RedisCall};
use plaudit_catalogue::primitives::{Id, ShardCount, ShardId};

const SECONDS: &str = "plaudit_redis_seconds";

/// How many times a call that a node refused because the shard is elsewhere is sent to where the shard is: it may move
/// again.
const MOVES: u32 = 3;

/// All nodes of Redis. Cheap to clone; all clones share connections.
#[derive(Clone)]
pub struct Redis {
    nodes: Arc<Nodes>,
    caller: RedisCaller,
    shards: ShardCount,
    refusals: Arc<Refusals>,
}

impl Redis {
    /// Without certificates of its own; see [`Self::of`].
    pub fn new(url: &str, shards: ShardCount) -> StoreResult<Self> {
        Self::of(Deployment::parse(url, CertificateFiles::default())?, shards)
    }

    /// Connects lazily: if Redis is unreachable, the first command fails. Must be called in a runtime, except for one
    /// server.
    pub fn of(deployment: Deployment, shards: ShardCount) -> StoreResult<Self> {
        let nodes = Nodes::new(deployment, shards)?;
        Ok(Self { nodes, caller: caller(WaitPolicy::FailFast), shards, refusals: Arc::default() })
    }

    /// The same Redis with [`WaitPolicy::Wait`]: calls are sent even while a breaker is open.
    pub fn patient(&self) -> Self {
        Self { caller: caller(WaitPolicy::Wait), ..self.clone() }
    }

    pub const fn shards(&self) -> ShardCount {
        self.shards
    }

    pub const fn shard_of(&self, id: Id) -> ShardId {
        self.shards.shard_of(id)
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    pub(crate) const fn nodes(&self) -> &Arc<Nodes> {
        &self.nodes
    }

    /// The node that has the shard.
    pub(crate) async fn node_of(&self, shard: ShardId) -> StoreResult<Arc<Node>> {
        Ok(Arc::clone(&self.nodes.map().await?.of(shard)?.node))
    }

    /// Runs one command.
    ///
    /// # Errors
    /// At once while Redis does not answer; see [`Self::patient`].
    pub(crate) async fn command(&self, call: &RedisCall) -> StoreResult<Value> {
        let mut map = self.nodes.map().await?;
        for _ in 0..MOVES {
            let NodeShards { node, shards } = map.of(call.shard)?;
            match self.noticed(node.command(&self.caller, call, shards).await) {
                Err(StoreError::RedisMoved(_)) => map = self.nodes.newer_than(&map).await?,
                result => return result,
            }
        }
        Err(keeps_moving())
    }

    /// Runs commands in one round trip per node, not atomically. Each has its own result.
    ///
    /// # Errors
    /// At once while Redis does not answer; see [`Self::patient`]. Of several nodes, one that does not answer is the
    /// result of its own commands only.
    pub(crate) async fn pipeline(&self, calls: &[RedisCall]) -> StoreResult<Vec<StoreResult<Value>>> {
        let map = self.nodes.map().await?;
        if let [NodeShards { node, shards }] = &map.nodes[..] {
            let cmds: Vec<&redis::Cmd> = calls.iter().map(|call| &**call).collect();
            return self.noticed(node.pipeline(&self.caller, &cmds, shards).await);
        }
        self.to_several_nodes(map, calls).await
    }

    /// Boxed: on one server it is not needed, and otherwise takes stack space in every call.
    fn to_several_nodes<'a>(
        &'a self,
        mut map: Arc<NodeMap>,
        calls: &'a [RedisCall],
    ) -> BoxFuture<'a, StoreResult<Vec<StoreResult<Value>>>> {
        Box::pin(async move {
            let mut results = self.scatter(&map, calls).await;
            for _ in 0..MOVES {
                let moved = results.iter().enumerate().filter(|(_, result)| is_moved(result));
                let moved: Vec<usize> = moved.map(|(at, _)| at).collect();
                if moved.is_empty() {
                    break;
                }
                map = self.nodes.newer_than(&map).await?;
                let again: Vec<RedisCall> = moved.iter().map(|at| calls[*at].clone()).collect();
                for (at, result) in moved.into_iter().zip(self.scatter(&map, &again).await) {
                    results[at] = result;
                }
            }
            Ok(results)
        })
    }

    /// Sends each node its commands, to all nodes at once. The results are in the order of the calls.
    async fn scatter(&self, map: &NodeMap, calls: &[RedisCall]) -> Vec<StoreResult<Value>> {
        let mut results: Vec<StoreResult<Value>> = Vec::with_capacity(calls.len());
        let mut by_node: Vec<Vec<usize>> = vec![Vec::new(); map.nodes.len()];
        for (at, call) in calls.iter().enumerate() {
            match map.index(call.shard) {
                Ok(node) => by_node[node].push(at),
                Err(error) => {
                    results.resize(at, Ok(Value::Nil));
                    results.push(Err(error));
                }
            }
        }
        results.resize(calls.len(), Ok(Value::Nil));
        let sent = map.nodes.iter().zip(&by_node).filter(|(_, places)| !places.is_empty());
        let sent = sent.map(|(NodeShards { node, shards }, places)| async move {
            let cmds: Vec<&redis::Cmd> = places.iter().map(|at| &*calls[*at]).collect();
            (places, self.noticed(node.pipeline(&self.caller, &cmds, shards).await))
        });
        for (places, answer) in futures_util::future::join_all(sent).await {
            match answer {
                Ok(answers) => places.iter().zip(answers).for_each(|(at, answer)| results[*at] = answer),
                Err(error) => places.iter().for_each(|at| results[*at] = Err(error.clone())),
            }
        }
        results
    }

    /// Runs a script. Also returns whether everything that it has written or read was on disk before the reply.
    pub(crate) async fn command_on_disk(&self, call: &RedisCall) -> StoreResult<(Value, bool)> {
        let mut map = self.nodes.map().await?;
        for _ in 0..MOVES {
            let NodeShards { node, shards } = map.of(call.shard)?;
            match self.noticed(node.command_on_disk(&self.caller, call, shards).await) {
                Err(StoreError::RedisMoved(_)) => map = self.nodes.newer_than(&map).await?,
                result => return result,
            }
        }
        Err(keeps_moving())
    }

    /// Whether all nodes answer.
    ///
    /// # Errors
    /// Of the first node that does not.
    pub async fn ping(&self) -> StoreResult<()> {
        let map = self.nodes.map().await?;
        let shards = map.nodes.iter().filter_map(|placed| placed.shards.first());
        let calls: Vec<RedisCall> = shards.map(|shard| RedisCall::about(*shard, "PING")).collect();
        self.pipeline(&calls).await?.into_iter().try_for_each(|answer| answer.map(drop))
    }

    /// Loads the scripts into the node of a shard, if all shards that it has are recovered.
    pub(crate) async fn load_scripts(&self, shard: ShardId) -> StoreResult<()> {
        let map = self.nodes.map().await?;
        let NodeShards { node, shards } = map.of(shard)?;
        node.load_scripts(shards).await
    }

    /// Has the map of nodes read again where a node does not answer, or is no master any more.
    fn noticed<T>(&self, result: StoreResult<T>) -> StoreResult<T> {
        if let Err(error) = &result
            && (error.is_silence()
                || matches!(error, StoreError::RedisUnready(_) | StoreError::RedisMoved(_)))
        {
            self.nodes.refresh_soon();
        }
        result
    }
}

fn caller(policy: WaitPolicy) -> RedisCaller {
    RedisCaller { policy, seconds: policy.seconds(SECONDS) }
}

fn is_moved(result: &StoreResult<Value>) -> bool {
    matches!(result, Err(StoreError::RedisMoved(_)))
}

fn keeps_moving() -> StoreError {
    StoreError::RedisUnready("the shard moves from node to node".into())
}
