//! Recovery: what a shard's new owner does on a Redis process before actions may run there.

use std::collections::HashMap;

use redis::Value;

use crate::{
    StoreError, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        keys::{self, RedisKey},
        nodes::identity::RedisIdentity,
        reply::{Reply, parse, read},
        results::{CloseLogResult, FinishRecoveryResult, ResetTargetResult, TakeOverResult},
        scripts,
    },
};
use plaudit_catalogue::primitives::{Offset, ShardId};

/// The meta hash of a shard.
#[derive(Debug)]
pub struct ShardMeta {
    pub epoch: u64,
    /// Newest change number.
    pub change: u64,
    pub timeline: String,
    /// Run id of the Redis process on which the shard was last recovered.
    pub redis_run_id: Option<String>,
    /// Replication id of Redis then.
    pub replication_id: Option<String>,
    /// Generation of the shard's own log; `None` while it has never been recovered, or its log is closed.
    pub generation: Option<u64>,
    /// Per source shard.
    pub folded: Vec<Offset>,
    /// Offset to which the shard's own pending flips are retired.
    pub members_retired: Option<Offset>,
    /// Offset up to which some of them may have left the pending overlay.
    pub members_retiring: Option<Offset>,
}

/// State of a source shard's log in a target shard, for the new owner of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TakeOver {
    /// The target has folded the source's log up to this offset.
    FoldedTo(Offset),
    /// The target has no counters yet; they will start at PostgreSQL's offset.
    NotBegun,
}

/// `None` when the shard has no counters on this Redis.
pub async fn shard_meta(redis: &Redis, shard: ShardId) -> StoreResult<Option<ShardMeta>> {
    let cmd = RedisCall::new("HGETALL", &keys::meta(shard));
    meta_from(redis, &read(redis.command(&cmd).await?)?)
}

/// `None` for the fields of a shard that has no counters.
pub(crate) fn meta_from(redis: &Redis, fields: &HashMap<String, String>) -> StoreResult<Option<ShardMeta>> {
    if !fields.contains_key("epoch") {
        return Ok(None);
    }
    let field = |name: &str| {
        fields.get(name).ok_or_else(|| StoreError::Unexpected(format!("shard meta has no {name}")))
    };
    let offset = |name: &str| fields.get(name).map(|text| parse(text)).transpose();
    let folded = |source| parse(field(&format!("folded:{source}"))?);
    Ok(Some(ShardMeta {
        epoch: parse(field("epoch")?)?,
        change: parse(field("change")?)?,
        timeline: field("timeline")?.clone(),
        redis_run_id: fields.get("redis_run_id").cloned(),
        replication_id: fields.get("redis_history").cloned(),
        generation: fields.get("generation").map(|text| parse(text)).transpose()?,
        folded: redis.shards().all().map(folded).collect::<StoreResult<_>>()?,
        members_retired: offset("members_retired")?,
        members_retiring: offset("members_retiring")?,
    }))
}

/// How far each shard's flips are retired, in one round trip; the default for a shard without a log.
pub async fn retired_offsets(redis: &Redis) -> StoreResult<Vec<Offset>> {
    let ask = |shard| {
        let mut cmd = RedisCall::new("HGET", &keys::meta(shard));
        cmd.arg("members_retired");
        cmd
    };
    let cmds: Vec<RedisCall> = redis.shards().all().map(ask).collect();
    let offset = |reply: StoreResult<Value>| {
        read::<Option<String>>(reply?)?.map_or(Ok(Offset::default()), |text| parse(&text))
    };
    redis.pipeline(&cmds).await?.into_iter().map(offset).collect()
}

/// Writes a new owner's fencing token to a target shard, which then refuses the old owner's calls.
pub async fn take_over(redis: &Redis, source: ShardId, target: ShardId, fence: u64) -> StoreResult<TakeOver> {
    // The text and not its digest: this Redis may have no scripts yet.
    let mut cmd = scripts::TAKE_OVER.evaluate(&[keys::meta(target)]);
    cmd.arg(source.0).arg(fence);
    let mut reply = Reply::read(redis.command(&cmd).await?)?;
    match reply.result()? {
        TakeOverResult::Done => Ok(TakeOver::FoldedTo(parse(&reply.next::<String>()?)?)),
        TakeOverResult::NoMeta => Ok(TakeOver::NotBegun),
    }
}

/// Resets a shard's counters. `sources` has for each source shard the offset up to which the counters have
/// its log from now on, and the fencing token of its newest owner. Idempotent: does nothing if the shard
/// has that epoch or a later one.
pub async fn reset_target(
    redis: &Redis,
    shard: ShardId,
    epoch: u64,
    timeline: &str,
    sources: &[(Offset, u64)],
) -> StoreResult<()> {
    let mut cmd = scripts::RESET_TARGET.evaluate(&[keys::meta(shard), keys::changes(shard)]);
    cmd.arg(epoch).arg(timeline);
    for (offset, fence) in sources {
        cmd.arg(offset.to_string()).arg(fence);
    }
    let (ResetTargetResult::Done | ResetTargetResult::Newer) =
        Reply::read(redis.command(&cmd).await?)?.result()?;
    Ok(())
}

/// Allows actions on the shard, as long as Redis continues `identity`. The log may grow up to the number
/// `append_limit`.
pub async fn finish_recovery(
    redis: &Redis,
    shard: ShardId,
    fence: u64,
    generation: u64,
    append_limit: u64,
    identity: &RedisIdentity,
) -> StoreResult<()> {
    let mut cmd = scripts::FINISH_RECOVERY.evaluate(&[keys::meta(shard), keys::log(shard)]);
    cmd.arg(shard.0).arg(fence).arg(generation).arg(&identity.run_id).arg(append_limit).arg(&identity.id);
    let FinishRecoveryResult::Done = Reply::read(redis.command(&cmd).await?)?.result()?;
    // The recovery of the last shard of a node loads the scripts.
    match redis.load_scripts(shard).await {
        Err(StoreError::NotRecovered) => Ok(()),
        result => result,
    }
}

/// Closes the shard's log: it refuses events until the shard is recovered.
pub async fn close_log(redis: &Redis, shard: ShardId, fence: u64) -> StoreResult<()> {
    let mut cmd = scripts::CLOSE_LOG.evaluate(&[keys::meta(shard)]);
    cmd.arg(shard.0).arg(fence);
    let (CloseLogResult::Done | CloseLogResult::NoMeta) =
        Reply::read(redis.command(&cmd).await?)?.result()?;
    Ok(())
}

/// Deletes keys and fields of earlier epochs and generations of a shard, a page of keys at a time.
/// Returns the number of deleted keys and fields.
pub async fn sweep(redis: &Redis, shard: ShardId) -> StoreResult<u64> {
    let mut removed = 0;
    for pattern in [keys::all_counters(shard), keys::all_pending(shard)] {
        // Page by page, since one call that finds all keys would block this Redis.
        let mut cursor = 0_u64;
        loop {
            let mut scan = RedisCall::about(shard, "SCAN");
            scan.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(500);
            let (next, found): (u64, Vec<String>) = read(redis.command(&scan).await?)?;
            removed += sweep_keys(redis, shard, &found).await?;
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(removed)
}

async fn sweep_keys(redis: &Redis, shard: ShardId, found: &[String]) -> StoreResult<u64> {
    let meta = keys::meta(shard);
    let key = |name: &String| RedisKey { shard, name: name.clone() };
    let cmds: Vec<RedisCall> =
        found.iter().map(|name| scripts::SWEEP.call(&[meta.clone(), key(name)])).collect();
    let mut removed = 0;
    for reply in redis.pipeline(&cmds).await? {
        let (count,): (u64,) = read(reply?)?;
        removed += count;
    }
    Ok(removed)
}
