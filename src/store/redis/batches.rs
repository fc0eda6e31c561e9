//! Batches of source shards' logs, folded into the counters of target shards.

use super::{
    call::Call,
    connection::{Redis, script_reply},
    keys,
    results::FoldResult,
    scripts,
};
use crate::{
    catalogue::{Counter, Deltas, Entity, EntityKind},
    primitives::{
        Offset, ShardId,
        fault::{self, Point},
    },
    store::StoreResult,
};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRange {
    pub source: ShardId,
    /// Fencing token of the source's owner.
    pub fence: u64,
    /// The target must have folded the log up to there.
    pub from: Offset,
    pub to: Offset,
    /// As many replicas as the settings demand have the log up to `to`.
    pub is_replicated: bool,
}

impl Batch {
    /// Adds a batch of other sources for the same target.
    pub fn add(&mut self, other: &Self) {
        self.ranges.extend(&other.ranges);
        for (entity, by) in &other.moves {
            self.moves.entry(*entity).or_default().add_all(by);
        }
    }
}

impl Redis {
    /// Folds batches into their target shards, in one round trip. Returns for each whether it was accepted; if not, the
    /// target's epoch or one of its positions differs from the batch's: read them again.
    pub async fn fold(&self, batches: &[Batch]) -> StoreResult<Vec<bool>> {
        if batches.is_empty() {
            return Ok(Vec::new());
        }
        let cmds: Vec<Call> = batches.iter().map(fold_one).collect();
        if let Some(fault) = fault::due(Point::BetweenFolds) {
            self.pipeline(&cmds[..1]).await?;
            fault.strike()?;
        }
        let outcome = |reply| {
            Ok(match script_reply(reply)?.result()? {
                FoldResult::Done => true,
                FoldResult::Moved | FoldResult::OtherEpoch => false,
            })
        };
        self.pipeline(&cmds).await?.into_iter().map(outcome).collect()
    }
}

fn fold_one(batch: &Batch) -> Call {
    let mut touched = vec![keys::meta(batch.target), keys::changes(batch.target)];
    touched.extend(batch.moves.keys().map(|entity| keys::counters(batch.target, *entity)));
    let mut cmd = scripts::FOLD.call(&touched);
    cmd.arg(batch.epoch).arg(batch.ranges.len());
    for LogRange { source, fence, from, to, is_replicated } in &batch.ranges {
        cmd.arg(source.0).arg(*fence).arg(from.to_string()).arg(to.to_string());
        cmd.arg(u8::from(*is_replicated));
    }
    let kinds = Kinds::moved(&batch.moves);
    kinds.write(&mut cmd);
    for (entity, by) in &batch.moves {
        let (position, counters) = kinds.find(*entity);
        cmd.arg(position).arg(entity.to_string());
        for counter in counters {
            cmd.arg(by.get(*counter));
        }
    }
    cmd
}

/// The kinds that a batch touches, in order, and counters of each; scripts name a kind by its position, from 1.
struct Kinds(Vec<(EntityKind, Vec<Counter>)>);

impl Kinds {
    /// The counters that move, or else the first one: any counter shows whether the entity is held.
    fn moved(moves: &Deltas) -> Self {
        let mut kinds: Vec<_> = moves.keys().map(|entity| entity.kind).collect();
        kinds.dedup(); // the moves are sorted by kind
        let moved = |kind: EntityKind| {
            let of_kind = || moves.iter().filter(|(entity, _)| entity.kind == kind);
            let is_moved = |counter: &&Counter| of_kind().any(|(_, by)| by.get(**counter) != 0);
            let counters: Vec<Counter> = kind.counters().iter().filter(is_moved).copied().collect();
            if counters.is_empty() { vec![kind.counters()[0]] } else { counters }
        };
        Self(kinds.into_iter().map(|kind| (kind, moved(kind))).collect())
    }

    fn write(&self, cmd: &mut Call) {
        cmd.arg(self.0.len());
        for (_, counters) in &self.0 {
            cmd.arg(counters.len());
            for counter in counters {
                cmd.arg(counter.name());
            }
        }
    }

    fn find(&self, entity: Entity) -> (usize, &[Counter]) {
        let before = self.0.partition_point(|(kind, _)| *kind < entity.kind);
        (before + 1, &self.0[before].1)
    }
}
