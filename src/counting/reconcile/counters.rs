//! Compares counters in Redis with totals in PostgreSQL, although both cannot be read at the same moment.
//!
//! Redis is read before and after PostgreSQL. If the entity's change number is the same both times, nothing of it was
//! folded in between. The logs then have the events between PostgreSQL's offsets and the fold's. An entity that
//! changes, or has events that are persisted but not folded, is compared again, and finally skipped.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Reconciler,
    finding::{CheckReport, DriftKind, Finding},
};
use plaudit_catalogue::{
    Counts, Entity, EntityKind,
    primitives::{Id, ShardId},
};
use plaudit_store::{
    StoreResult,
    redis::{Copies, CountersHash, ShardMeta, TailSums, counts::counters, inspect},
    sql::counting::{
        counts::{self, CountsSnapshot},
        invalidations,
    },
};

/// Comparisons of an entity that changes, or differs.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(40);

/// Result of one comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CounterComparison {
    /// The counters in Redis are right, or not loaded.
    Agrees,
    Differs(Vec<Finding>),
    /// It changed meanwhile.
    Busy,
}

/// The counters of one entity in Redis and its totals in PostgreSQL.
pub(super) struct EntitySnapshots<'a> {
    pub entity: Entity,
    pub before: (&'a ShardMeta, &'a CountersHash),
    pub totals: &'a Counts,
    pub snapshot: &'a CountsSnapshot,
    pub after: (&'a ShardMeta, &'a CountersHash),
    /// Events between PostgreSQL's offsets and the offsets of `after`; `None` if a log lacks some of them.
    pub tail: Option<&'a TailSums>,
}

impl Reconciler {
    /// Counters that differ are invalidated, so that the next read loads them.
    pub(super) async fn check_counters(
        &self,
        kind: EntityKind,
        entities: &[Entity],
    ) -> StoreResult<CheckReport> {
        let mut outcome = CheckReport::default();
        let mut rest = entities.to_vec();
        let mut suspects = BTreeMap::<Entity, Vec<Finding>>::new();
        for _ in 0..ATTEMPTS {
            let comparisons = self.compare_page(kind, &rest).await?;
            rest.clear();
            for (entity, comparison) in comparisons {
                match comparison {
                    CounterComparison::Agrees => {}
                    // Reported only if two comparisons agree.
                    CounterComparison::Differs(findings) if suspects.get(&entity) == Some(&findings) => {
                        outcome.findings.extend(findings);
                    }
                    CounterComparison::Differs(findings) => {
                        suspects.insert(entity, findings);
                        rest.push(entity);
                    }
                    CounterComparison::Busy => rest.push(entity),
                }
            }
            if rest.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        outcome.skipped = rest.into_iter().collect();
        if self.repairs {
            self.invalidate_drifted(&mut outcome.findings).await?;
        }
        Ok(outcome)
    }

    async fn invalidate_drifted(&self, findings: &mut [Finding]) -> StoreResult<()> {
        if findings.is_empty() {
            return Ok(());
        }
        let entities: BTreeSet<Entity> = findings.iter().map(|finding| finding.entity).collect();
        let entities: Vec<Entity> = entities.into_iter().collect();
        counters::invalidate(&self.redis, &entities, Copies::Counts).await?;
        self.keep_repairs(findings).await?;
        for finding in findings {
            finding.repaired = true;
        }
        Ok(())
    }

    async fn compare_page(
        &self,
        kind: EntityKind,
        entities: &[Entity],
    ) -> StoreResult<Vec<(Entity, CounterComparison)>> {
        if entities.is_empty() {
            return Ok(Vec::new());
        }
        let (metas, before) = inspect::read_counter_hashes(&self.redis, entities).await?;
        let held: Vec<(Entity, CountersHash)> =
            before.into_iter().filter(|(_, held)| held.epoch.is_some()).collect();
        let entities: Vec<Entity> = held.iter().map(|(entity, _)| *entity).collect();
        let ids: Vec<Id> = entities.iter().map(|entity| entity.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let snapshot = counts::read_totals(&self.db, kind, &ids).await?;
        // Read after the totals: an invalidation is deleted only once it is applied to Redis.
        let invalidated = invalidations::invalidated_among(&self.db, &entities).await?;
        let (metas_after, after) = inspect::read_counter_hashes(&self.redis, &entities).await?;
        let after: BTreeMap<Entity, CountersHash> = after.into_iter().collect();
        let mut tails = BTreeMap::<ShardId, Option<TailSums>>::new();
        for (shard, meta) in &metas_after {
            tails.insert(
                *shard,
                self.tails.sums(&entities, &snapshot.persisted, &meta.folded, (*shard, meta.epoch)).await?,
            );
        }
        let comparison = |(entity, before): &(Entity, CountersHash)| {
            if invalidated.contains(entity) {
                return Some(CounterComparison::Busy);
            }
            let shard = self.redis.shard_of(entity.id);
            let snapshots = EntitySnapshots {
                entity: *entity,
                before: (metas.get(&shard)?, before),
                totals: snapshot.totals.get(&entity.id)?,
                snapshot: &snapshot,
                after: (metas_after.get(&shard)?, after.get(entity)?),
                tail: tails.get(&shard)?.as_ref(),
            };
            Some(snapshots.judge())
        };
        Ok(held.iter().filter_map(|held| Some((held.0, comparison(held)?))).collect())
    }
}

impl EntitySnapshots<'_> {
    pub fn judge(&self) -> CounterComparison {
        let ((meta, held), (meta_after, held_after)) = (self.before, self.after);
        if held.epoch != Some(meta.epoch) || held.is_loading {
            return CounterComparison::Agrees; // counts as absent
        }
        let moved = meta_after.epoch != meta.epoch
            || held_after.epoch != held.epoch
            || held_after.change != held.change
            || self.snapshot.timeline != meta.timeline;
        match self.tail {
            Some(tail) if !moved && !tail.ahead.contains(&self.entity) => self.compare(held, tail),
            _ => CounterComparison::Busy,
        }
    }

    fn compare(&self, held: &CountersHash, tail: &TailSums) -> CounterComparison {
        let (entity, tail) = (self.entity, tail.sums.get(&self.entity).copied().unwrap_or_default());
        let mut findings = Vec::new();
        for (counter, shown) in entity.kind.counters().iter().zip(&held.totals) {
            let expected = self.totals.get(*counter) + tail.get(*counter);
            if let Some(shown) = *shown
                && shown != expected
            {
                findings.push(Finding::number(entity, DriftKind::Redis, counter.name(), shown, expected));
            }
        }
        if findings.is_empty() { CounterComparison::Agrees } else { CounterComparison::Differs(findings) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::{Counter, primitives::Offset};

    fn meta() -> ShardMeta {
        ShardMeta {
            epoch: 3,
            change: 9,
            timeline: "1".into(),
            redis_run_id: None,
            replication_id: None,
            generation: Some(1),
            folded: vec![Offset::new(1, 20)],
            members_retired: None,
            members_retiring: None,
        }
    }

    fn note() -> Entity {
        "note_5".parse().unwrap()
    }

    fn held(likes: i64) -> CountersHash {
        let totals = [vec![Some(likes)], vec![Some(0); 5]].concat();
        CountersHash { epoch: Some(3), change: 7, is_loading: false, totals }
    }

    /// A tail in which the note has so many likes.
    fn tail(likes: i64) -> TailSums {
        let mut tail = TailSums::default();
        tail.sums.entry(note()).or_default().add(Counter::NoteLikes, likes);
        tail
    }

    /// Redis has `held` and then `after`, PostgreSQL has `total` likes.
    fn judge(
        held: &CountersHash,
        after: &CountersHash,
        total: i64,
        tail: Option<&TailSums>,
    ) -> CounterComparison {
        let (entity, meta, totals) = (note(), meta(), Counts::from_values([total]));
        let snapshot = CountsSnapshot {
            totals: BTreeMap::from([(entity.id, totals)]),
            persisted: vec![Offset::new(1, 15)],
            timeline: "1".into(),
        };
        let (before, after) = ((&meta, held), (&meta, after));
        EntitySnapshots { entity, before, totals: &totals, snapshot: &snapshot, after, tail }.judge()
    }

    fn alone(held: &CountersHash, total: i64, tail: &TailSums) -> CounterComparison {
        judge(held, held, total, Some(tail))
    }

    #[test]
    fn a_counter_is_the_total_and_the_events_after_it() {
        assert_eq!(alone(&held(4), 4, &TailSums::default()), CounterComparison::Agrees);
        assert_eq!(alone(&held(6), 4, &tail(2)), CounterComparison::Agrees);
        let CounterComparison::Differs(findings) = alone(&held(7), 4, &tail(2)) else { panic!() };
        assert_eq!((findings[0].found, findings[0].expected, findings[0].off), (Some(7), Some(6), 1));
    }

    #[test]
    fn an_entity_that_changes_meanwhile_is_busy_and_not_drifted() {
        let (before, mut after) = (held(7), held(8));
        after.change = 8;
        assert_eq!(judge(&before, &after, 4, Some(&tail(0))), CounterComparison::Busy);
    }

    #[test]
    fn an_entity_whose_events_are_not_all_known_is_busy() {
        let mut ahead = TailSums::default();
        ahead.ahead.insert(note());
        assert_eq!(alone(&held(7), 8, &ahead), CounterComparison::Busy);
        assert_eq!(judge(&held(7), &held(7), 8, None), CounterComparison::Busy);
    }

    #[test]
    fn counters_of_an_earlier_epoch_or_of_a_load_are_ignored() {
        let (mut old, mut loading) = (held(99), held(1));
        old.epoch = Some(2);
        loading.is_loading = true;
        for counters in [old, loading] {
            assert_eq!(alone(&counters, 4, &tail(0)), CounterComparison::Agrees);
        }
    }
}
