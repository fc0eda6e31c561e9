//! Whose shards these are: each installation has a Redis of its own, and all of its processes use the same one.

use std::time::Duration;

use redis::Value;

use crate::{
    StoreError, StoreResult,
    redis::{Redis, call::RedisCall, keys, reply::read},
};
use plaudit_catalogue::primitives::ShardId;

const OTHER: &str = "its shards belong to another installation of Plaudit, with another database: give each a Redis of its \
                     own, or, if that one is gone, empty this Redis with FLUSHALL";
const NOBODY: &str = "no `plaudit serve` has used it yet: name the Redis that the servers of this installation use, or start one \
                      with this Redis first";

/// Gives shards that belong to no installation to this one.
///
/// # Errors
/// [`StoreError::Misconfigured`] if one of them belongs to another.
pub async fn claim_shards(
    redis: &Redis,
    shards: impl Iterator<Item = ShardId>,
    installation: &str,
) -> StoreResult<()> {
    let claim = |shard| {
        let mut set = RedisCall::new("HSETNX", &keys::meta(shard));
        set.arg("installation").arg(installation);
        [set, ask_for_installation(shard)]
    };
    let calls: Vec<RedisCall> = shards.flat_map(claim).collect();
    let answers = redis.pipeline(&calls).await?;
    answers.into_iter().skip(1).step_by(2).try_for_each(|answer| is_of(&[Some(installation)], answer))
}

/// Checks that each shard belongs to one of these installations; `None` is none at all. Changes nothing.
///
/// # Errors
/// [`StoreError::Misconfigured`] if one of them belongs to another, or to none where that is not allowed.
pub async fn check_installation(redis: &Redis, allowed: &[Option<&str>]) -> StoreResult<()> {
    let calls: Vec<RedisCall> = redis.shards().all().map(ask_for_installation).collect();
    let answers = redis.pipeline(&calls).await?;
    answers.into_iter().try_for_each(|answer| is_of(allowed, answer))
}

/// Shows for `life` that the pipeline process of this name uses this Redis. Where Redis answers that it
/// takes no writes, nothing is shown.
///
/// # Errors
/// A node does not answer.
pub async fn show_process(redis: &Redis, owner: &str, life: Duration) -> StoreResult<()> {
    redis.ping().await?;
    let mut show = RedisCall::new("SET", &keys::process(owner));
    show.arg(1).arg("PX").arg(life.as_millis() as u64);
    match redis.command(&show).await {
        Err(error) if error.is_silence() => Err(error),
        _ => Ok(()),
    }
}

/// For each of these pipeline processes, whether it uses this Redis.
pub async fn shows_processes(redis: &Redis, owners: &[&str]) -> StoreResult<Vec<bool>> {
    let ask = |owner: &&str| RedisCall::new("EXISTS", &keys::process(owner));
    let calls: Vec<RedisCall> = owners.iter().map(ask).collect();
    redis.pipeline(&calls).await?.into_iter().map(|answer| read(answer?)).collect()
}

fn ask_for_installation(shard: ShardId) -> RedisCall {
    let mut get = RedisCall::new("HGET", &keys::meta(shard));
    get.arg("installation");
    get
}

fn is_of(allowed: &[Option<&str>], answer: StoreResult<Value>) -> StoreResult<()> {
    let found: Option<String> = read(answer?)?;
    if allowed.contains(&found.as_deref()) {
        return Ok(());
    }
    Err(StoreError::Misconfigured(if found.is_some() { OTHER } else { NOBODY }.to_owned()))
}
