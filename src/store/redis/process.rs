//! Check at the start that version and configuration of Redis are safe for the log.

use std::time::Duration;

use futures_util::future::try_join_all;
use redis::{FromRedisValue, aio::MultiplexedConnection};

use super::{
    connection::Redis,
    link::within,
    node::{Node, info_field},
};
use crate::store::StoreResult;

/// Outcome of the check, one line per finding, with the setting and its remedy.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProcessCheck {
    /// Findings that prevent the start and cannot be overridden.
    pub unusable: Vec<String>,
    /// Findings that prevent the start unless overridden. With them a crash may lose events that are not in PostgreSQL.
    pub unsafe_settings: Vec<String>,
    /// Findings with which Redis works, but takes more memory than necessary.
    pub advice: Vec<String>,
}

/// Redis stores larger sets as hash tables of seven times the size.
const INTSET_ENTRIES: u64 = 8_192;

/// The first version with sharded pub/sub and `XADD` with a partial id.
const OLDEST: (u32, u32) = (7, 0);

impl Redis {
    /// Checks version, role, persistence and eviction policy of each node.
    pub async fn check_process(&self) -> StoreResult<ProcessCheck> {
        let map = self.nodes().map().await?;
        let is_cluster = self.nodes().is_cluster();
        let checks = map.nodes.iter().map(|placed| check(&placed.node, is_cluster));
        let mut all = ProcessCheck::default();
        for (placed, check) in map.nodes.iter().zip(try_join_all(checks).await?) {
            let name = |finding: String| match map.nodes.len() {
                1 => finding,
                _ => format!("{}: {finding}", placed.node.address()),
            };
            all.unusable.extend(check.unusable.into_iter().map(name));
            all.unsafe_settings.extend(check.unsafe_settings.into_iter().map(name));
            all.advice.extend(check.advice.into_iter().map(name));
        }
        Ok(all)
    }
}

async fn check(node: &Node, is_cluster: bool) -> StoreResult<ProcessCheck> {
    within(Duration::from_secs(2), async {
        let mut connection = node.dedicated().await?;
        let version = info_field(&mut connection, "server", "redis_version").await?;
        let aof = info_field(&mut connection, "persistence", "aof_enabled").await?;
        let policy = info_field(&mut connection, "memory", "maxmemory_policy").await?;
        let role = info_field(&mut connection, "replication", "role").await?;
        let in_cluster = info_field(&mut connection, "cluster", "cluster_enabled").await?;
        let mut check = assess(&version, &aof, &policy);
        check.unusable.extend(wrong_server(&role, in_cluster == "1", is_cluster).map(str::to_owned));
        let entries = setting(&mut connection, "set-max-intset-entries").await;
        check.advice.extend(entries.and_then(intset_advice));
        if is_cluster {
            let full: Option<String> = setting(&mut connection, "cluster-require-full-coverage").await;
            check.advice.extend(full.and_then(|full| coverage_advice(&full)));
        }
        node.read_sync(&mut connection).await;
        Ok(check)
    })
    .await
}

/// A setting of Redis; `None` if CONFIG is forbidden.
async fn setting<T: FromRedisValue>(connection: &mut MultiplexedConnection, name: &str) -> Option<T> {
    let answer = redis::cmd("CONFIG").arg("GET").arg(name).query_async::<(String, T)>(connection).await;
    answer.ok().map(|(_, value)| value)
}

/// Whether this is not the kind of server that `redis_url` says.
fn wrong_server(role: &str, in_cluster: bool, is_cluster: bool) -> Option<&'static str> {
    if in_cluster && !is_cluster {
        Some("this is a node of a cluster: name some of its nodes with redis+cluster://host:port,host:port")
    } else if role == "slave" {
        Some("this is a replica: name the master")
    } else {
        None
    }
}

fn coverage_advice(full: &str) -> Option<String> {
    (full == "yes").then(|| {
        "Redis has `cluster-require-full-coverage yes`, so all shards stand still when one master fails: set it to no"
            .into()
    })
}

fn assess(version: &str, aof_enabled: &str, policy: &str) -> ProcessCheck {
    let mut check = ProcessCheck::default();
    if major_and_minor(version) < OLDEST {
        check
            .unusable
            .push(format!("Redis {version} is too old: Plaudit needs {}.{} or newer", OLDEST.0, OLDEST.1));
    }
    if aof_enabled != "1" {
        check.unsafe_settings.push(
            "Redis has `appendonly no`, so a restart would lose likes that are not yet in PostgreSQL: \
             set `appendonly yes`"
                .into(),
        );
    }
    if policy.starts_with("allkeys-") {
        check.unsafe_settings.push(format!(
            "Redis has `maxmemory-policy {policy}`, which may evict the log: set `noeviction` or a `volatile-…` policy"
        ));
    }
    check
}

fn intset_advice(entries: u64) -> Option<String> {
    (entries < INTSET_ENTRIES).then(|| {
        format!(
            "Redis has `set-max-intset-entries {entries}`, so what users like takes up to seven times the memory: \
             set it to {INTSET_ENTRIES}"
        )
    })
}

fn major_and_minor(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_server_passes_and_each_fault_is_named() {
        assert_eq!(assess("7.0.15", "1", "noeviction"), ProcessCheck::default());
        assert_eq!(assess("7.2.0", "1", "volatile-lru"), ProcessCheck::default());
        assert!(assess("6.2.14", "1", "noeviction").unusable[0].contains("6.2.14"));
        assert!(assess("7.0.15", "0", "noeviction").unsafe_settings[0].contains("appendonly yes"));
        assert!(assess("7.0.15", "1", "allkeys-lru").unsafe_settings[0].contains("allkeys-lru"));
        assert!(intset_advice(512).unwrap().contains("8192"));
        assert_eq!(intset_advice(8_192), None);
    }
}
