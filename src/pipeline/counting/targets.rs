//! The target shards of one source shard's log: where each one stands, and what it gets next.

use crate::{
    catalogue::{Flip, UnixMillis},
    event_log::{Entry, Heat, heat_of, sum_of},
    primitives::{Offset, ShardCount, ShardId},
    store::{
        StoreError, StoreResult,
        redis::{Batch, BatchOutcome, Redis, ShardMeta},
    },
};

/// Positions differ after a crash between two targets, so each has its own.
pub struct Targets {
    shards: ShardCount,
    all: Vec<Target>,
}

struct Target {
    shard: ShardId,
    epoch: u64,
    at: Offset,
    /// The heat of entries up to there is in already, though they may be folded once more.
    heated: Offset,
    hot_since: Option<UnixMillis>,
}

impl Targets {
    /// Reads where all targets stand with the source's log; `positions` picks from a target's meta.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`] while a target has not begun.
    pub async fn read(
        redis: &Redis,
        source: ShardId,
        positions: impl Fn(&ShardMeta) -> &[Offset],
    ) -> StoreResult<Self> {
        let shards = redis.shards();
        let mut all = Vec::with_capacity(shards.get());
        for shard in shards.all() {
            let meta = redis.shard_meta(shard).await?.ok_or(StoreError::NotRecovered)?;
            all.push(Target {
                shard,
                epoch: meta.epoch,
                at: positions(&meta)[source.index()],
                heated: meta.folded_before_reset[source.index()],
                hot_since: meta.hot_since,
            });
        }
        Ok(Self { shards, all })
    }

    /// Up to there every target is done.
    pub fn lowest(&self) -> Offset {
        self.all.iter().map(|target| target.at).min().unwrap_or_default()
    }

    /// What each target that is behind `to` gets of these entries, also when it is nothing but the
    /// position: all targets must pass every border.
    pub fn batches(&self, entries: &[Entry], to: Offset) -> Vec<Batch> {
        let behind = self.all.iter().filter(|target| target.at < to);
        behind
            .map(|target| {
                let news = entries.iter().filter(|entry| entry.offset > target.at && entry.offset <= to);
                let moves = sum_of(news, |entity| self.shards.shard_of(entity.id) == target.shard);
                Batch {
                    target: target.shard,
                    epoch: target.epoch,
                    from: target.at,
                    to,
                    moves,
                    hot_since: target.hot_since,
                    heat: Heat::new(),
                }
            })
            .collect()
    }

    /// Gives each batch the heat of its entries: of those that happened since the target's heat began, and
    /// not of those that were folded before the target's counters began anew.
    pub fn add_heat(&self, batches: &mut [Batch], entries: &[Entry], now: UnixMillis) {
        for batch in batches {
            let Some(target) = self.all.iter().find(|target| target.shard == batch.target) else { continue };
            let Some(since) = target.hot_since else { continue };
            let news = entries.iter().filter(|entry| {
                let after = target.at.max(target.heated);
                let is_hot =
                    |flip: &Flip| flip.at >= since && self.shards.shard_of(flip.target) == target.shard;
                entry.offset > after && entry.offset <= batch.to && entry.flip().is_some_and(is_hot)
            });
            batch.heat = heat_of(news, now);
        }
    }

    /// Takes in what became of batches. Returns whether all went well; else the targets must be read anew.
    pub fn advance(&mut self, batches: &[Batch], applied: &[BatchOutcome]) -> bool {
        for (batch, outcome) in batches.iter().zip(applied) {
            if *outcome == BatchOutcome::Done
                && let Some(target) = self.all.iter_mut().find(|target| target.shard == batch.target)
            {
                target.at = batch.to;
            }
        }
        applied.iter().all(|outcome| *outcome == BatchOutcome::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue::{Bucket, EdgeKind, Span},
        event_log::Event,
        primitives::{Id, UserId},
    };

    const NOW: UnixMillis = 1_700_000_000_000;

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn like(number: u64, note: i64, at: UnixMillis) -> Entry {
        let (actor, owner) = (UserId(id(1)), UserId(id(3)));
        let flip = Flip { kind: EdgeKind::NoteLike, actor, target: id(note), owner, on: true, at };
        Entry { offset: Offset::new(1, number), event: Event::Flip(flip) }
    }

    fn target(shard: u16, at: u64, heated: u64, hot_since: Option<UnixMillis>) -> Target {
        let place = |number| Offset::new(1, number);
        Target { shard: ShardId(shard), epoch: 1, at: place(at), heated: place(heated), hot_since }
    }

    /// Notes with heat per batch, in the hour.
    fn heated(all: Vec<Target>, entries: &[Entry]) -> Vec<Vec<i64>> {
        let targets = Targets { shards: ShardCount::new(2).unwrap(), all };
        let mut batches = targets.batches(entries, entries.last().unwrap().offset);
        targets.add_heat(&mut batches, entries, NOW);
        let hour = Bucket::of(Span::Hour, NOW);
        let notes = |batch: &Batch| {
            batch.heat.get(&hour).map_or(Vec::new(), |notes| notes.keys().map(|note| note.get()).collect())
        };
        batches.iter().map(notes).collect()
    }

    #[test]
    fn a_note_is_heated_on_its_shard_by_what_happened_since_heat_began() {
        let entries = [like(1, 10, NOW), like(2, 11, NOW), like(3, 12, NOW - 1), like(4, 14, NOW + 1)];
        let of = |since| heated(vec![target(0, 0, 0, since), target(1, 0, 0, since)], &entries);
        assert_eq!(of(Some(NOW)), [vec![10, 14], vec![11]]);
        assert_eq!(of(None), [const { Vec::<i64>::new() }; 2]);
    }

    #[test]
    fn what_is_folded_once_more_heats_nothing() {
        let entries = [like(1, 10, NOW), like(2, 12, NOW), like(3, 14, NOW)];
        let of = |at, heat| heated(vec![target(0, at, heat, Some(0))], &entries);
        assert_eq!((of(0, 2), of(1, 0), of(2, 1)), (vec![vec![14]], vec![vec![12, 14]], vec![vec![14]]));
    }
}
