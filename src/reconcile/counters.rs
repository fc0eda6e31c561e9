//! Compares counters in Redis with totals in PostgreSQL, although both cannot be read at the same moment.
//!
//! Redis is read before and after PostgreSQL. If the entity's change number is the same both times, nothing was
//! folded in between, and the log positions say which of its pending events PostgreSQL has. An entity for which
//! they do not is compared again, and finally skipped.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Reconciler,
    finding::{CheckReport, DriftKind, Finding},
};
use crate::{
    catalogue::{Counts, Entity, EntityKind},
    primitives::{Id, Offset, ShardId},
    store::{
        StoreResult,
        redis::{CountersHash, ShardMeta},
        sql::counts::CountsSnapshot,
    },
};

/// Comparisons of an entity that changes, or differs.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(40);

/// Result of one comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
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
                    Comparison::Agrees => {}
                    // Reported only if two comparisons agree.
                    Comparison::Differs(findings) if suspects.get(&entity) == Some(&findings) => {
                        outcome.findings.extend(findings);
                    }
                    Comparison::Differs(findings) => {
                        suspects.insert(entity, findings);
                        rest.push(entity);
                    }
                    Comparison::Busy => rest.push(entity),
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
        self.redis.invalidate_counts(&entities.into_iter().collect::<Vec<_>>()).await?;
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
    ) -> StoreResult<Vec<(Entity, Comparison)>> {
        if entities.is_empty() {
            return Ok(Vec::new());
        }
        let (metas, before) = self.redis.read_counter_hashes(entities).await?;
        let held: Vec<(Entity, CountersHash)> =
            before.into_iter().filter(|(_, held)| held.epoch.is_some()).collect();
        let entities: Vec<Entity> = held.iter().map(|(entity, _)| *entity).collect();
        let ids: Vec<Id> = entities.iter().map(|entity| entity.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let snapshot = self.db.read_totals(kind, &ids).await?;
        // Read after the totals: an invalidation is deleted only once it is applied to Redis.
        let invalidated = self.db.invalidated_among(&entities).await?;
        let (metas_after, after) = self.redis.read_counter_hashes(&entities).await?;
        let after: BTreeMap<Entity, CountersHash> = after.into_iter().collect();
        let comparison = |(entity, before): &(Entity, CountersHash)| {
            if invalidated.contains(entity) {
                return Some(Comparison::Busy);
            }
            let shard = self.redis.shard_of(entity.id);
            let snapshots = EntitySnapshots {
                entity: *entity,
                before: (metas.get(&shard)?, before),
                totals: snapshot.totals.get(&entity.id)?,
                snapshot: &snapshot,
                after: (metas_after.get(&shard)?, after.get(entity)?),
            };
            Some(snapshots.judge())
        };
        Ok(held.iter().filter_map(|held| Some((held.0, comparison(held)?))).collect())
    }
}

impl EntitySnapshots<'_> {
    pub fn judge(&self) -> Comparison {
        let ((meta, held), (meta_after, held_after)) = (self.before, self.after);
        if held.epoch != Some(meta.epoch) {
            return Comparison::Agrees; // of an earlier epoch: count as absent
        }
        let moved = meta_after.epoch != meta.epoch
            || held_after.epoch != held.epoch
            || held_after.change != held.change
            || self.snapshot.timeline != meta.timeline;
        let between = |(persisted, (retired, folded)): (&Offset, (&Offset, &Offset))| {
            retired <= persisted && persisted <= folded
        };
        let positions = meta.retired.iter().zip(&meta_after.folded);
        if moved || !self.snapshot.persisted.iter().zip(positions).all(between) {
            return Comparison::Busy;
        }
        match self.persisted_part(held) {
            Some(has_pending) => self.compare(held, has_pending),
            None => Comparison::Busy,
        }
    }

    /// Whether PostgreSQL has all pending events (`true`) or none (`false`); `None` if it has some.
    fn persisted_part(&self, held: &CountersHash) -> Option<bool> {
        let persisted =
            |source: ShardId| self.snapshot.persisted.get(source.index()).copied().unwrap_or_default();
        if held.marks.iter().all(|(source, _, last)| persisted(*source) >= *last) {
            Some(true)
        } else if held.marks.iter().all(|(source, after, _)| persisted(*source) <= *after) {
            Some(false)
        } else {
            None
        }
    }

    fn compare(&self, held: &CountersHash, has_pending: bool) -> Comparison {
        let mut findings = Vec::new();
        for (i, counter) in self.entity.kind.counters().iter().enumerate() {
            let (total, pending) = (self.totals.get(*counter), held.pending[i]);
            if let Some(shown) = held.totals[i] {
                let expected = if has_pending { total } else { total + pending };
                if shown != expected {
                    findings.push(Finding::number(
                        self.entity,
                        DriftKind::Redis,
                        counter.name(),
                        shown,
                        expected,
                    ));
                }
            }
            if held.marks.is_empty() && pending != 0 {
                findings.push(Finding::number(self.entity, DriftKind::Pending, counter.name(), pending, 0));
            }
        }
        if findings.is_empty() { Comparison::Agrees } else { Comparison::Differs(findings) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u64) -> Offset {
        Offset::new(1, number)
    }

    fn meta(folded: u64, retired: u64) -> ShardMeta {
        ShardMeta {
            epoch: 3,
            change: 9,
            timeline: "1".into(),
            redis_run_id: None,
            generation: Some(1),
            folded: vec![at(folded)],
            retired: vec![at(retired)],
            members_retired: None,
        }
    }

    /// A note with `likes`, of which `pending` are pending between two offsets.
    fn held(likes: i64, pending: i64, marks: Option<(u64, u64)>) -> CountersHash {
        let none = |first| [vec![first], vec![0; 5]].concat();
        CountersHash {
            epoch: Some(3),
            change: 7,
            totals: none(likes).into_iter().map(Some).collect(),
            pending: none(pending),
            marks: marks.map(|(after, last)| (ShardId(0), at(after), at(last))).into_iter().collect(),
        }
    }

    /// PostgreSQL has `total` likes and the log up to `persisted`; folded to 20, retired to 10.
    fn judge(held: &CountersHash, after: &CountersHash, total: i64, persisted: u64) -> Comparison {
        let entity: Entity = "note:5".parse().unwrap();
        let totals = Counts::from_values([total]);
        let snapshot = CountsSnapshot {
            totals: BTreeMap::from([(entity.id, totals)]),
            persisted: vec![at(persisted)],
            timeline: "1".into(),
        };
        let meta = meta(20, 10);
        let snapshots = EntitySnapshots {
            entity,
            before: (&meta, held),
            totals: &totals,
            snapshot: &snapshot,
            after: (&meta, after),
        };
        snapshots.judge()
    }

    fn alone(held: &CountersHash, total: i64, persisted: u64) -> Comparison {
        judge(held, held, total, persisted)
    }

    #[test]
    fn without_anything_pending_the_counter_is_the_total() {
        assert_eq!(alone(&held(4, 0, None), 4, 15), Comparison::Agrees);
        let Comparison::Differs(findings) = alone(&held(7, 0, None), 4, 15) else { panic!() };
        assert_eq!((findings[0].found, findings[0].expected, findings[0].off), (Some(7), Some(4), 3));
    }

    #[test]
    fn pending_events_are_expected_in_the_total_once_persisted() {
        let pending = held(6, 2, Some((12, 18)));
        assert_eq!(alone(&pending, 4, 12), Comparison::Agrees);
        assert_eq!(alone(&pending, 6, 18), Comparison::Agrees);
        assert_eq!(alone(&pending, 5, 15), Comparison::Busy);
        assert!(matches!(alone(&pending, 4, 18), Comparison::Differs(_)));
        assert!(matches!(alone(&pending, 6, 12), Comparison::Differs(_)));
    }

    #[test]
    fn an_entity_that_changes_meanwhile_is_busy_and_not_drifted() {
        let (before, mut after) = (held(7, 0, None), held(8, 0, None));
        after.change = 8;
        assert_eq!(judge(&before, &after, 4, 15), Comparison::Busy);
        // PostgreSQL is behind the retired position, or ahead of the folded one.
        assert_eq!(alone(&before, 4, 9), Comparison::Busy);
        assert_eq!(alone(&before, 4, 21), Comparison::Busy);
    }

    #[test]
    fn a_pending_count_without_pending_events_is_reported() {
        let Comparison::Differs(findings) = alone(&held(4, 1, None), 4, 15) else { panic!() };
        assert_eq!(findings[0].what, DriftKind::Pending);
    }

    #[test]
    fn counters_of_a_former_epoch_are_ignored() {
        let mut old = held(99, 0, None);
        old.epoch = Some(2);
        assert_eq!(alone(&old, 4, 15), Comparison::Agrees);
    }
}
