//! Batches of one source shard's log, applied to the counters of target shards: fold and retire.

use redis::Cmd;

use super::{
    connection::{Redis, script_reply},
    counters::{COUNTS_LIFE, life_with_jitter},
    keys,
    results::{FoldResult, RetireCountersResult, ScriptResult},
    scripts,
};
use crate::{
    catalogue::{Counter, Counts, Entity, EntityKind, UnixMillis},
    event_log::{Heat, Moves},
    primitives::{
        Offset, ShardId,
        fault::{self, Point},
    },
    store::StoreResult,
};

/// A batch of one source shard for one target shard.
#[derive(Debug)]
pub struct Batch {
    pub target: ShardId,
    /// The target's epoch, as last read.
    pub epoch: u64,
    pub from: Offset,
    pub to: Offset,
    /// Only entities of the target shard.
    pub moves: Moves,
    /// Time from which the fold adds heat in the target, as last read. Only for the fold, like `heat`.
    pub hot_since: Option<UnixMillis>,
    /// Only notes of the target shard.
    pub heat: Heat,
}

impl Batch {
    /// Whether it does more than to advance the target's position.
    pub fn has_effect(&self) -> bool {
        !self.moves.is_empty() || !self.heat.is_empty()
    }
}

/// Outcome of a batch on one target shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchOutcome {
    Done,
    /// The target's position, epoch or heat differs from the batch's: read its meta again.
    Moved,
    /// Retire only: the target has not folded that far yet.
    TooEarly,
}

impl Redis {
    /// Applies a source shard's batch to target shards, in one round trip.
    pub async fn fold(
        &self,
        source: ShardId,
        fence: u64,
        batches: &[Batch],
    ) -> StoreResult<Vec<BatchOutcome>> {
        let cmds: Vec<Cmd> = batches.iter().map(|batch| fold_one(source, fence, batch)).collect();
        self.apply::<FoldResult>(&cmds, Point::BetweenFolds).await
    }

    /// Retires a source shard's persisted batch on target shards, in one round trip.
    pub async fn retire_counters(
        &self,
        source: ShardId,
        fence: u64,
        batches: &[Batch],
    ) -> StoreResult<Vec<BatchOutcome>> {
        let cmds: Vec<Cmd> = batches.iter().map(|batch| retire_one(source, fence, batch)).collect();
        self.apply::<RetireCountersResult>(&cmds, Point::BetweenRetires).await
    }

    async fn apply<R: ScriptResult + Into<BatchOutcome>>(
        &self,
        cmds: &[Cmd],
        between: Point,
    ) -> StoreResult<Vec<BatchOutcome>> {
        if cmds.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(fault) = fault::due(between) {
            self.pipeline(&cmds[..1]).await?;
            fault.strike()?;
        }
        let replies = self.pipeline(cmds).await?;
        replies.into_iter().map(|reply| Ok(script_reply(reply)?.result::<R>()?.into())).collect()
    }
}

impl From<FoldResult> for BatchOutcome {
    fn from(result: FoldResult) -> Self {
        match result {
            FoldResult::Done => Self::Done,
            FoldResult::Moved | FoldResult::OtherEpoch | FoldResult::OtherHeat => Self::Moved,
        }
    }
}

impl From<RetireCountersResult> for BatchOutcome {
    fn from(result: RetireCountersResult) -> Self {
        match result {
            RetireCountersResult::Done => Self::Done,
            RetireCountersResult::Moved | RetireCountersResult::OtherEpoch => Self::Moved,
            RetireCountersResult::TooEarly => Self::TooEarly,
        }
    }
}

fn fold_one(source: ShardId, fence: u64, batch: &Batch) -> Cmd {
    let mut touched = vec![keys::meta(batch.target), keys::changes(batch.target)];
    touched.extend(batch.moves.keys().map(|entity| keys::counters(batch.target, *entity)));
    touched.extend(batch.heat.keys().map(|bucket| keys::heat(batch.target, *bucket)));
    let mut cmd = scripts::FOLD.call(&touched);
    write_borders(&mut cmd, source, fence, batch);
    cmd.arg(batch.hot_since.map_or_else(String::new, |since| since.to_string())).arg(batch.moves.len());
    let kinds = Kinds::moved(&batch.moves);
    kinds.write(&mut cmd);
    for (entity, moved) in &batch.moves {
        let (position, counters) = kinds.find(*entity);
        cmd.arg(position).arg(entity.to_string());
        cmd.arg(moved.after.to_string()).arg(moved.last.to_string());
        write_deltas(&mut cmd, counters, &moved.by);
    }
    write_heat(&mut cmd, &batch.heat);
    cmd
}

fn retire_one(source: ShardId, fence: u64, batch: &Batch) -> Cmd {
    let mut touched = vec![keys::meta(batch.target)];
    for entity in batch.moves.keys() {
        touched.push(keys::counters(batch.target, *entity));
        touched.push(keys::load_token(batch.target, *entity));
    }
    let mut cmd = scripts::RETIRE_COUNTERS.call(&touched);
    write_borders(&mut cmd, source, fence, batch);
    cmd.arg(life_with_jitter(COUNTS_LIFE));
    let kinds = Kinds::moved(&batch.moves);
    kinds.write(&mut cmd);
    for (entity, moved) in &batch.moves {
        let (position, counters) = kinds.find(*entity);
        cmd.arg(position);
        write_deltas(&mut cmd, counters, &moved.by);
    }
    cmd
}

fn write_borders(cmd: &mut Cmd, source: ShardId, fence: u64, batch: &Batch) {
    cmd.arg(source.0).arg(batch.from.to_string()).arg(batch.to.to_string()).arg(batch.epoch).arg(fence);
}

/// The kinds that a batch touches, in order, and counters of each; scripts name a kind by its position, from 1.
struct Kinds(Vec<(EntityKind, Vec<Counter>)>);

impl Kinds {
    /// The counters that move, or else the first one: any counter shows whether the entity has base totals.
    fn moved(moves: &Moves) -> Self {
        let mut kinds: Vec<_> = moves.keys().map(|entity| entity.kind).collect();
        kinds.dedup(); // the moves are sorted by kind
        let moved = |kind: EntityKind| {
            let of_kind = || moves.iter().filter(|(entity, _)| entity.kind == kind);
            let is_moved = |counter: &&Counter| of_kind().any(|(_, moved)| moved.by.get(**counter) != 0);
            let counters: Vec<Counter> = kind.counters().iter().filter(is_moved).copied().collect();
            if counters.is_empty() { vec![kind.counters()[0]] } else { counters }
        };
        Self(kinds.into_iter().map(|kind| (kind, moved(kind))).collect())
    }

    fn write(&self, cmd: &mut Cmd) {
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

/// One delta per counter.
fn write_deltas(cmd: &mut Cmd, counters: &[Counter], deltas: &Counts) {
    for counter in counters {
        cmd.arg(deltas.get(*counter));
    }
}

/// Per bucket: when it expires, and the heat to add to its notes.
pub(super) fn write_heat(cmd: &mut Cmd, heat: &Heat) {
    for (bucket, notes) in heat {
        cmd.arg(bucket.ends_at()).arg(notes.len());
        for (note, heat) in notes {
            cmd.arg(note.get()).arg(heat);
        }
    }
}
