//! Faults of the masters of the cluster.

use std::time::Duration;

use redis::Value;
use rustix::process::Signal;

use super::ClusterStores;
use crate::nemesis::MasterFault;
use support::{SOON, eventually, key, proxy::Line, redis_cluster::RedisNode};

/// Keys that move at once.
const MOVED_AT_ONCE: u32 = 3;

impl ClusterStores {
    pub async fn begin(&self, shard: u16, fault: MasterFault) {
        let (master, _) = self.redis.master_of(&key(shard, "meta")).await;
        *self.hit.lock() = Some(master.port);
        match fault {
            MasterFault::Kill => master.kill(),
            MasterFault::Pause => master.signal(Signal::STOP),
            MasterFault::KillReplica => {
                let replica = self.replica_of(master).await;
                *self.hit.lock() = Some(replica.port);
                replica.kill();
            }
            MasterFault::FailOver => self.fail_over(master, &["CLUSTER", "FAILOVER"]).await,
            MasterFault::TakeOver => self.fail_over(master, &["CLUSTER", "FAILOVER", "TAKEOVER"]).await,
            MasterFault::MoveSlot => self.move_slot(master, shard).await,
            MasterFault::FillMemory => {
                let used = memory_used(master).await;
                set(master, "maxmemory", &used.to_string()).await;
            }
            MasterFault::FillDisk => master.limit_files("4096"),
            MasterFault::Line(line) => master.proxy().set(line),
            MasterFault::Cut => master.proxy().cut(),
        }
    }

    /// Afterwards each master has a replica that follows.
    pub async fn undo(&self, fault: MasterFault) {
        let port = self.hit.lock().take().expect("a fault has begun");
        let node = self.redis.node_at(port);
        match fault {
            MasterFault::Kill | MasterFault::KillReplica => self.redis.start_again(port).await,
            MasterFault::Pause => node.signal(Signal::CONT),
            MasterFault::FailOver | MasterFault::TakeOver => self.fail_back(node).await,
            MasterFault::FillMemory => set(node, "maxmemory", "0").await,
            MasterFault::FillDisk => {
                self.redis.is_started(port).await;
                node.limit_files("unlimited");
            }
            MasterFault::Line(_) => node.proxy().set(Line::Straight),
            MasterFault::MoveSlot | MasterFault::Cut => {}
        }
        self.redis.is_whole().await;
    }

    /// Waits until the master has a replica.
    async fn replica_of(&self, master: &RedisNode) -> &RedisNode {
        eventually("the master has a replica", SOON, || self.redis.replica_of(master)).await
    }

    /// Makes the replica of this node the master.
    async fn fail_over(&self, master: &RedisNode, command: &[&str]) {
        let replica = self.replica_of(master).await;
        eventually("the replica is the master", SOON, || async {
            replica.command(command).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            replica.is_master().await.then_some(())
        })
        .await;
    }

    /// Makes a former master the master again, as soon as it follows.
    async fn fail_back(&self, former: &RedisNode) {
        eventually("the former master is the master again", SOON, || async {
            former.command(&["CLUSTER", "FAILOVER"]).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            former.is_master().await.then_some(())
        })
        .await;
    }

    /// Moves the slot of the shard to another master, a few keys at a time.
    async fn move_slot(&self, from: &RedisNode, shard: u16) {
        let mut others = Vec::new();
        for node in self.redis.nodes() {
            if node.port != from.port && node.is_master().await {
                others.push(node);
            }
        }
        let to = others[usize::from(shard) % others.len()];
        let slot = text(answer(from, &["CLUSTER", "KEYSLOT", &key(shard, "meta")]).await);
        let (from_id, to_id) = (id(from).await, id(to).await);
        answer(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]).await;
        answer(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]).await;
        let (count, port) = (MOVED_AT_ONCE.to_string(), to.address().to_string());
        loop {
            let keys = answer(from, &["CLUSTER", "GETKEYSINSLOT", &slot, &count]).await;
            let keys: Vec<String> = redis::from_redis_value(keys).unwrap();
            if keys.is_empty() {
                break;
            }
            let migrate = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "REPLACE", "KEYS"];
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            answer(from, &[&migrate[..], &keys].concat()).await;
        }
        for node in [to, from].into_iter().chain(others.iter().copied()) {
            answer(node, &["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]).await;
        }
    }
}

/// Repeats a command until it is answered, as a busy node may be late.
async fn answer(node: &RedisNode, words: &[&str]) -> Value {
    eventually("the node answers", SOON, || node.command(words)).await
}

async fn id(node: &RedisNode) -> String {
    text(answer(node, &["CLUSTER", "MYID"]).await)
}

fn text(answer: Value) -> String {
    redis::from_redis_value(answer).unwrap()
}

async fn set(node: &RedisNode, setting: &str, value: &str) {
    answer(node, &["CONFIG", "SET", setting, value]).await;
}

async fn memory_used(node: &RedisNode) -> u64 {
    let info = text(answer(node, &["INFO", "memory"]).await);
    info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().trim().parse().unwrap()
}
