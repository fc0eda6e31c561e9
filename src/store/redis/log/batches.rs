//! Batches of source shards' logs, folded into the counters of target shards.

use std::collections::BTreeMap;

use redis::Value;

use crate::{
    StoreResult,
    redis::{
        Redis, ReplicationId,
        call::RedisCall,
        keys,
        reply::{Reply, unexpected},
        results::FoldResult,
        scripts,
    },
};
use plaudit_catalogue::{
    Counter, Counts, Deltas, Entity, EntityKind,
    primitives::{
        Offset, ShardId,
        fault::{self, Point},
    },
};

/// A script call has no more entities and positions, or else one target only: it bounds how long other calls
/// wait for it.
const FOLDED_AT_ONCE: usize = 500;

/// Events of one or several source shards' logs for one target shard.
#[derive(Clone, Debug)]
pub struct Batch {
    pub target: ShardId,
    /// The target's epoch, as last read.
    pub epoch: u64,
    pub ranges: Vec<LogRange>,
    /// Only entities of the target shard.
    pub moves: Deltas,
}

/// The part of a source shard's log that a batch covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogRange {
    pub source: ShardId,
    /// Fencing token of the source's owner.
    pub fence: u64,
    /// The target must have folded the log up to there.
    pub from: Offset,
    pub to: Offset,
    /// The replication id of the Redis whose replicas have the log up to `to`, as many as the settings demand;
    /// `None` if they demand none.
    pub confirmed_in: Option<ReplicationId>,
}

impl Batch {
    /// Adds a batch of other sources for the same target.
    pub fn add(&mut self, other: &Self) {
        debug_assert_eq!((self.target, self.epoch), (other.target, other.epoch), "a batch has one target");
        self.ranges.extend_from_slice(&other.ranges);
        for (entity, by) in &other.moves {
            self.moves.entry(*entity).or_default().add_all(by);
        }
    }

    fn write(&self, cmd: &mut RedisCall, kinds: &Kinds) {
        cmd.arg(self.epoch).arg(self.ranges.len()).arg(self.moves.len());
        for LogRange { source, fence, from, to, confirmed_in } in &self.ranges {
            cmd.arg(source.0).arg(*fence).arg(from.to_string()).arg(to.to_string());
            cmd.arg(confirmed_in.as_deref().unwrap_or_default());
        }
        for (entity, by) in &self.moves {
            let (position, counters) = kinds.find(*entity);
            cmd.arg(position).arg(entity.to_string());
            for counter in counters {
                cmd.arg(by.get(*counter));
            }
        }
    }
}

/// Folds batches into their target shards, in one round trip per node. Returns for each whether it was accepted; if
/// not, the target's epoch or one of its positions differs from the batch's: read them again.
pub async fn fold(redis: &Redis, batches: &[Batch]) -> StoreResult<Vec<StoreResult<bool>>> {
    if batches.is_empty() {
        return Ok(Vec::new());
    }
    let is_of_target =
        |batch: &Batch| batch.moves.keys().all(|moved| redis.shards().shard_of(moved.id) == batch.target);
    debug_assert!(batches.iter().all(is_of_target), "a script writes the keys of its shard");
    // A test kills here: one target has its batch, the others have not.
    if let Some(fault) = fault::due(Point::BetweenFolds) {
        redis.command(&fold_call(&batches[..1])).await?;
        fault.strike()?;
    }
    // One call for several targets saves their overhead, but a cluster takes keys of one slot only per call.
    let most = if redis.nodes().shards_share_commands() { FOLDED_AT_ONCE } else { 0 };
    let pages = pages(batches, most);
    let cmds: Vec<RedisCall> = pages.iter().copied().map(fold_call).collect();
    let mut outcomes = Vec::with_capacity(batches.len());
    // A call that fails says nothing of the others of the pipeline: each target has an outcome of its own.
    for (page, reply) in pages.into_iter().zip(redis.pipeline(&cmds).await?) {
        match reply.and_then(outcomes_of) {
            Ok(of_targets) => outcomes.extend(of_targets),
            Err(error) => outcomes.extend(page.iter().map(|_| Err(error.clone()))),
        }
    }
    Ok(outcomes)
}

/// The batches in order, as many together as have `most` entities and positions; at least one.
fn pages(batches: &[Batch], most: usize) -> Vec<&[Batch]> {
    let size = |batch: &Batch| batch.moves.len() + batch.ranges.len();
    let (mut pages, mut first, mut sum) = (Vec::new(), 0, 0);
    for (at, batch) in batches.iter().enumerate() {
        // A batch is never divided: the offset of its target moves once, with all of its events.
        if at > first && sum + size(batch) > most {
            pages.push(&batches[first..at]);
            (first, sum) = (at, 0);
        }
        sum += size(batch);
    }
    pages.push(&batches[first..]);
    pages
}

/// For each target whether its batch was accepted.
fn outcomes_of(reply: Value) -> StoreResult<Vec<StoreResult<bool>>> {
    let Value::Array(targets) = reply else { return Err(unexpected(&reply)) };
    let outcome = |reply| {
        Ok(match Reply::read(reply)?.result()? {
            FoldResult::Done => true,
            FoldResult::Moved | FoldResult::OtherEpoch => false,
        })
    };
    Ok(targets.into_iter().map(outcome).collect())
}

fn fold_call(batches: &[Batch]) -> RedisCall {
    let mut touched = Vec::new();
    for batch in batches {
        // The script takes its keys in this order: it cannot ask for names that it has not been given.
        touched.extend([keys::meta(batch.target), keys::changes(batch.target)]);
        touched.extend(batch.moves.keys().map(|entity| keys::counters(batch.target, *entity)));
    }
    let mut cmd = scripts::FOLD.call(&touched);
    // Counters are named once per call, and entities give only numbers: names would be most of the bytes.
    let kinds = Kinds::moved(batches);
    cmd.arg(batches.len());
    kinds.write(&mut cmd);
    batches.iter().for_each(|batch| batch.write(&mut cmd, &kinds));
    cmd
}

/// The kinds that batches touch, in order, and counters of each; scripts name a kind by its position, from 1.
struct Kinds(Vec<(EntityKind, Vec<Counter>)>);

impl Kinds {
    /// The counters that move, or else the first one: any counter shows whether the entity is held.
    fn moved(batches: &[Batch]) -> Self {
        let mut moved = BTreeMap::<EntityKind, Counts>::new();
        for (entity, by) in batches.iter().flat_map(|batch| &batch.moves) {
            let of_kind = moved.entry(entity.kind).or_default();
            let moves = entity.kind.counters().iter().filter(|counter| by.get(**counter) != 0);
            moves.for_each(|counter| of_kind.add(*counter, 1));
        }
        let named = |(kind, moved): (EntityKind, Counts)| {
            let counters = kind.counters().iter().filter(|counter| moved.get(**counter) != 0);
            let counters: Vec<Counter> = counters.copied().collect();
            (kind, if counters.is_empty() { vec![kind.counters()[0]] } else { counters })
        };
        Self(moved.into_iter().map(named).collect())
    }

    /// Their number; for each the number of its counters, and their names.
    fn write(&self, cmd: &mut RedisCall) {
        cmd.arg(self.0.len());
        for (_, counters) in &self.0 {
            cmd.arg(counters.len());
            for counter in counters {
                cmd.arg(counter.name());
            }
        }
    }

    fn find(&self, entity: Entity) -> (usize, &[Counter]) {
        // The kinds come out of a sorted map.
        let before = self.0.partition_point(|(kind, _)| *kind < entity.kind);
        (before + 1, &self.0[before].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(positions: usize) -> Batch {
        let (from, to) = (Offset::new(1, 0), Offset::new(1, 1));
        let range = LogRange { source: ShardId::first(0), fence: 1, from, to, confirmed_in: None };
        Batch { target: ShardId::first(0), epoch: 1, ranges: vec![range; positions], moves: Deltas::new() }
    }

    fn sizes(positions: &[usize], most: usize) -> Vec<usize> {
        let batches: Vec<Batch> = positions.iter().copied().map(batch).collect();
        pages(&batches, most).into_iter().map(<[Batch]>::len).collect()
    }

    #[test]
    fn a_call_folds_as_many_targets_as_its_bound_allows_and_at_least_one() {
        assert_eq!(sizes(&[2, 3, 5, 1], 5), [2, 1, 1]);
        assert_eq!(sizes(&[9, 1, 1], 5), [1, 2]);
        assert_eq!(sizes(&[1, 1], 0), [1, 1]);
    }
}
