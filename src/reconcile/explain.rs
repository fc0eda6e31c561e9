//! Explanation of one entity's counts: its state in PostgreSQL and Redis, the log positions, its last events, and
//! drift.

use super::{
    Reconciler, Trigger,
    explanation::{
        CounterSides, EdgeSides, Explanation, LogEvent, LogSide, Mark, PendingSide, RedisSide, RowCount,
        SetSide,
    },
};
use crate::{
    catalogue::{EdgeKind, Entity},
    primitives::{Offset, ShardId, UserId, Version},
    store::{
        StoreResult,
        redis::{ActorEdges, CountersHash, Redis, ShardMeta},
        sql::{
            Db,
            recount::{EntityRecount, Recount},
        },
    },
};

/// History steps and repairs that are shown.
const LAST: i64 = 5;
/// Entries at the end of each log that are searched for events of the entity.
const TAIL: usize = 1_000;

/// Reads everything about the entity and changes nothing. `actors` are users whose edges to it are included.
pub async fn explain(redis: &Redis, db: &Db, entity: Entity, actors: &[UserId]) -> StoreResult<Explanation> {
    let recounted = db.recount(entity.kind, &[entity.id]).await?;
    let state = db.persisted_state().await?;
    let (side, held, meta) = redis_side(redis, entity).await;
    let logs = log_sides(redis, db, meta.as_ref(), &state.offsets).await?;
    let mut explanation = Explanation {
        entity: entity.to_string(),
        shard: redis.shard_of(entity.id).0,
        exists: recounted.iter().any(|one| one.exists),
        removed_at: db.removed_at(entity).await?,
        counters: recounted.iter().flat_map(|one| counters(entity, one, &held)).collect(),
        last_events: last_events(redis, entity, meta.as_ref(), &state.offsets).await,
        last_steps: db.last_steps(entity, LAST).await?,
        waiting_invalidations: db.pending_invalidations(entity).await?,
        last_repairs: db.repairs_of(entity, LAST).await?,
        edges: Vec::new(),
        findings: Vec::new(),
        is_busy: false,
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
    Ok(explanation)
}

fn counters(entity: Entity, recounted: &EntityRecount, held: &CountersHash) -> Vec<CounterSides> {
    let counter = |(i, counter): (usize, &crate::catalogue::Counter)| CounterSides {
        name: counter.name(),
        total: recounted.totals.map(|totals| totals.get(*counter)),
        rows: match (Recount::of(*counter), recounted.rows(*counter)) {
            (Recount::Bounds(_), _) => RowCount::None,
            (Recount::Rows(_), Some(rows)) => RowCount::Counted(rows),
            (Recount::Rows(_), None) => RowCount::Frozen,
        },
        redis: held.totals.get(i).copied().flatten(),
        pending: held.pending.get(i).copied().unwrap_or(0),
    };
    entity.kind.counters().iter().enumerate().map(counter).collect()
}

/// Redis may be unavailable or not recovered. The explanation then has only PostgreSQL's part.
async fn redis_side(redis: &Redis, entity: Entity) -> (RedisSide, CountersHash, Option<ShardMeta>) {
    let read = async {
        StoreResult::Ok((redis.read_counter_hashes(&[entity]).await?, redis.read_entity_keys(entity).await?))
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
    let mark = |(source, after, last): &(ShardId, Offset, Offset)| Mark {
        source: source.0,
        after: after.to_string(),
        last: last.to_string(),
    };
    let (text, text_ends_in_ms) = beside.text.unzip();
    let side = RedisSide {
        error: None,
        shard_epoch: meta.as_ref().map(|meta| meta.epoch),
        epoch: held.epoch,
        version: held.epoch.map(|epoch| Version::new(epoch, held.change).get()),
        marks: held.marks.iter().map(mark).collect(),
        ends_in_ms: beside.counters_end_in,
        load_ends_in_ms: beside.load_ends_in,
        text,
        text_ends_in_ms,
    };
    (side, held, meta)
}

async fn log_sides(
    redis: &Redis,
    db: &Db,
    meta: Option<&ShardMeta>,
    persisted: &[Offset],
) -> StoreResult<Vec<LogSide>> {
    let owners = db.shard_owners().await?;
    let mut logs = Vec::new();
    for (source, persisted) in redis.shards().all().zip(persisted) {
        let end = redis.log_end(source).await.ok().flatten();
        let on_target = |positions: fn(&ShardMeta) -> &[Offset]| {
            meta.and_then(|meta| positions(meta).get(source.index())).map(Offset::to_string)
        };
        let behind = |end: &Offset| {
            (end.generation == persisted.generation).then(|| end.number.saturating_sub(persisted.number))
        };
        logs.push(LogSide {
            source: source.0,
            owner: owners.get(source.index()).cloned().flatten(),
            folded: on_target(|meta| &meta.folded),
            persisted: persisted.to_string(),
            retired: on_target(|meta| &meta.retired),
            behind: end.as_ref().and_then(behind),
            end: end.map(|end| end.to_string()),
        });
    }
    Ok(logs)
}

/// Events at the ends of the logs that move a counter of the entity.
async fn last_events(
    redis: &Redis,
    entity: Entity,
    meta: Option<&ShardMeta>,
    persisted: &[Offset],
) -> Vec<LogEvent> {
    let Some(meta) = meta else { return Vec::new() };
    let mut events = Vec::new();
    for source in redis.shards().all() {
        let index = source.index();
        for (offset, text, moved) in redis.log_tail(source, TAIL).await.unwrap_or_default() {
            if !moved.contains(&entity) {
                continue;
            }
            let state = if offset <= meta.retired[index] {
                "retired"
            } else if offset <= persisted[index] {
                "persisted"
            } else if offset <= meta.folded[index] {
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
    let held = redis.read_actor_edges(actor, kind).await.map(|(_, held)| held).unwrap_or_default();
    let row = db.edge_row(kind, actor, target.id).await?;
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
