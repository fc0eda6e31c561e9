//! Target shards of one source shard's log: the position of each, and the batch that it gets next.

use crate::{
    event_log::{Entry, sum_of},
    primitives::{Offset, ShardCount, ShardId},
    store::{
        StoreResult,
        redis::{Batch, Redis, TargetPosition},
    },
};

/// Each target has its own position: they differ after a crash between two targets, and while targets that a batch does
/// not touch follow.
pub struct TargetShards {
    shards: ShardCount,
    all: Vec<TargetPosition>,
    /// Every target has the events up to there that touch it.
    done: Offset,
}

impl TargetShards {
    /// Reads the positions of all targets in the source's log, in one round trip.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`](crate::store::StoreError::NotRecovered) while a target is not recovered.
    pub async fn read(redis: &Redis, source: ShardId) -> StoreResult<Self> {
        Ok(Self::at(redis.shards(), redis.target_positions(source).await?))
    }

    fn at(shards: ShardCount, all: Vec<TargetPosition>) -> Self {
        let done = all.iter().map(|target| target.at).min().unwrap_or_default();
        Self { shards, all, done }
    }

    /// Every target has the events up to there that touch it: the next batch begins there.
    pub const fn done(&self) -> Offset {
        self.done
    }

    /// Records that the touched targets have their batches up to `to`.
    pub fn touched_targets_are_at(&mut self, to: Offset) {
        self.done = to;
    }

    /// The lowest position: every target has the entries up to there.
    pub fn lowest(&self) -> Offset {
        self.all.iter().map(|target| target.at).min().unwrap_or_default()
    }

    /// Whether a target that was not touched still has to follow.
    pub fn is_any_behind(&self) -> bool {
        self.lowest() < self.done
    }

    /// Batches without events, for the targets that follow.
    pub fn following(&self) -> Vec<Batch> {
        self.batches(&[], self.done)
    }

    /// One batch for each target that is behind `to`, also if no entry touches it. `entries` are all after
    /// [`Self::done`].
    pub fn batches(&self, entries: &[Entry], to: Offset) -> Vec<Batch> {
        let behind = self.all.iter().filter(|target| target.at < to);
        behind
            .map(|target| {
                let new = entries.iter().filter(|entry| entry.offset > target.at && entry.offset <= to);
                let moves = sum_of(new, |entity| self.shards.shard_of(entity.id) == target.target);
                Batch { target: target.target, epoch: target.epoch, from: target.at, to, moves }
            })
            .collect()
    }

    /// Records the outcomes of batches. Returns whether all succeeded; otherwise the targets must be read again.
    pub fn advance(&mut self, batches: &[Batch], applied: &[bool]) -> bool {
        for (batch, is_applied) in batches.iter().zip(applied) {
            if *is_applied
                && let Some(target) = self.all.iter_mut().find(|target| target.target == batch.target)
            {
                target.at = batch.to;
            }
        }
        applied.iter().all(|is_applied| *is_applied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event_log::Event,
        primitives::{Id, NoteId},
    };
    use std::num::NonZeroU32;

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn target(shard: u16) -> TargetPosition {
        TargetPosition { target: ShardId(shard), epoch: 1, at: Offset::new(1, 0) }
    }

    #[test]
    fn a_target_that_no_event_touches_follows_later_from_where_it_is() {
        let all = vec![target(0), target(1)];
        let mut targets = TargetShards::at(ShardCount::new(2).unwrap(), all);
        // A view touches its note alone.
        let views = |number, note| Entry {
            offset: Offset::new(1, number),
            event: Event::Views { note: NoteId(id(note)), by: NonZeroU32::MIN, at: 0 },
        };
        let touched = |targets: &TargetShards, entries: &[Entry]| {
            let mut batches = targets.batches(entries, entries.last().unwrap().offset);
            batches.retain(|batch| !batch.moves.is_empty());
            batches
        };
        let first = touched(&targets, &[views(1, 10), views(2, 12)]);
        assert_eq!(first.iter().map(|batch| batch.target).collect::<Vec<_>>(), [ShardId(0)]);
        assert!(targets.advance(&first, &[true]));
        targets.touched_targets_are_at(Offset::new(1, 2));
        assert!(targets.is_any_behind());

        let second = touched(&targets, &[views(3, 11)]);
        let borders = |batch: &Batch| (batch.target, batch.from, batch.to, batch.moves.len());
        let (start, third) = (Offset::new(1, 0), Offset::new(1, 3));
        assert_eq!(second.iter().map(borders).collect::<Vec<_>>(), [(ShardId(1), start, third, 1)]);
        assert!(targets.advance(&second, &[true]));
        targets.touched_targets_are_at(third);

        let following = targets.following();
        let behind = (ShardId(0), Offset::new(1, 2), third, 0);
        assert_eq!(following.iter().map(borders).collect::<Vec<_>>(), [behind]);
        assert!(targets.advance(&following, &[true]));
        assert!(!targets.is_any_behind());
    }
}
