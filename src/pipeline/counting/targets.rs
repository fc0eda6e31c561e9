//! Target shards of one source shard's log: the position of each, and the batch that it gets next.

use crate::{
    event_log::{Entry, sum_of},
    primitives::{Offset, ShardCount},
    store::{
        StoreResult,
        redis::{Batch, LogRange, Redis, TargetPosition},
        sql::shards::{Lease, PersistedState},
    },
};

/// Each target has its own position: they differ after a crash between two targets, and while targets that a batch does
/// not touch follow. A target that is not recovered is left out; the others go on.
pub struct TargetShards {
    shards: ShardCount,
    /// Of the source.
    lease: Lease,
    /// In the order of their shards.
    recovered: Vec<TargetPosition>,
    /// Every recovered target has the events up to there that touch it.
    done: Offset,
    /// Replicas have the log up to there, as many as the settings demand.
    replicated: Offset,
}

impl TargetShards {
    /// Reads the positions of all targets in the source's log, in one round trip. Leaves out those whose counters are
    /// older than what PostgreSQL said at the recovery of the log, in `known`: they may have events that the log has
    /// lost since, and get no event of its next generation before they are reset.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`](crate::store::StoreError::NotRecovered) while the source is not recovered.
    pub async fn read(redis: &Redis, lease: Lease, known: &PersistedState) -> StoreResult<Self> {
        let mut recovered = redis.target_positions(lease.shard).await?;
        recovered.retain(|target| is_current(target, known));
        Ok(Self::at(redis.shards(), lease, recovered))
    }

    fn at(shards: ShardCount, lease: Lease, recovered: Vec<TargetPosition>) -> Self {
        let done = recovered.iter().map(|target| target.at).min().unwrap_or_default();
        Self { shards, lease, recovered, done, replicated: Offset::default() }
    }

    /// Every recovered target has the events up to there that touch it: the next batch begins there.
    pub const fn done(&self) -> Offset {
        self.done
    }

    /// Records that replicas have the log up to `to`.
    pub const fn replicas_are_at(&mut self, to: Offset) {
        self.replicated = to;
    }

    /// Records that the touched targets have their batches up to `to`.
    pub fn touched_targets_are_at(&mut self, to: Offset) {
        self.done = to;
    }

    /// Every target has the entries up to there; `None` while one is not recovered.
    pub fn lowest(&self) -> Option<Offset> {
        let lowest = self.recovered.iter().map(|target| target.at).min();
        lowest.filter(|_| self.recovered.len() == self.shards.get())
    }

    /// Whether a target still has to follow or to be recovered.
    pub fn is_any_behind(&self) -> bool {
        self.lowest().is_none_or(|lowest| lowest < self.done)
    }

    /// Batches for the targets that entries touch. `entries` are all after [`Self::done`].
    pub fn touched(&self, entries: &[Entry]) -> Vec<Batch> {
        let Some(last) = entries.last() else { return Vec::new() };
        let mut batches = self.batches(entries, last.offset);
        batches.retain(|batch| !batch.moves.is_empty());
        batches
    }

    /// Batches without events, for the targets that follow.
    pub fn following(&self) -> Vec<Batch> {
        self.batches(&[], self.done)
    }

    fn batches(&self, entries: &[Entry], to: Offset) -> Vec<Batch> {
        let behind = self.recovered.iter().filter(|target| target.at < to);
        behind
            .map(|target| {
                let new = entries.iter().filter(|entry| entry.offset > target.at && entry.offset <= to);
                let moves = sum_of(new, |entity| self.shards.shard_of(entity.id) == target.target);
                let Lease { shard: source, fence } = self.lease;
                let is_replicated = to <= self.replicated;
                let range = LogRange { source, fence, from: target.at, to, is_replicated };
                Batch { target: target.target, epoch: target.epoch, ranges: vec![range], moves }
            })
            .collect()
    }

    /// Records that a batch is folded up to `to`.
    pub fn advance(&mut self, batch: &Batch, to: Offset) {
        if let Some(target) = self.recovered.iter_mut().find(|target| target.target == batch.target) {
            target.at = to;
        }
    }
}

fn is_current(target: &TargetPosition, known: &PersistedState) -> bool {
    target.epoch >= known.epochs[target.target.index()] && target.timeline == known.timeline
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event_log::Event,
        primitives::{Id, NoteId, ShardId},
    };
    use std::num::NonZeroU32;

    const LEASE: Lease = Lease { shard: ShardId::first(0), fence: 1 };
    const START: Offset = Offset::new(1, 0);

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn at(number: u64) -> Offset {
        Offset::new(1, number)
    }

    fn targets(recovered: impl IntoIterator<Item = u16>) -> TargetShards {
        let target = |shard| TargetPosition {
            target: ShardId::first(shard),
            epoch: 1,
            timeline: "1".into(),
            at: START,
        };
        TargetShards::at(ShardCount::new(2).unwrap(), LEASE, recovered.into_iter().map(target).collect())
    }

    /// A view touches its note alone.
    fn views(number: u64, note: i64) -> Entry {
        let event = Event::Views { note: NoteId(id(note)), by: NonZeroU32::MIN, at: 0 };
        Entry { offset: at(number), event }
    }

    /// Target, range and number of entities of each batch.
    fn described(batches: &[Batch]) -> Vec<(u16, Offset, Offset, usize)> {
        let describe = |batch: &Batch| {
            let [LogRange { from, to, .. }] = batch.ranges[..] else { panic!("{batch:?}") };
            (batch.target.0, from, to, batch.moves.len())
        };
        batches.iter().map(describe).collect()
    }

    /// Records that the batches are folded.
    fn folded(targets: &mut TargetShards, batches: &[Batch], to: Offset) {
        batches.iter().for_each(|batch| targets.advance(batch, to));
        targets.touched_targets_are_at(to);
    }

    #[test]
    fn a_target_that_no_event_touches_follows_later_from_where_it_is() {
        let mut targets = targets([0, 1]);
        let first = targets.touched(&[views(1, 10), views(2, 12)]);
        assert_eq!(described(&first), [(0, START, at(2), 2)]);
        folded(&mut targets, &first, at(2));
        assert!(targets.is_any_behind());

        let second = targets.touched(&[views(3, 11)]);
        assert_eq!(described(&second), [(1, START, at(3), 1)]);
        folded(&mut targets, &second, at(3));

        let following = targets.following();
        assert_eq!(described(&following), [(0, at(2), at(3), 0)]);
        folded(&mut targets, &following, at(3));
        assert_eq!(targets.lowest(), Some(at(3)));
        assert!(!targets.is_any_behind());
    }

    #[test]
    fn a_target_of_an_older_epoch_or_another_timeline_gets_no_batch() {
        let known = PersistedState {
            offsets: vec![START; 2],
            epochs: vec![2, 1],
            fences: vec![1; 2],
            timeline: "1".into(),
        };
        let mut target = targets([0]).recovered[0].clone();
        assert!(!is_current(&target, &known));
        target.epoch = 2;
        assert!(is_current(&target, &known));
        target.timeline = "2".into();
        assert!(!is_current(&target, &known));
    }

    #[test]
    fn a_batch_is_replicated_up_to_where_replicas_have_the_log() {
        let mut targets = targets([0, 1]);
        let is_replicated = |batches: &[Batch]| batches[0].ranges[0].is_replicated;
        assert!(!is_replicated(&targets.touched(&[views(1, 10)])));
        targets.replicas_are_at(at(1));
        assert!(is_replicated(&targets.touched(&[views(1, 10)])));
        assert!(!is_replicated(&targets.touched(&[views(1, 10), views(2, 10)])));
    }

    #[test]
    fn a_target_that_is_not_recovered_holds_up_no_other() {
        let mut targets = targets([0]);
        let batches = targets.touched(&[views(1, 10), views(2, 11)]);
        assert_eq!(described(&batches), [(0, START, at(2), 1)]);
        folded(&mut targets, &batches, at(2));
        assert_eq!(targets.done(), at(2));
        assert_eq!(targets.lowest(), None);
        assert!(targets.is_any_behind());
    }
}
