//! Target shards of one source shard's log: the position of each, and the batch that it gets next.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};

use super::FOLLOW;
use crate::leadership::{Leadership, ticks};
use plaudit_catalogue::{
    event_log::{Entry, sum_of},
    primitives::{Offset, ShardCount, ShardId},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{
        Batch, LogRange, ReplicationId, TargetPosition, log::positions, node_name, nodes::shards_of_nodes,
    },
    sql::ownership::shards::{Lease, PersistedState},
};

/// Each target has its own position: they differ after a crash between two targets, and while targets that a batch does
/// not touch follow. A target that is not recovered or does not answer is left out; the others go on.
pub struct TargetShards {
    shards: ShardCount,
    /// Of the source.
    lease: Lease,
    /// How long they wait for another node than the source's, before they go on without it.
    patience: Duration,
    /// In the order of their shards.
    followed: Vec<TargetPosition>,
    /// Those that are left out, and when to look for them.
    left_out: BTreeMap<ShardId, (ShardId, Instant)>,
    /// Every followed target has the events up to there that touch it.
    done: Offset,
    /// The replication id of the Redis whose replicas have the entries that were read last.
    confirmed_in: Option<ReplicationId>,
}

/// A target that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing {
    pub target: ShardId,
    /// Its node.
    pub place: ShardId,
    pub look_at: Instant,
}

impl TargetShards {
    /// Reads the positions of these targets in the source's log. Leaves out those that do not answer, and those
    /// whose counters are older than what PostgreSQL said at the recovery of the log: they may have events that
    /// the log has lost since, and get no event of its next generation before they are reset.
    ///
    /// # Errors
    /// If the source's own shard is among them: [`StoreError::NotRecovered`] while it is not recovered, or why
    /// it does not answer.
    pub async fn read(leadership: &Leadership, of: &[ShardId], patience: Duration) -> StoreResult<Self> {
        let mut targets = Self::new(leadership.redis().shards(), leadership.lease, patience);
        targets.read_those(leadership, of).await?;
        Ok(targets)
    }

    /// Reads the positions of the followed targets again.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_again(&mut self, leadership: &Leadership) -> StoreResult<()> {
        let followed: Vec<ShardId> = self.followed.iter().map(|target| target.target).collect();
        self.read_those(leadership, &followed).await
    }

    async fn read_those(&mut self, leadership: &Leadership, of: &[ShardId]) -> StoreResult<()> {
        let nodes = shards_of_nodes::shards_by_node(leadership.redis()).await?;
        let (later, now) = (ticks::next(FOLLOW), Instant::now());
        let (mut found, mut late) = (Vec::new(), Vec::new());
        for (place, read) in read_nodes(leadership, of, &nodes, self.patience).await {
            match read {
                Some(read) => found.extend(read?),
                None => late.push(place),
            }
        }
        found.retain(|target| of.contains(&target.target) && is_current(target, &leadership.recovered));
        for target in of {
            let place = node_name(*target, &nodes);
            self.leave_out(*target, place, if late.contains(&place) { now } else { later });
        }
        self.include(found);
        Ok(())
    }

    fn new(shards: ShardCount, lease: Lease, patience: Duration) -> Self {
        let (followed, left_out) = (Vec::new(), BTreeMap::new());
        let (done, confirmed_in) = (Offset::default(), None);
        Self { shards, lease, patience, followed, left_out, done, confirmed_in }
    }

    pub const fn patience(&self) -> Duration {
        self.patience
    }

    /// Follows targets from where they are.
    pub fn include(&mut self, positions: Vec<TargetPosition>) {
        self.left_out.retain(|target, _| positions.iter().all(|found| found.target != *target));
        self.followed.extend(positions);
        self.followed.sort_unstable_by_key(|target| target.target);
        self.done = self.followed.iter().map(|target| target.at).min().unwrap_or_default();
    }

    /// Follows a target no more, until it is found again: it is to be looked for from a moment on.
    pub fn leave_out(&mut self, target: ShardId, place: ShardId, look_at: Instant) {
        self.followed.retain(|followed| followed.target != target);
        self.left_out.insert(target, (place, look_at));
    }

    /// The targets that are left out, grouped by node.
    pub fn missing(&self) -> Vec<Missing> {
        let of = |(target, (place, look_at)): (&ShardId, &(ShardId, Instant))| Missing {
            target: *target,
            place: *place,
            look_at: *look_at,
        };
        let mut missing: Vec<Missing> = self.left_out.iter().map(of).collect();
        missing.sort_unstable_by_key(|one| (one.place, one.look_at));
        missing
    }

    pub const fn is_empty(&self) -> bool {
        self.followed.is_empty()
    }

    pub fn positions(self) -> Vec<TargetPosition> {
        self.followed
    }

    /// Every followed target has the events up to there that touch it: the next batch begins there.
    pub const fn done(&self) -> Offset {
        self.done
    }

    /// Records where replicas have the entries that were read last.
    pub fn are_confirmed_in(&mut self, replication_id: Option<ReplicationId>) {
        self.confirmed_in = replication_id;
    }

    /// Records that the touched targets have their batches up to `to`.
    pub fn touched_targets_are_at(&mut self, to: Offset) {
        debug_assert!(self.done <= to, "{} is before {}", to, self.done);
        self.done = to;
    }

    /// Every target has the entries up to there; `None` while one is left out.
    pub fn lowest(&self) -> Option<Offset> {
        let lowest = self.followed.iter().map(|target| target.at).min();
        lowest.filter(|_| self.followed.len() == self.shards.get())
    }

    /// Whether a target still has to follow.
    pub fn is_any_behind(&self) -> bool {
        self.followed.iter().any(|target| target.at < self.done)
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
        let behind = self.followed.iter().filter(|target| target.at < to);
        behind
            .map(|target| {
                let new = entries.iter().filter(|entry| entry.offset > target.at && entry.offset <= to);
                let moves = sum_of(new, |entity| self.shards.shard_of(entity.id) == target.target);
                let Lease { shard: source, fence } = self.lease;
                let confirmed_in = self.confirmed_in.clone();
                let range = LogRange { source, fence, from: target.at, to, confirmed_in };
                Batch { target: target.target, epoch: target.epoch, ranges: vec![range], moves }
            })
            .collect()
    }

    /// Records that a batch is folded up to `to`.
    pub fn advance(&mut self, batch: &Batch, to: Offset) {
        if let Some(target) = self.followed.iter_mut().find(|target| target.target == batch.target) {
            debug_assert!(target.at <= to, "{} is before {}", to, target.at);
            target.at = to;
        }
    }
}

/// What the node of each place answers; `None` for one that has not answered when the patience of the others ends.
async fn read_nodes(
    leadership: &Leadership,
    of: &[ShardId],
    nodes: &[Arc<[ShardId]>],
    patience: Duration,
) -> Vec<(ShardId, Option<StoreResult<Vec<TargetPosition>>>)> {
    let asked = nodes.iter().filter(|shards| shards.iter().any(|shard| of.contains(shard)));
    let source = leadership.lease.shard;
    join_all(asked.map(|shards| async move {
        let (place, read) = (node_name(shards[0], nodes), positions(leadership, shards));
        if shards.contains(&source) {
            return (place, Some(read.await));
        }
        let read = timeout(patience, read).await.ok();
        (
            place,
            read.map(|read| {
                read.or_else(|error| if error.is_transient() { Ok(Vec::new()) } else { Err(error) })
            }),
        )
    }))
    .await
}

/// The positions of a node's targets in the source's log, read in one round trip for all shards of the process
/// that ask.
async fn positions(leadership: &Leadership, targets: &Arc<[ShardId]>) -> StoreResult<Vec<TargetPosition>> {
    let (context, source) = (&leadership.context, leadership.lease.shard);
    let (redis, of_node) = (context.redis.clone(), Arc::clone(targets));
    let work = |sources: Vec<ShardId>| async move {
        let read = positions::target_positions(&redis, &sources, &of_node).await;
        read.unwrap_or_else(|error| vec![Err(error); sources.len()])
    };
    let read = context.positions.together(&context.background, Arc::clone(targets), source, work).await;
    read.unwrap_or_else(|| Err(StoreError::Unexpected("positions were not read".into())))
}

fn is_current(target: &TargetPosition, known: &PersistedState) -> bool {
    target.epoch >= known.epochs[target.target.index()] && target.timeline == known.timeline
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::{
        event_log::Event,
        primitives::{Id, NoteId},
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
        let mut targets = TargetShards::new(ShardCount::new(2).unwrap(), LEASE, Duration::ZERO);
        targets.include(recovered.into_iter().map(target).collect());
        targets
    }

    /// A view touches its note alone.
    fn views(number: u64, note: i64) -> Entry {
        let event = Event::Views { note: NoteId(id(note)), by: NonZeroU32::MIN, at: 0 };
        Entry::read(at(number), &event.to_string())
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
            digests: vec![None; 2],
            epochs: vec![2, 1],
            fences: vec![1; 2],
            timeline: "1".into(),
        };
        let mut target = targets([0]).followed[0].clone();
        assert!(!is_current(&target, &known));
        target.epoch = 2;
        assert!(is_current(&target, &known));
        target.timeline = "2".into();
        assert!(!is_current(&target, &known));
    }

    #[test]
    fn a_batch_names_the_redis_of_which_replicas_have_its_entries() {
        let mut targets = targets([0, 1]);
        let named = |batches: &[Batch]| batches[0].ranges[0].confirmed_in.clone();
        assert_eq!(named(&targets.touched(&[views(1, 10)])), None);
        targets.are_confirmed_in(Some("a1".into()));
        assert_eq!(named(&targets.touched(&[views(1, 10)])).as_deref(), Some("a1"));
    }

    #[test]
    fn a_target_that_was_left_out_goes_on_where_it_is_when_it_is_found() {
        let mut targets = targets([0, 1]);
        let (target, now) = (ShardId::first(1), Instant::now());
        targets.leave_out(target, target, now);
        assert_eq!(targets.missing(), [Missing { target, place: target, look_at: now }]);
        let first = targets.touched(&[views(1, 10), views(2, 11)]);
        assert_eq!(described(&first), [(0, START, at(2), 1)]);
        folded(&mut targets, &first, at(2));
        assert_eq!((targets.done(), targets.lowest()), (at(2), None));

        targets.include(vec![TargetPosition { target, epoch: 1, timeline: "1".into(), at: START }]);
        assert_eq!((targets.missing(), targets.done()), (vec![], START));
        assert_eq!(described(&targets.touched(&[views(1, 10), views(2, 11)])), [(1, START, at(2), 1)]);
    }

    #[test]
    fn a_target_that_is_not_recovered_holds_up_no_other() {
        let mut targets = targets([0]);
        let batches = targets.touched(&[views(1, 10), views(2, 11)]);
        assert_eq!(described(&batches), [(0, START, at(2), 1)]);
        folded(&mut targets, &batches, at(2));
        assert_eq!(targets.done(), at(2));
        assert_eq!(targets.lowest(), None);
        assert!(!targets.is_any_behind());
    }
}
