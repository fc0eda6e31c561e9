//! The target shards of one source shard's log: where each one stands, and what it gets next.

use crate::{
    catalogue::{Flip, UnixMillis},
    event_log::{Entry, Heat, Moves, heat_of, sum},
    primitives::{Offset, ShardCount, ShardId},
    store::{
        StoreError, StoreResult,
        redis::{Applied, Batch, Redis, ShardMeta},
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
    /// [`StoreError::Unverified`] while a target has not begun.
    pub async fn read(
        redis: &Redis,
        source: ShardId,
        positions: impl Fn(&ShardMeta) -> &[Offset],
    ) -> StoreResult<Self> {
        let shards = redis.shards();
        let mut all = Vec::with_capacity(shards.get());
        for shard in shards.all() {
            let meta = redis.shard_meta(shard).await?.ok_or(StoreError::Unverified)?;
            all.push(Target {
                shard,
                epoch: meta.epoch,
                at: positions(&meta)[source.index()],
                heated: meta.shown[source.index()],
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
                let moves: Moves = sum(news)
                    .into_iter()
                    .filter(|(entity, _)| self.shards.shard_of(entity.id) == target.shard)
                    .collect();
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
    pub fn advance(&mut self, batches: &[Batch], applied: &[Applied]) -> bool {
        for (batch, outcome) in batches.iter().zip(applied) {
            if *outcome == Applied::Done
                && let Some(target) = self.all.iter_mut().find(|target| target.shard == batch.target)
            {
                target.at = batch.to;
            }
        }
        applied.iter().all(|outcome| *outcome == Applied::Done)
    }
}
