//! Explanation of one entity's counts: its state in PostgreSQL and Redis, the log positions, its last events, and
//! drift.

use std::cmp::Reverse;

use super::{
    Reconciler, Trigger,
    explanation::{CounterSides, EdgeSides, Explanation, LogEvent, LogSide, PendingSide, RedisSide, SetSide},
};
use plaudit_catalogue::{
    Counts, EdgeKind, Entity,
    primitives::{Offset, UserId, Version},
};
use plaudit_store::{
    StoreResult,
    redis::{
        ActorEdges, CountersHash, LogTails, Redis, ShardMeta, inspect,
        log::{reading, recovery},
    },
    sql::{
        Db,
        counting::{
            explain,
            recount::{self, EntityRecount, Recount},
            repairs,
        },
        ownership::{shards, sharing},
    },
};

/// Flips and repairs that are shown.
const LAST: i64 = 5;
/// Most logs that are shown.
const LOGS: usize = 64;
/// Entries at the end of each log that are searched for events of the entity, and of all logs together.
const TAIL: usize = 1_000;
const TAILS: usize = 16_000;

/// Reads everything about the entity and changes nothing. `actors` are users whose edges to it are included.
pub async fn explain(redis: &Redis, db: &Db, entity: Entity, actors: &[UserId]) -> StoreResult<Explanation> {
    let recounted = recount::recount(db, entity.kind, &[entity.id]).await?;
    let state = shards::persisted_state(db).await?;
    let (side, held, meta) = redis_side(redis, entity).await;
    let positions = LogOffsets {
        folded: meta.map(|meta| meta.folded).unwrap_or_default(),
        persisted: state.offsets,
        retired: recovery::retired_offsets(redis).await.unwrap_or_default(),
    };
    let tail = tail(redis, entity, &positions).await;
    let logs = log_sides(redis, db, &positions).await?;
    let mut explanation = Explanation {
        entity: entity.to_string(),
        shard: redis.shard_of(entity.id).0,
        exists: recounted.iter().any(|one| one.exists),
        removed_at: explain::removed_at(db, entity).await?,
        counters: recounted.iter().flat_map(|one| counters(entity, one, &held, &tail)).collect(),
        last_events: last_events(redis, entity, &positions).await,
        last_steps: explain::last_steps(db, entity, LAST).await?,
        waiting_invalidations: explain::pending_invalidations(db, entity).await?,
        last_repairs: repairs::repairs_of(db, entity, LAST).await?,
        edges: Vec::new(),
        findings: Vec::new(),
        is_busy: false,
        verdict: Vec::new(),
        redis: side,
        logs,
    };
    for actor in actors {
        for kind in EdgeKind::ALL.iter().filter(|kind| kind.target() == entity.kind) {
            explanation.edges.push(edge(redis, db, *kind, *actor, entity).await?);
        }
    }
    let reconciler = Reconciler::new(redis.clone(), db.clone(), Trigger::Command, false);
    let outcome = match &explanation.redis.error {
        None => reconciler.check(entity.kind, &[entity.id]).await?,
        Some(_) => reconciler.check_totals(entity.kind, &[entity.id]).await?,
    };
    (explanation.findings, explanation.is_busy) = (outcome.findings, !outcome.skipped.is_empty());
    explanation.verdict = explanation.sentences();
    Ok(explanation)
}

fn counters(
    entity: Entity,
    recounted: &EntityRecount,
    held: &CountersHash,
    tail: &Counts,
) -> Vec<CounterSides> {
    let counter = |(i, counter): (usize, &plaudit_catalogue::Counter)| CounterSides {
        name: counter.name(),
        total: recounted.totals.map(|totals| totals.get(*counter)),
        rows: match Recount::of(*counter) {
            Recount::Rows(_) => recounted.rows(*counter),
            Recount::Bounds(_) => None,
        },
        carried: recounted.carried.get(*counter),
        redis: held.totals.get(i).copied().flatten().filter(|_| !held.is_loading),
        tail: tail.get(*counter),
    };
    entity.kind.counters().iter().enumerate().map(counter).collect()
}

/// Redis may be unavailable or not recovered. The explanation then has only PostgreSQL's part.
async fn redis_side(redis: &Redis, entity: Entity) -> (RedisSide, CountersHash, Option<ShardMeta>) {
    let read = async {
        StoreResult::Ok((
            inspect::read_counter_hashes(redis, &[entity]).await?,
            inspect::read_entity_keys(redis, entity).await?,
        ))
    };
    let ((metas, held), beside) = match read.await {
        Ok(read) => read,
        Err(error) => {
            let side = RedisSide { error: Some(error.to_string()), ..RedisSide::default() };
            return (side, CountersHash::default(), None);
        }
    };
    let meta = metas.into_values().next();
    let held = held.into_iter().next().map(|(_, held)| held).unwrap_or_default();
    let side = RedisSide {
        error: None,
        shard_epoch: meta.as_ref().map(|meta| meta.epoch),
        epoch: held.epoch,
        version: held.epoch.map(|epoch| Version::new(epoch, held.change).get()),
        is_loading: held.is_loading,
        ends_in_ms: beside.counters_end_in,
        text_ends_in_ms: beside.text_ends_in,
    };
    (side, held, meta)
}

/// Positions of each shard's log. Empty where Redis could not be read.
struct LogOffsets {
    /// In the entity's shard.
    folded: Vec<Offset>,
    persisted: Vec<Offset>,
    retired: Vec<Offset>,
}

/// Events of the entity that are folded and not persisted; none if the logs cannot be read.
async fn tail(redis: &Redis, entity: Entity, at: &LogOffsets) -> Counts {
    let tails = LogTails::new(redis.clone());
    // The tails are new, so the epoch does not matter.
    let target = (redis.shards().shard_of(entity.id), 0);
    let sums = tails.sums(&[entity], &at.persisted, &at.folded, target).await.ok().flatten();
    sums.and_then(|tail| tail.sums.get(&entity).copied()).unwrap_or_default()
}

async fn log_sides(redis: &Redis, db: &Db, at: &LogOffsets) -> StoreResult<Vec<LogSide>> {
    let owners = sharing::shard_owners(db).await?;
    let mut logs = Vec::new();
    for (source, persisted) in redis.shards().all().zip(&at.persisted) {
        let end = reading::log_end(redis, source).await.ok().flatten();
        let text = |offsets: &[Offset]| offsets.get(source.index()).map(Offset::to_string);
        let behind = |end: &Offset| {
            (end.generation == persisted.generation).then(|| end.number.saturating_sub(persisted.number))
        };
        let owner = owners.get(source.index()).cloned().flatten();
        let (owner, owned_since) = owner.map(|owner| (owner.process, owner.since)).unzip();
        logs.push(LogSide {
            source: source.0,
            owner,
            owned_since,
            folded: text(&at.folded),
            persisted: persisted.to_string(),
            retired: text(&at.retired),
            behind: end.as_ref().and_then(behind),
            end: end.map(|end| end.to_string()),
        });
    }
    logs.sort_by_key(|log| Reverse(log.behind)); // stable: equals stay in the order of the shards
    logs.truncate(LOGS);
    Ok(logs)
}

/// Events at the ends of the logs that move a counter of the entity.
async fn last_events(redis: &Redis, entity: Entity, at: &LogOffsets) -> Vec<LogEvent> {
    if at.folded.is_empty() {
        return Vec::new();
    }
    let mut events = Vec::new();
    let tail = TAIL.min(TAILS / redis.shards().get());
    for source in redis.shards().all() {
        let has = |offset, offsets: &[Offset]| offsets.get(source.index()).is_some_and(|at| offset <= *at);
        for (offset, text, moved) in reading::log_tail(redis, source, tail).await.unwrap_or_default() {
            if !moved.contains(&entity) {
                continue;
            }
            let state = if has(offset, &at.retired) {
                "retired"
            } else if has(offset, &at.persisted) {
                "persisted"
            } else if has(offset, &at.folded) {
                "folded"
            } else {
                "appended"
            };
            events.push(LogEvent { source: source.0, offset: offset.to_string(), event: text, state });
        }
    }
    events.split_off(events.len().saturating_sub(2 * LAST as usize))
}

async fn edge(
    redis: &Redis,
    db: &Db,
    kind: EdgeKind,
    actor: UserId,
    target: Entity,
) -> StoreResult<EdgeSides> {
    let held = inspect::read_actor_edges(redis, actor, kind).await.map(|(_, held)| held).unwrap_or_default();
    let row = explain::edge_row(db, kind, actor, target.id).await?;
    let pending = held.pending.get(&target.id);
    let set = set_side(&held, target);
    let is_on = match (pending, set) {
        (Some(flip), _) => flip.is_on,
        (None, SetSide::In) => true,
        (None, SetSide::NotIn) => false,
        (None, SetSide::NotCached | SetSide::BelowFloor) => row.as_ref().is_some_and(|row| row.is_on),
    };
    let pending = pending.map(|flip| PendingSide { is_on: flip.is_on, offset: flip.at.to_string() });
    Ok(EdgeSides { kind: kind.name(), actor: Entity::from(actor).to_string(), pending, set, row, is_on })
}

fn set_side(held: &ActorEdges, target: Entity) -> SetSide {
    match &held.set {
        None => SetSide::NotCached,
        Some(set) if set.targets.contains(&target.id) => SetSide::In,
        Some(set) if set.floor.is_some_and(|floor| target.id.get() < floor) => SetSide::BelowFloor,
        Some(_) => SetSide::NotIn,
    }
}
