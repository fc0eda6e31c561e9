//! Inspection: reads Redis field by field, for the comparison with PostgreSQL.
//!
//! A shard's state is always read before its keys: the keys include the log at least up to the offsets of that state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use redis::Value;

use crate::{
    StoreError, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        counts::counters,
        keys,
        log::recovery::{self, ShardMeta},
        members::pending::read_flip,
        reply::{parse, read, script_reply},
        results::{MendMembersResult, ReadMetaResult},
        scripts,
    },
};
use plaudit_catalogue::{
    EdgeKind, Entity,
    primitives::{Id, Offset, ShardId, UserId},
};

/// The counters of one entity.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CountersHash {
    /// Epoch under which they were written; `None` if there are none.
    pub epoch: Option<u64>,
    /// Number of their last change.
    pub change: u64,
    /// Whether they are being loaded: then they only have what was folded since the load began.
    pub is_loading: bool,
    /// In catalogue order; `None` for a counter that is new in this release.
    pub totals: Vec<Option<i64>>,
}

/// One actor's edges of one kind in Redis.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActorEdges {
    /// The cached set; `None` if there is no valid one.
    pub set: Option<MemberSet>,
    /// Flips of the kind that are not retired, by target.
    pub pending: BTreeMap<Id, OverlayFlip>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemberSet {
    pub targets: BTreeSet<Id>,
    /// Lowest target id of a truncated set; `None` if the set is complete.
    pub floor: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverlayFlip {
    pub is_on: bool,
    pub at: Offset,
}

/// The other keys of an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityKeys {
    /// Milliseconds until its counters expire; `None` if there are none.
    pub counters_end_in: Option<i64>,
    /// Milliseconds until the cached entity expires; `None` if it is not cached.
    pub text_ends_in: Option<i64>,
}

/// The counters of entities, and the earlier state of their shards. One round trip.
pub async fn read_counter_hashes(
    redis: &Redis,
    entities: &[Entity],
) -> StoreResult<(BTreeMap<ShardId, ShardMeta>, Vec<(Entity, CountersHash)>)> {
    let by_shard = counters::group_by_shard(redis, entities);
    let mut cmds = Vec::with_capacity(entities.len() + 2 * by_shard.len());
    for (shard, entities) in &by_shard {
        cmds.extend(state(*shard));
        cmds.extend(
            entities.iter().map(|entity| RedisCall::new("HGETALL", &keys::counters(*shard, *entity))),
        );
    }
    let mut replies = redis.pipeline(&cmds).await?.into_iter();
    let (mut metas, mut counters) = (BTreeMap::new(), Vec::with_capacity(entities.len()));
    for (shard, entities) in &by_shard {
        metas.insert(*shard, read_state(redis, &mut replies)?);
        for entity in entities {
            counters.push((*entity, counters_from(*entity, &next(&mut replies)?)?));
        }
    }
    Ok((metas, counters))
}

/// The actors and edge kinds for which Redis has keys, in one round trip.
pub async fn with_members(redis: &Redis, actors: &[UserId]) -> StoreResult<Vec<(UserId, EdgeKind)>> {
    let exists = |actor: &UserId, kind: &EdgeKind| {
        let shard = redis.shard_of(actor.0);
        let mut cmd = RedisCall::new("EXISTS", &keys::edges(shard, *kind, *actor));
        cmd.arg(keys::pending(shard, *actor));
        cmd
    };
    let pairs: Vec<(UserId, EdgeKind)> =
        actors.iter().flat_map(|actor| EdgeKind::ALL.iter().map(|kind| (*actor, *kind))).collect();
    let cmds: Vec<RedisCall> = pairs.iter().map(|(actor, kind)| exists(actor, kind)).collect();
    let replies = redis.pipeline(&cmds).await?;
    let mut existing = Vec::new();
    for (pair, reply) in pairs.into_iter().zip(replies) {
        if read::<u32>(reply?)? > 0 {
            existing.push(pair);
        }
    }
    Ok(existing)
}

/// One actor's cached set and pending flips of a kind, and the earlier state of the actor's shard. One round trip.
pub async fn read_actor_edges(
    redis: &Redis,
    actor: UserId,
    kind: EdgeKind,
) -> StoreResult<(ShardMeta, ActorEdges)> {
    let shard = redis.shard_of(actor.0);
    let mut cmds = state(shard).to_vec();
    cmds.push(RedisCall::new("HGETALL", &keys::pending(shard, actor)));
    cmds.push(RedisCall::new("SMEMBERS", &keys::edges(shard, kind, actor)));
    cmds.push(RedisCall::new("GET", &keys::floor(shard, kind, actor)));
    let mut replies = redis.pipeline(&cmds).await?.into_iter();
    let meta = read_state(redis, &mut replies)?;
    let generation = meta.generation.ok_or(StoreError::NotRecovered)?;
    let fields: HashMap<String, String> = next(&mut replies)?;
    let members: BTreeSet<i64> = next(&mut replies)?;
    let floor: Option<i64> = next(&mut replies)?;
    let edges =
        ActorEdges { set: member_set(members, floor, generation), pending: flips(kind, generation, &fields) };
    Ok((meta, edges))
}

/// Deletes the cached set and the newest edges of one actor (if `set`), so that the next read loads it, and
/// pending flips that are already retired.
pub async fn mend_members(
    redis: &Redis,
    actor: UserId,
    kind: EdgeKind,
    set: bool,
    flips: &[Id],
) -> StoreResult<()> {
    let shard = redis.shard_of(actor.0);
    let mut cmd = scripts::MEND_MEMBERS.call(&[
        keys::meta(shard),
        keys::pending(shard, actor),
        keys::edges(shard, kind, actor),
        keys::floor(shard, kind, actor),
        keys::newest(shard, kind, actor),
    ]);
    cmd.arg(u8::from(set));
    for target in flips {
        cmd.arg(keys::pending_field(kind, target));
    }
    let MendMembersResult::Done = script_reply(redis.command(&cmd).await)?.result()?;
    Ok(())
}

/// The state of an entity's other keys.
pub async fn read_entity_keys(redis: &Redis, entity: Entity) -> StoreResult<EntityKeys> {
    let shard = redis.shard_of(entity.id);
    let (counters, text) = (keys::counters(shard, entity), keys::cached_entity(shard, entity));
    let cmds = [counters, text].map(|key| RedisCall::new("PTTL", &key));
    let mut replies = redis.pipeline(&cmds).await?.into_iter();
    let mut ends_in = || StoreResult::Ok(Some(next(&mut replies)?).filter(|ms: &i64| *ms >= 0));
    Ok(EntityKeys { counters_end_in: ends_in()?, text_ends_in: ends_in()? })
}

/// Reads the state of a shard. The script fails on a process on which the shard is not recovered.
fn state(shard: ShardId) -> [RedisCall; 2] {
    [counters::read_meta(shard), RedisCall::new("HGETALL", &keys::meta(shard))]
}

fn read_state(
    redis: &Redis,
    replies: &mut impl Iterator<Item = StoreResult<Value>>,
) -> StoreResult<ShardMeta> {
    let mut recovered = script_reply(replies.next().unwrap_or(Ok(Value::Nil)))?;
    let ReadMetaResult::Done = recovered.result()?;
    let epoch: u64 = recovered.next()?;
    // A Redis without scripts got the script again after the other commands: these may have read the state
    // before the recovery.
    let state = recovery::meta_from(redis, &next(replies)?)?;
    state.filter(|state| state.epoch == epoch).ok_or(StoreError::NotRecovered)
}

fn counters_from(entity: Entity, fields: &HashMap<String, String>) -> StoreResult<CountersHash> {
    let number = |name: &str| fields.get(name).map(|text| parse::<i64>(text)).transpose();
    let counters = entity.kind.counters();
    Ok(CountersHash {
        epoch: number("epoch")?.map(|epoch| epoch as u64),
        change: number("v")?.unwrap_or(0) as u64,
        is_loading: fields.contains_key("load"),
        totals: counters.iter().map(|counter| number(counter.name())).collect::<StoreResult<_>>()?,
    })
}

fn member_set(members: BTreeSet<i64>, floor: Option<i64>, generation: u64) -> Option<MemberSet> {
    let complete = -2 * generation as i64;
    let floor = if members.contains(&complete) {
        None
    } else if members.contains(&(complete - 1)) {
        Some(floor?) // a truncated set without its floor cannot be used
    } else {
        return None;
    };
    Some(MemberSet { targets: members.into_iter().filter_map(|id| Id::try_from(id).ok()).collect(), floor })
}

fn flips(kind: EdgeKind, generation: u64, fields: &HashMap<String, String>) -> BTreeMap<Id, OverlayFlip> {
    let flip = |(field, text): (&String, &String)| {
        let (name, target) = field.split_once(':')?;
        let (is_on, _) = read_flip(text, generation)?;
        let at = text.split(':').nth(1)?.parse().ok()?;
        (name == kind.name()).then_some((target.parse().ok()?, OverlayFlip { is_on, at }))
    };
    fields.iter().filter_map(flip).collect()
}

fn next<T: redis::FromRedisValue>(replies: &mut impl Iterator<Item = StoreResult<Value>>) -> StoreResult<T> {
    read(replies.next().unwrap_or(Ok(Value::Nil))?)
}
