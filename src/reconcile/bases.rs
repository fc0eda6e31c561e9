//! Counters in Redis against totals in PostgreSQL, which are never of quite the same moment.
//!
//! Redis is read before PostgreSQL and once more after it. If the entity's last change is the same both times,
//! nothing of it was folded in between; then positions tell which of its pending events PostgreSQL has. What
//! cannot be told is tried again, and skipped in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    Reconciler,
    finding::{Finding, Outcome, What},
};
use crate::{
    catalogue::{Counts, Entity, EntityKind},
    primitives::{Id, Offset, ShardId},
    store::{
        StoreResult,
        redis::{CountersHash, ShardMeta},
        sql::CountsSnapshot,
    },
};

/// Looks at an entity that moves, or differs.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(40);

/// What one look tells of an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// What Redis holds is right, or it holds nothing.
    Agrees,
    Differs(Vec<Finding>),
    /// It moved meanwhile.
    Busy,
}

/// One entity on both sides.
pub(super) struct Sides<'a> {
    pub entity: Entity,
    pub before: (&'a ShardMeta, &'a CountersHash),
    pub totals: &'a Counts,
    pub snapshot: &'a CountsSnapshot,
    pub after: (&'a ShardMeta, &'a CountersHash),
}

impl Reconciler {
    /// Of counters that differ the base is dropped, then they are loaded anew.
    pub(super) async fn check_bases(&self, kind: EntityKind, entities: &[Entity]) -> StoreResult<Outcome> {
        let mut outcome = Outcome::default();
        let mut rest = entities.to_vec();
        let mut suspects = BTreeMap::<Entity, Vec<Finding>>::new();
        for _ in 0..TRIES {
            let looks = self.look(kind, &rest).await?;
            rest.clear();
            for (entity, look) in looks {
                match look {
                    Look::Agrees => {}
                    // Only what is seen twice is believed.
                    Look::Differs(findings) if suspects.get(&entity) == Some(&findings) => {
                        outcome.findings.extend(findings);
                    }
                    Look::Differs(findings) => {
                        suspects.insert(entity, findings);
                        rest.push(entity);
                    }
                    Look::Busy => rest.push(entity),
                }
            }
            if rest.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        outcome.skipped = rest.into_iter().collect();
        if self.repairs {
            self.drop_found_bases(&mut outcome.findings).await?;
        }
        Ok(outcome)
    }

    async fn drop_found_bases(&self, findings: &mut [Finding]) -> StoreResult<()> {
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

    async fn look(&self, kind: EntityKind, entities: &[Entity]) -> StoreResult<Vec<(Entity, Look)>> {
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
        // After the totals: a line goes only when its correction has reached Redis.
        let stale = self.db.invalidated_among(&entities).await?;
        let (metas_after, after) = self.redis.read_counter_hashes(&entities).await?;
        let after: BTreeMap<Entity, CountersHash> = after.into_iter().collect();
        let look = |(entity, before): &(Entity, CountersHash)| {
            if stale.contains(entity) {
                return Some(Look::Busy);
            }
            let shard = self.redis.shard_of(entity.id);
            let sides = Sides {
                entity: *entity,
                before: (metas.get(&shard)?, before),
                totals: snapshot.totals.get(&entity.id)?,
                snapshot: &snapshot,
                after: (metas_after.get(&shard)?, after.get(entity)?),
            };
            Some(sides.judge())
        };
        Ok(held.iter().filter_map(|held| Some((held.0, look(held)?))).collect())
    }
}

impl Sides<'_> {
    pub fn judge(&self) -> Look {
        let ((meta, held), (meta_after, held_after)) = (self.before, self.after);
        if held.epoch != Some(meta.epoch) {
            return Look::Agrees; // of a former life: counts as absent
        }
        let moved = meta_after.epoch != meta.epoch
            || held_after.epoch != held.epoch
            || held_after.change != held.change
            || self.snapshot.timeline != meta.timeline;
        let between = |(persisted, (cleaned, folded)): (&Offset, (&Offset, &Offset))| {
            cleaned <= persisted && persisted <= folded
        };
        let positions = meta.retired.iter().zip(&meta_after.folded);
        if moved || !self.snapshot.persisted.iter().zip(positions).all(between) {
            return Look::Busy;
        }
        match self.persisted_part(held) {
            Some(has_pending) => self.compare(held, has_pending),
            None => Look::Busy,
        }
    }

    /// Whether PostgreSQL has all that is pending, or nothing of it; `None` when it has some.
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

    fn compare(&self, held: &CountersHash, has_pending: bool) -> Look {
        let mut findings = Vec::new();
        for (i, counter) in self.entity.kind.counters().iter().enumerate() {
            let (total, pending) = (self.totals.get(*counter), held.pending[i]);
            if let Some(shown) = held.totals[i] {
                let expected = if has_pending { total } else { total + pending };
                if shown != expected {
                    findings.push(Finding::number(self.entity, What::Redis, counter.name(), shown, expected));
                }
            }
            if held.marks.is_empty() && pending != 0 {
                findings.push(Finding::number(self.entity, What::Pending, counter.name(), pending, 0));
            }
        }
        if findings.is_empty() { Look::Agrees } else { Look::Differs(findings) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u64) -> Offset {
        Offset::new(1, number)
    }

    fn meta(folded: u64, cleaned: u64) -> ShardMeta {
        ShardMeta {
            epoch: 3,
            change: 9,
            timeline: "1".into(),
            redis_run_id: None,
            generation: Some(1),
            folded: vec![at(folded)],
            retired: vec![at(cleaned)],
            folded_before_reset: vec![at(0)],
            members_retired: None,
            hot_since: None,
        }
    }

    /// A note with this many likes, of which so many are pending between two offsets.
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

    /// PostgreSQL has `total` likes and the log up to `persisted`; folded to 20, cleaned to 10.
    fn judge(held: &CountersHash, after: &CountersHash, total: i64, persisted: u64) -> Look {
        let entity: Entity = "note:5".parse().unwrap();
        let totals = Counts::from_values([total]);
        let snapshot = CountsSnapshot {
            totals: BTreeMap::from([(entity.id, totals)]),
            persisted: vec![at(persisted)],
            timeline: "1".into(),
        };
        let meta = meta(20, 10);
        let sides = Sides {
            entity,
            before: (&meta, held),
            totals: &totals,
            snapshot: &snapshot,
            after: (&meta, after),
        };
        sides.judge()
    }

    fn alone(held: &CountersHash, total: i64, persisted: u64) -> Look {
        judge(held, held, total, persisted)
    }

    #[test]
    fn without_anything_pending_the_counter_is_the_total() {
        assert_eq!(alone(&held(4, 0, None), 4, 15), Look::Agrees);
        let Look::Differs(findings) = alone(&held(7, 0, None), 4, 15) else { panic!() };
        assert_eq!((findings[0].found, findings[0].expected, findings[0].off), (Some(7), Some(4), 3));
    }

    #[test]
    fn what_is_pending_counts_as_far_as_postgresql_has_it() {
        let pending = held(6, 2, Some((12, 18)));
        assert_eq!(alone(&pending, 4, 12), Look::Agrees);
        assert_eq!(alone(&pending, 6, 18), Look::Agrees);
        assert_eq!(alone(&pending, 5, 15), Look::Busy);
        assert!(matches!(alone(&pending, 4, 18), Look::Differs(_)));
        assert!(matches!(alone(&pending, 6, 12), Look::Differs(_)));
    }

    #[test]
    fn what_moves_meanwhile_is_busy_and_not_wrong() {
        let (before, mut after) = (held(7, 0, None), held(8, 0, None));
        after.change = 8;
        assert_eq!(judge(&before, &after, 4, 15), Look::Busy);
        // PostgreSQL is behind what is cleaned, or ahead of what is folded.
        assert_eq!(alone(&before, 4, 9), Look::Busy);
        assert_eq!(alone(&before, 4, 21), Look::Busy);
    }

    #[test]
    fn a_pending_part_without_pending_events_is_found() {
        let Look::Differs(findings) = alone(&held(4, 1, None), 4, 15) else { panic!() };
        assert_eq!(findings[0].what, What::Pending);
    }

    #[test]
    fn counters_of_a_former_life_do_not_count() {
        let mut old = held(99, 0, None);
        old.epoch = Some(2);
        assert_eq!(alone(&old, 4, 15), Look::Agrees);
    }
}
