//! Check at the start that version and configuration of Redis are safe for the log.

use std::time::Duration;

use futures_util::future::try_join_all;
use redis::{FromRedisValue, aio::MultiplexedConnection};

use super::{
    link::{resp3, within},
    log_connection::LogConnection,
    map::NodeShards,
    node::Node,
    rights,
};
use crate::{
    StoreError, StoreResult, acl,
    clock::ClockReading,
    redis::{Redis, keys, reply::info_line},
};
use plaudit_catalogue::primitives::ShardId;

/// Outcome of the check, one line per finding, with the setting and its remedy.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProcessCheck {
    /// Findings that prevent the start and cannot be overridden.
    pub unusable: Vec<String>,
    /// Findings that prevent the start unless overridden. With them a crash may lose events that are not in PostgreSQL.
    pub unsafe_settings: Vec<String>,
    /// Findings with which Redis works, but not as well or as safely as it could.
    pub advice: Vec<String>,
    /// What is well: version, persistence and eviction.
    pub facts: Vec<String>,
    /// Advice about sizes: for who asks, since a start need not repeat it.
    pub sizes: Vec<String>,
    /// Whether a node forbids CONFIG, as services do that manage Redis for others.
    pub forbids_config: bool,
}

/// What one node says of itself.
struct ProcessInfo {
    version: String,
    appends: bool,
    /// `appendfsync`.
    fsync: String,
    /// `maxmemory-policy`.
    policy: String,
    /// Bytes that count towards `most`.
    used: u64,
    /// `maxmemory`; 0 for no limit.
    most: u64,
    /// The line of INFO that says that its last write to disk failed.
    cannot_write: Option<&'static str>,
}

/// Redis stores larger sets as hash tables of seven times the size.
const INTSET_ENTRIES: u64 = 8_192;

const MIB: u64 = 1_048_576;

/// The first version with sharded pub/sub and `XADD` with a partial id.
const OLDEST: (u32, u32) = (7, 0);

/// Checks version, role, persistence and eviction policy of each node, and what it can do.
///
/// # Errors
/// No node has a shard, or one does not answer.
pub async fn check_process(redis: &Redis) -> StoreResult<ProcessCheck> {
    let map = redis.nodes().map().await?;
    for shard in redis.shards().all() {
        map.of(shard)?;
    }
    let is_cluster = redis.nodes().is_cluster();
    let checks = map.nodes.iter().map(async |placed| {
        let checked = check(placed, is_cluster).await;
        checked.map_err(|error| if is_cluster { of_node(&placed.node, error) } else { error })
    });
    let mut all = ProcessCheck::default();
    for (placed, check) in map.nodes.iter().zip(try_join_all(checks).await?) {
        let name = |finding: String| match map.nodes.len() {
            1 => finding,
            _ => format!("{}: {finding}", placed.node.address()),
        };
        all.unusable.extend(check.unusable.into_iter().map(name));
        all.unsafe_settings.extend(check.unsafe_settings.into_iter().map(name));
        all.advice.extend(check.advice.into_iter().map(name));
        all.facts.extend(check.facts.into_iter().map(name));
        all.sizes.extend(check.sizes.into_iter().map(name));
        all.forbids_config |= check.forbids_config;
    }
    Ok(all)
}

/// Names the node of a cluster at which something failed: `redis_url` need not name it.
fn of_node(node: &Node, error: StoreError) -> StoreError {
    let address = node.address();
    match error {
        StoreError::Tls { store, reason } => StoreError::Tls {
            store,
            reason: format!(
                "at the node {address}, {reason}; or set `cluster-announce-hostname` of the node to what the certificate names"
            ),
        },
        StoreError::RedisUnreachable(error) => StoreError::RedisUnready(format!(
            "the cluster names the master {address}, which does not answer here ({error}): start it, wait for the promotion \
             of its replica, or set its `cluster-announce-ip` to an address that this machine reaches"
        )),
        error => error,
    }
}

async fn check(NodeShards { node, shards }: &NodeShards, is_cluster: bool) -> StoreResult<ProcessCheck> {
    within(Duration::from_secs(2), async {
        let mut connection = node.dedicated().await?;
        let info: String = redis::cmd("INFO").query_async(&mut connection).await?;
        let field = |name| info_line(&info, name);
        let fsync = setting(&mut connection, "appendfsync").await;
        let forbids_config = fsync.is_none();
        let mut check = assess(&ProcessInfo {
            version: field("redis_version")?,
            appends: field("aof_enabled")? == "1",
            fsync: fsync.unwrap_or_else(|| "unknown".to_owned()),
            policy: field("maxmemory_policy")?,
            used: number(&info, "used_memory").saturating_sub(number(&info, "mem_not_counted_for_evict")),
            most: number(&info, "maxmemory"),
            cannot_write: ["aof_last_write_status", "rdb_last_bgsave_status"]
                .into_iter()
                .find(|name| field(name).is_ok_and(|status| status == "err")),
        });
        check.forbids_config = forbids_config;
        let (role, in_cluster) = (field("role")?, field("cluster_enabled")?);
        check.unusable.extend(wrong_server(&role, in_cluster == "1", is_cluster).map(str::to_owned));
        if let Some(shard) = shards.first()
            && check.unusable.is_empty()
        {
            check.unusable.extend(lacking_rights(&mut connection, *shard).await?);
        }
        if !check.unusable.is_empty() {
            return Ok(check);
        }
        let clock = ClockReading::begin();
        let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut connection).await?;
        check.advice.extend(clock.ends(seconds * 1_000 + micros / 1_000).advice("Redis"));
        let entries = setting(&mut connection, "set-max-intset-entries").await;
        check.advice.extend(entries.and_then(intset_advice));
        if is_cluster {
            let full: Option<String> = setting(&mut connection, "cluster-require-full-coverage").await;
            check.advice.extend(full.and_then(|full| coverage_advice(&full)));
        }
        let channel = shards.first().map(|shard| keys::changes(*shard).name);
        check.unusable.extend(lacking_commands(node, channel).await?);
        node.read_sync(&mut connection).await;
        Ok(check)
    })
    .await
}

/// What the user may not do and must.
async fn lacking_rights(
    connection: &mut MultiplexedConnection,
    shard: ShardId,
) -> StoreResult<Option<String>> {
    let lacking = rights::lacking(connection, shard).await?;
    Ok((!lacking.is_empty()).then(|| {
        let (which, advice) = (lacking.join(", "), acl::advice());
        format!("the user of redis_url may not run {which}, or not for keys and channels that begin with a brace: {advice}")
    }))
}

/// Whether connections have push messages, which a proxy may not know.
async fn lacking_commands(node: &Node, channel: Option<String>) -> StoreResult<Option<String>> {
    let lacking = |what: &str, error: StoreError| match error {
        StoreError::Unexpected(error) => Ok(Some(format!(
            "{what} is refused ({error}), and Plaudit needs it to receive changes: if a proxy answers there, name Redis itself"
        ))),
        error => Err(error),
    };
    if let Err(error) = LogConnection::open(node.client()).await {
        return lacking("CLIENT TRACKING of RESP3", error);
    }
    let mut connection = resp3(node.client())?.get_multiplexed_async_connection().await?;
    let mut subscribe = redis::cmd("SSUBSCRIBE");
    subscribe.arg(channel);
    match subscribe.exec_async(&mut connection).await {
        Ok(()) => Ok(None),
        Err(error) => lacking("SSUBSCRIBE", error.into()),
    }
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

fn assess(found: &ProcessInfo) -> ProcessCheck {
    let ProcessInfo { version, appends, fsync, policy, used, most, cannot_write } = found;
    let mut check = ProcessCheck::default();
    if major_and_minor(version) < OLDEST {
        check
            .unusable
            .push(format!("Redis {version} is too old: Plaudit needs {}.{} or newer", OLDEST.0, OLDEST.1));
    }
    if *most > 0 && used > most && policy == "noeviction" {
        check.unusable.push(format!(
            "Redis has no room: {} of {} MiB are used; raise `maxmemory`, or remove what is not of Plaudit",
            used / MIB,
            most / MIB
        ));
    }
    if !appends {
        check.unsafe_settings.push(
            "Redis has `appendonly no`, so a restart would lose likes that are not yet in PostgreSQL: \
             set `appendonly yes`"
                .into(),
        );
    } else if fsync == "no" {
        check.advice.push(
            "Redis has `appendfsync no`, so a power cut can lose the last half minute: set `everysec` or `always`"
                .into(),
        );
    }
    if policy.starts_with("allkeys-") {
        check.unsafe_settings.push(format!(
            "Redis has `maxmemory-policy {policy}`, which may evict the log: set `noeviction` or a `volatile-…` policy"
        ));
    }
    check.advice.extend(cannot_write.map(|line| {
        format!("Redis could not write to its disk last time ({line}:err): see its log, and make room there")
    }));
    if *most == 0 {
        check.sizes.push(
            "Redis has `maxmemory 0`, so it takes memory until its machine has none, and is killed: set `maxmemory` below \
             what the machine has"
                .into(),
        );
    }
    check.facts.push(format!(
        "version {version}, appendonly {}, appendfsync {fsync}, maxmemory-policy {policy}",
        if *appends { "yes" } else { "no" }
    ));
    check
}

/// A number among the lines of INFO; 0 if it is not there, as in older versions.
fn number(info: &str, name: &str) -> u64 {
    info_line(info, name).ok().and_then(|value| value.parse().ok()).unwrap_or_default()
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

    fn found() -> ProcessInfo {
        ProcessInfo {
            version: "7.0.15".into(),
            appends: true,
            fsync: "everysec".into(),
            policy: "noeviction".into(),
            used: 900 * MIB,
            most: 0,
            cannot_write: None,
        }
    }

    #[test]
    fn a_fit_server_passes_and_each_fault_is_named() {
        for fit in [found(), ProcessInfo { policy: "volatile-lru".into(), most: 1, ..found() }] {
            let check = assess(&fit);
            assert!(check.unusable.is_empty() && check.unsafe_settings.is_empty(), "{check:?}");
            assert!(check.advice.is_empty() && check.facts[0].contains("appendfsync everysec"), "{check:?}");
        }
        assert!(assess(&ProcessInfo { version: "6.2.14".into(), ..found() }).unusable[0].contains("6.2.14"));
        let full = assess(&ProcessInfo { most: 800 * MIB, ..found() });
        assert!(full.unusable[0].contains("900 of 800 MiB"), "{full:?}");
        let volatile = assess(&ProcessInfo { appends: false, ..found() });
        assert!(volatile.unsafe_settings[0].contains("appendonly yes"));
        let evicting = assess(&ProcessInfo { policy: "allkeys-lru".into(), ..found() });
        assert!(evicting.unsafe_settings[0].contains("allkeys-lru"));
        let lazy = assess(&ProcessInfo { fsync: "no".into(), ..found() });
        assert!(lazy.advice[0].contains("everysec"));
        let failing = assess(&ProcessInfo { cannot_write: Some("aof_last_write_status"), ..found() });
        assert!(failing.advice[0].contains("make room"));
        assert!(assess(&found()).sizes[0].contains("maxmemory 0"));
        assert!(assess(&ProcessInfo { most: 1, policy: "volatile-lru".into(), ..found() }).sizes.is_empty());
        assert!(intset_advice(512).unwrap().contains("8192"));
        assert_eq!(intset_advice(8_192), None);
    }
}
