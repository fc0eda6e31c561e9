//! What a reshard does in Redis: closes shards, copies idempotency keys to the shards of the next layout, and deletes
//! what the former layout leaves behind.

use std::{collections::HashMap, time::Duration};

use redis::Value;

use crate::{
    StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        keys::{self, RedisKey},
        reply::{Reply, parse, read},
        results::SealShardResult,
        scripts,
    },
};
use plaudit_catalogue::primitives::ShardId;

/// Keys per step of a walk through all keys of a node.
const PAGE: usize = 500;
/// How long the meta of a shard stays after its layout: it refuses what owners of before may still do.
const TOMBSTONE_LIFE: Duration = Duration::from_hours(24 * 7);

/// Closes a shard until it is recovered. `fences`: of each source shard. Returns the epoch of its counters;
/// `None` if it has none.
///
/// # Errors
/// [`StoreError::Fenced`] if a shard has a newer owner.
pub async fn seal_shard(redis: &Redis, shard: ShardId, fences: &[u64]) -> StoreResult<Option<u64>> {
    let mut cmd = scripts::SEAL_SHARD.evaluate(&[keys::meta(shard)]);
    for fence in fences {
        cmd.arg(fence);
    }
    let mut reply = Reply::read(redis.command(&cmd).await?)?;
    match reply.result()? {
        SealShardResult::Done => Ok(Some(parse(&reply.next::<String>()?)?)),
        SealShardResult::NoMeta => Ok(None),
    }
}

/// Copies the idempotency keys of closed shards to the shards that their actors have in `next`, the same
/// Redis in the next layout, with what is left of their lives. Copying again changes nothing. Returns how
/// many there are.
pub async fn copy_idempotency_keys(redis: &Redis, next: &Redis) -> StoreResult<u64> {
    let mut copied = 0;
    for node in &redis.nodes().map().await?.nodes {
        let Some(any) = node.shards.first() else { continue };
        let mut walk = KeyWalk::new(*any, &node.shards, "*:idem:*");
        while let Some(page) = walk.next(redis).await? {
            copied += copy_page(redis, &page, next).await?;
        }
    }
    Ok(copied)
}

async fn copy_page(redis: &Redis, page: &[RedisKey], next: &Redis) -> StoreResult<u64> {
    let ask = |key: &RedisKey| [RedisCall::new("GET", key), RedisCall::new("PTTL", key)];
    let answers = redis.pipeline(&page.iter().flat_map(ask).collect::<Vec<_>>()).await?;
    let mut answers = answers.into_iter();
    let mut copies = Vec::with_capacity(page.len());
    for key in page {
        let mut answer = || answers.next().unwrap_or(Ok(Value::Nil));
        let (value, life) = (read::<Option<String>>(answer()?)?, read::<i64>(answer()?)?);
        let parts = keys::parts_of_idempotency(key.shard, &key.name);
        // A key may expire meanwhile.
        if let (Some(value), Some((actor, name)), 1..) = (value, parts, life) {
            let mut copy = RedisCall::new("SET", &keys::idempotency(next.shard_of(actor.0), actor, name));
            copy.arg(value).arg("PX").arg(life).arg("NX");
            copies.push(copy);
        }
    }
    for reply in next.pipeline(&copies).await? {
        reply?;
    }
    Ok(copies.len() as u64)
}

/// Deletes all keys of this layout, a page at a time. The shards' meta stays for [`TOMBSTONE_LIFE`].
/// Returns how many were deleted.
pub async fn delete_layout(redis: &Redis) -> StoreResult<u64> {
    let mut deleted = 0;
    for node in &redis.nodes().map().await?.nodes {
        let Some(any) = node.shards.first() else { continue };
        let mut walk = KeyWalk::new(*any, &node.shards, "{*}*:*");
        while let Some(page) = walk.next(redis).await? {
            let delete = |key: &RedisKey| {
                if *key == keys::meta(key.shard) {
                    let mut cmd = RedisCall::new("PEXPIRE", key);
                    cmd.arg(TOMBSTONE_LIFE.as_millis() as u64).arg("NX");
                    return cmd;
                }
                deleted += 1;
                RedisCall::new("UNLINK", key)
            };
            let cmds: Vec<RedisCall> = page.iter().map(delete).collect();
            for reply in redis.pipeline(&cmds).await? {
                reply?;
            }
        }
    }
    Ok(deleted)
}

/// A walk through those keys of a node that belong to some of its shards.
struct KeyWalk {
    /// Any shard of the node.
    any: ShardId,
    by_prefix: HashMap<String, ShardId>,
    pattern: &'static str,
    cursor: Option<u64>,
}

impl KeyWalk {
    fn new(any: ShardId, shards: &[ShardId], pattern: &'static str) -> Self {
        let by_prefix = shards.iter().map(|shard| (keys::prefix(*shard), *shard)).collect();
        Self { any, by_prefix, pattern, cursor: Some(0) }
    }

    /// The next page, which may be empty; `None` at the end.
    async fn next(&mut self, redis: &Redis) -> StoreResult<Option<Vec<RedisKey>>> {
        let Some(cursor) = self.cursor else { return Ok(None) };
        let mut scan = RedisCall::about(self.any, "SCAN");
        scan.arg(cursor).arg("MATCH").arg(self.pattern).arg("COUNT").arg(PAGE);
        let (next, found): (u64, Vec<Vec<u8>>) = read(redis.command(&scan).await?)?;
        self.cursor = (next != 0).then_some(next);
        let key = |name: Vec<u8>| {
            // Names that are no text are not Plaudit's.
            let name = String::from_utf8(name).ok()?;
            let shard = *self.by_prefix.get(name.split_once(':')?.0)?;
            Some(RedisKey { shard, name })
        };
        Ok(Some(found.into_iter().filter_map(key).collect()))
    }
}
