//! Tails of the logs: the events that Redis has folded and PostgreSQL has not persisted yet. A load adds them to the
//! totals of PostgreSQL. A process keeps what it has read, so that loads one after the other read each event once.

use std::collections::{HashMap, HashSet, VecDeque};

use tokio::sync::Mutex;

use crate::{
    StoreError, StoreResult,
    redis::{Redis, log::reading},
};
use plaudit_catalogue::{
    Counter, Counts, Entity,
    event_log::Entry,
    primitives::{Offset, ShardId},
};

/// Entries per read: it bounds how long other calls wait for Redis.
const READ_AT_ONCE: usize = 1_000;
/// Longest tail of a log that is read, in events. It takes some 100 bytes of memory for each.
const LONGEST: u64 = 2_000_000;
/// Events that are kept although the last load did not need them: another one may have read PostgreSQL before it.
const KEPT: usize = 4_000;

/// The tails of all logs.
pub struct LogTails {
    redis: Redis,
    /// By source shard.
    tails: Vec<Mutex<Tail>>,
}

/// What some entities have in the tails of all logs.
#[derive(Default, Debug)]
pub struct TailSums {
    /// Sum of the events that are folded and not persisted.
    pub sums: HashMap<Entity, Counts>,
    /// Entities with events that are persisted and not folded: their totals are ahead of Redis.
    pub ahead: HashSet<Entity>,
}

impl LogTails {
    pub fn new(redis: Redis) -> Self {
        let tails = redis.shards().all().map(|_| Mutex::default()).collect();
        Self { redis, tails }
    }

    /// Sums the events of `entities` between two positions in each log, one of PostgreSQL and one of the fold.
    /// `None` if a log lacks some of them, because it was trimmed or is being recovered: read the positions again.
    /// `epoch`: the epoch of the target shard of the entities, read with the fold's positions.
    pub async fn sums(
        &self,
        entities: &[Entity],
        persisted: &[Offset],
        folded: &[Offset],
        (target, epoch): (ShardId, u64),
    ) -> StoreResult<Option<TailSums>> {
        let mut all = TailSums::default();
        for (source, (persisted, folded)) in self.redis.shards().all().zip(persisted.iter().zip(folded)) {
            let (low, high) = (*persisted.min(folded), *persisted.max(folded));
            // Nearly always: both consumers have everything.
            if low == high {
                continue;
            }
            let mut tail = self.tails[source.index()].lock().await;
            // Before the look at what is kept: a reset says that this may be of a log that was lost.
            tail.forget_before(target, epoch);
            if !tail.reach(&self.redis, source, low, high).await? {
                return Ok(None);
            }
            for entity in entities {
                for (counter, by) in tail.between(*entity, low.number, high.number) {
                    // Either Redis is ahead, and totals lack these events; or totals are, and it is read again.
                    if persisted < folded {
                        all.sums.entry(*entity).or_default().add(counter, by);
                    } else {
                        all.ahead.insert(*entity);
                    }
                }
            }
        }
        Ok(Some(all))
    }
}

/// The events of one log after `from` and up to `to`, in one generation.
#[derive(Default)]
struct Tail {
    from: Offset,
    to: Offset,
    /// By entity, in order: number of the event, and what it adds.
    by_entity: HashMap<Entity, VecDeque<(u64, Counter, i64)>>,
    /// In order: number of the event, and an entity that it moves.
    order: VecDeque<(u64, Entity)>,
    /// The highest epoch of each target shard for which the tail was asked.
    epochs: HashMap<ShardId, u64>,
}

impl Tail {
    /// Forgets what was read before the target's counters were reset: Redis may have lost the end of the log then, and
    /// may have given its offsets to other events. Events that are read after the reset are in the present log.
    fn forget_before(&mut self, target: ShardId, epoch: u64) {
        let known = self.epochs.entry(target).or_default();
        if epoch > *known {
            *known = epoch;
            self.begin(Offset::default());
        }
    }

    /// Forgets everything; the next event to read is the one after `from`.
    fn begin(&mut self, from: Offset) {
        *self = Self { from, to: from, epochs: std::mem::take(&mut self.epochs), ..Self::default() };
    }

    /// Reads on until the tail has all events after `low` and up to `high`. Returns whether it has them.
    async fn reach(
        &mut self,
        redis: &Redis,
        source: ShardId,
        low: Offset,
        high: Offset,
    ) -> StoreResult<bool> {
        if low.generation != high.generation || high.number - low.number > LONGEST {
            return Ok(false);
        }
        // What is kept does not reach to `low`: numbers of two generations must not be mixed.
        if low.generation != self.from.generation || low < self.from || low > self.to {
            self.begin(low);
        }
        while self.to < high {
            match reading::log_range(redis, source, self.to, high, READ_AT_ONCE).await {
                Ok(entries) => entries.iter().for_each(|entry| self.push(entry)),
                Err(StoreError::LogGap { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        debug_assert!(self.from <= low && high <= self.to, "the tail has all events in between");
        // Rarely, and then much at once: dropping costs as much as what is dropped.
        if self.order.len() > KEPT + 4 * (high.number - low.number) as usize {
            self.drop_up_to(low);
        }
        Ok(true)
    }

    fn push(&mut self, entry: &Entry) {
        debug_assert!(entry.offset > self.to, "each event is added once, in the order of the log");
        let number = entry.offset.number;
        for (entity, counter, by) in entry.event.deltas() {
            self.by_entity.entry(entity).or_default().push_back((number, counter, by));
            self.order.push_back((number, entity));
        }
        self.to = entry.offset;
    }

    fn drop_up_to(&mut self, low: Offset) {
        while let Some((number, entity)) = self.order.pop_front_if(|(number, _)| *number <= low.number) {
            if let Some(events) = self.by_entity.get_mut(&entity) {
                while events.pop_front_if(|(at, ..)| *at <= number).is_some() {}
                if events.is_empty() {
                    self.by_entity.remove(&entity);
                }
            }
        }
        self.from = low;
    }

    fn between(&self, entity: Entity, low: u64, high: u64) -> impl Iterator<Item = (Counter, i64)> {
        let events = self.by_entity.get(&entity).into_iter().flatten();
        let wanted = events.skip_while(move |(at, ..)| *at <= low).take_while(move |(at, ..)| *at <= high);
        wanted.map(|(_, counter, by)| (*counter, *by))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plaudit_catalogue::{
        EdgeKind, Flip,
        event_log::Event,
        primitives::{Id, UserId},
    };

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    /// A like of one of three notes, all of one author.
    fn like((number, note): (usize, &i64)) -> Entry {
        let (actor, owner) = (UserId(id(1)), UserId(id(9)));
        let flip =
            Flip { kind: EdgeKind::NoteLike, actor, target: id(*note), owner, on: true, at: 0, by: None };
        Entry::read(Offset::new(1, number as u64 + 1), &Event::Flip(flip).to_string())
    }

    proptest! {
        /// Whatever was dropped before, the events between two positions are the log's events.
        #[test]
        fn a_tail_has_the_events_between_two_positions(
            notes in prop::collection::vec(1..=3_i64, 1..40), drop in 0..40_u64, low in 0..40_u64, high in 0..40_u64,
        ) {
            let mut tail = Tail { from: Offset::new(1, 0), to: Offset::new(1, 0), ..Tail::default() };
            notes.iter().enumerate().map(like).for_each(|entry| tail.push(&entry));
            tail.drop_up_to(Offset::new(1, drop.min(low)));
            for note in 1..=3 {
                let entity: Entity = format!("note_{note}").parse().unwrap();
                let expected = notes.iter().enumerate().map(|(i, of)| (i as u64 + 1, of));
                let expected = expected.filter(|(at, of)| **of == note && *at > low && *at <= high).count();
                prop_assert_eq!(tail.between(entity, low, high).count(), expected);
            }
            prop_assert_eq!(tail.order.len(), 2 * notes.len().saturating_sub(drop.min(low) as usize));
        }
    }
}
