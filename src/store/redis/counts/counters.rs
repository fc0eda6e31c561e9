//! Counters in Redis: reading and invalidating them, and the heartbeat of a shard's channel.

use std::{collections::BTreeMap, time::Duration};

use redis::Value;

use crate::{
    StoreError, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        keys,
        reply::{Reply, read, script_reply},
        results::{HeartbeatResult, InvalidateCountsResult, ReadMetaResult, RenewCountsResult},
        scripts,
    },
};
use plaudit_catalogue::{
    Counts, Entity, EntityKind,
    primitives::{ShardId, Version, fault},
};

/// How long counters are kept since they were loaded or renewed: a day since anybody asked for them.
/// [`life_with_jitter`] adds up to a sixth, so that counters loaded together do not expire together.
const COUNTS_LIFE: Duration = Duration::from_hours(26);

/// How long the entity cache remembers an invalidation: longer than any read of PostgreSQL takes.
const TEXT_GUARD: Duration = Duration::from_secs(5);

/// Most entities that one call of the script invalidates: it bounds how long other calls wait for the script.
const INVALIDATED_AT_ONCE: usize = 100;

/// Copies of entities, in Redis and in processes, that are outdated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// Counters. Rows did not change, only totals.
    Counts,
    /// Counters, records and texts.
    All,
}

/// The counts of one entity in Redis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountsRead {
    Known(Version, Counts),
    /// Not loaded, or not all of it.
    Missing,
}

/// Reads the counters of many entities in one round trip.
pub async fn read_counts(redis: &Redis, entities: &[Entity]) -> StoreResult<Vec<(Entity, CountsRead)>> {
    let by_shard = group_by_shard(redis, entities);
    let mut cmds = Vec::with_capacity(entities.len() + by_shard.len());
    for (shard, entities) in &by_shard {
        cmds.push(read_meta(*shard));
        cmds.extend(entities.iter().map(|entity| read_one(*shard, *entity)));
    }
    let mut replies = redis.pipeline(&cmds).await?.into_iter();
    let mut next = || replies.next().unwrap_or(Ok(Value::Nil));

    let mut answer = Vec::with_capacity(entities.len());
    for entities in by_shard.values() {
        let mut meta = script_reply(next())?;
        let ReadMetaResult::Done = meta.result()?;
        let epoch: u64 = meta.next()?;
        for entity in entities {
            answer.push((*entity, interpret(*entity, epoch, read(next()?)?)?));
        }
    }
    Ok(answer)
}

/// Must precede every read: it fails on a Redis process on which no shard is recovered.
pub(crate) fn read_meta(shard: ShardId) -> RedisCall {
    scripts::READ_META.call(&[keys::meta(shard)])
}

/// Invalidates these copies of entities and notifies the hubs, in one round trip. Returns the version of the last
/// invalidation of each shard.
pub async fn invalidate(
    redis: &Redis,
    entities: &[Entity],
    copies: Copies,
) -> StoreResult<BTreeMap<ShardId, Version>> {
    let by_shard = group_by_shard(redis, entities);
    let pages = by_shard
        .iter()
        .flat_map(|(shard, entities)| entities.chunks(INVALIDATED_AT_ONCE).map(move |page| (*shard, page)));
    let (shards, cmds): (Vec<ShardId>, Vec<RedisCall>) =
        pages.map(|(shard, page)| (shard, invalidate_page(shard, page, copies))).unzip();
    let mut versions = BTreeMap::new();
    for (shard, reply) in shards.into_iter().zip(redis.pipeline(&cmds).await?) {
        let mut reply = script_reply(reply)?;
        let InvalidateCountsResult::Done = reply.result()?;
        versions.insert(shard, Version::new(reply.next()?, reply.next()?));
    }
    Ok(versions)
}

/// Keeps counters of a shard longer.
pub async fn renew_counts(redis: &Redis, shard: ShardId, entities: &[Entity]) -> StoreResult<()> {
    let touched: Vec<_> = entities.iter().map(|entity| keys::counters(shard, *entity)).collect();
    let mut cmd = scripts::RENEW_COUNTS.call(&touched);
    cmd.arg(counts_life());
    let RenewCountsResult::Done = Reply::read(redis.command(&cmd).await?)?.result()?;
    Ok(())
}

pub async fn heartbeat(redis: &Redis, shard: ShardId) -> StoreResult<()> {
    let mut cmd = scripts::HEARTBEAT.call(&[keys::meta(shard), keys::changes(shard)]);
    cmd.arg(redis.shards().get());
    let HeartbeatResult::Done = Reply::read(redis.command(&cmd).await?)?.result()?;
    Ok(())
}

pub(crate) fn group_by_shard(redis: &Redis, entities: &[Entity]) -> BTreeMap<ShardId, Vec<Entity>> {
    let mut by_shard = BTreeMap::<_, Vec<_>>::new();
    for entity in entities {
        by_shard.entry(redis.shard_of(entity.id)).or_default().push(*entity);
    }
    by_shard
}

fn invalidate_page(shard: ShardId, entities: &[Entity], copies: Copies) -> RedisCall {
    let row_changed = |entity: &Entity| copies == Copies::All && entity.kind != EntityKind::Inbox;
    let mut touched = vec![keys::meta(shard), keys::changes(shard), keys::text_bytes(shard)];
    for entity in entities {
        touched.push(keys::counters(shard, *entity));
        if row_changed(entity) {
            touched.push(keys::cached_entity(shard, *entity));
            touched.push(keys::cached_text(shard, *entity));
        }
    }
    let mut cmd = scripts::INVALIDATE_COUNTS.call(&touched);
    cmd.arg(TEXT_GUARD.as_millis() as u64);
    for entity in entities {
        cmd.arg(entity.to_string()).arg(i32::from(row_changed(entity)));
    }
    cmd
}

fn read_one(shard: ShardId, entity: Entity) -> RedisCall {
    let mut cmd = RedisCall::new("HMGET", &keys::counters(shard, entity));
    cmd.arg("epoch").arg("v").arg("load");
    for counter in entity.kind.counters() {
        cmd.arg(counter.name());
    }
    cmd
}

fn interpret(entity: Entity, epoch: u64, fields: Vec<Option<i64>>) -> StoreResult<CountsRead> {
    let [held_epoch, change, load, values @ ..] = fields.as_slice() else {
        return Err(StoreError::Unexpected(format!("{} fields of {entity}", fields.len())));
    };
    let complete: Option<Vec<i64>> = values.iter().copied().collect();
    match (held_epoch, change, complete) {
        (Some(held), Some(change), Some(values)) if *held as u64 == epoch && load.is_none() => {
            Ok(CountsRead::Known(Version::new(epoch, *change as u64), Counts::from_values(values)))
        }
        _ => Ok(CountsRead::Missing),
    }
}

/// In ms.
pub(crate) fn counts_life() -> u64 {
    life_with_jitter(fault::period("counts.kept", COUNTS_LIFE))
}

/// `life` plus up to a sixth of it, in milliseconds.
pub(crate) fn life_with_jitter(life: Duration) -> u64 {
    let life = life.as_millis() as u64;
    life + rand::random_range(0..=life / 6)
}
