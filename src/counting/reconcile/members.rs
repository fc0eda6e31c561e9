//! Compares cached sets of edges, and pending flips, with rows. A set that drifted is deleted: it is a cache.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Reconciler,
    finding::{CheckReport, DriftKind, Finding},
};
use plaudit_catalogue::{
    EdgeKind, Entity, EntityKind,
    primitives::{Id, Offset, UserId},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{ActorEdges, MemberSet, inspect},
    sql::{
        counting::{
            edges::{self, MemberPage},
            invalidations,
        },
        people::erasure,
    },
};

const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(40);
/// Most rows that are read of one actor: more than a set holds.
const MOST: usize = 8_000;
/// Users whose keys are read in one round trip.
const ACTORS: usize = 50;

/// Result of one comparison of an actor's edges of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
enum MemberComparison {
    Compared(MemberDrift),
    /// The edges changed meanwhile.
    Busy,
}

/// Differences between an actor's edges of one kind in Redis and their rows.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct MemberDrift {
    /// Targets that are only in the set, or only in the rows.
    targets: Vec<Id>,
    /// Targets of flips that should have been retired.
    flips: Vec<Id>,
    in_set: i64,
    in_rows: i64,
}

impl MemberDrift {
    fn is_none(&self) -> bool {
        self.targets.is_empty() && self.flips.is_empty()
    }

    fn findings(&self, actor: UserId, kind: EdgeKind) -> impl Iterator<Item = Finding> {
        let finding = |what, found, expected, off: usize| Finding {
            entity: Entity::from(actor),
            what,
            counter: kind.name(),
            found: Some(found),
            expected: Some(expected),
            off: off as i64,
            repaired: false,
        };
        let set = finding(DriftKind::Members, self.in_set, self.in_rows, self.targets.len());
        let flips = finding(DriftKind::Flips, self.flips.len() as i64, 0, self.flips.len());
        [set, flips].into_iter().filter(|finding| finding.off > 0)
    }
}

impl Reconciler {
    pub(super) async fn check_members(&self, ids: &[Id]) -> StoreResult<CheckReport> {
        let mut outcome = CheckReport::default();
        for page in ids.chunks(ACTORS) {
            let actors: Vec<UserId> = page.iter().copied().map(UserId).collect();
            for (actor, kind) in inspect::with_members(&self.redis, &actors).await? {
                match self.drift(actor, kind).await? {
                    Some(drift) if drift.is_none() => {}
                    Some(drift) => outcome.findings.extend(self.mend(actor, kind, &drift).await?),
                    None => {
                        outcome.skipped.insert(actor.into());
                    }
                }
            }
        }
        Ok(outcome)
    }

    /// The drift that two comparisons agree on; `None` if the edges change each time.
    async fn drift(&self, actor: UserId, kind: EdgeKind) -> StoreResult<Option<MemberDrift>> {
        let mut suspected = None;
        for _ in 0..ATTEMPTS {
            match self.compare_members(actor, kind).await? {
                MemberComparison::Compared(drift)
                    if drift.is_none() || suspected.as_ref() == Some(&drift) =>
                {
                    return Ok(Some(drift));
                }
                MemberComparison::Compared(drift) => suspected = Some(drift),
                MemberComparison::Busy => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(None)
    }

    async fn mend(&self, actor: UserId, kind: EdgeKind, drift: &MemberDrift) -> StoreResult<Vec<Finding>> {
        let mut findings: Vec<Finding> = drift.findings(actor, kind).collect();
        if self.repairs {
            inspect::mend_members(&self.redis, actor, kind, !drift.targets.is_empty(), &drift.flips).await?;
            self.keep_repairs(&findings).await?;
            for finding in &mut findings {
                finding.repaired = true;
            }
        }
        Ok(findings)
    }

    async fn compare_members(&self, actor: UserId, kind: EdgeKind) -> StoreResult<MemberComparison> {
        let (meta, before) = inspect::read_actor_edges(&self.redis, actor, kind).await?;
        let shard = self.redis.shard_of(actor.0);
        let page = edges::member_page(&self.db, shard, kind, actor, MOST).await?;
        let (meta_after, after) = inspect::read_actor_edges(&self.redis, actor, kind).await?;
        let (Some(retired), Some(retiring)) = (meta.members_retired, meta.members_retiring) else {
            return Err(StoreError::NotRecovered);
        };
        // Rows include every flip that may be retired; all others are among the pending flips.
        if before != after || meta.generation != meta_after.generation || page.persisted < retiring {
            return Ok(MemberComparison::Busy);
        }
        let mut drift = compare(&before, &page, retired);
        if drift.targets.is_empty() {
            return Ok(MemberComparison::Compared(drift));
        }
        if invalidations::is_set_invalidated(&self.db, shard, kind, actor).await? {
            return Ok(MemberComparison::Busy);
        }
        self.forget_erased(actor, kind, &mut drift).await?;
        Ok(MemberComparison::Compared(drift))
    }

    /// Takes erased users out of the drift, actor or targets. Events that were in the log during an erasure make no
    /// row; sets keep their ids, which nobody sees, until they expire.
    async fn forget_erased(&self, actor: UserId, kind: EdgeKind, drift: &mut MemberDrift) -> StoreResult<()> {
        let is_user = kind.target() == EntityKind::User;
        let targets = drift.targets.iter().copied().filter(|_| is_user);
        let mut tx = self.db.begin().await?;
        let erased = erasure::erased_among(&mut tx, &targets.chain([actor.0]).collect::<Vec<_>>()).await?;
        drift.targets.retain(|target| !(erased.contains(&actor.0) || is_user && erased.contains(target)));
        Ok(())
    }
}

fn compare(held: &ActorEdges, page: &MemberPage, retired: Offset) -> MemberDrift {
    let flips = held.pending.iter().filter(|(_, flip)| flip.at <= retired).map(|(id, _)| *id).collect();
    let mut drift = MemberDrift { flips, ..MemberDrift::default() };
    let Some(MemberSet { targets, floor }) = &held.set else { return drift };
    let lowest_row = if page.truncated { page.targets.iter().min().map_or(0, |id| id.get()) } else { 0 };
    let from = floor.unwrap_or(0).max(lowest_row);
    let counts = |id: &&Id| id.get() >= from && !held.pending.contains_key(*id);
    let mut states = BTreeMap::<Id, (bool, bool)>::new();
    for id in targets.iter().filter(counts) {
        states.entry(*id).or_default().0 = true;
    }
    for id in page.targets.iter().filter(counts) {
        states.entry(*id).or_default().1 = true;
    }
    drift.in_set = states.values().filter(|(in_set, _)| *in_set).count() as i64;
    drift.in_rows = states.values().filter(|(_, in_rows)| *in_rows).count() as i64;
    drift.targets =
        states.into_iter().filter(|(_, (in_set, in_rows))| in_set != in_rows).map(|(id, _)| id).collect();
    drift
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_store::redis::OverlayFlip;

    fn ids(raw: &[i64]) -> Vec<Id> {
        raw.iter().map(|id| Id::try_from(*id).unwrap()).collect()
    }

    fn wrong(
        set: &[i64],
        floor: Option<i64>,
        pending: &[(i64, u64)],
        rows: &[i64],
        truncated: bool,
    ) -> MemberDrift {
        let flip = |(id, at): &(i64, u64)| {
            (Id::try_from(*id).unwrap(), OverlayFlip { is_on: true, at: Offset::new(1, *at) })
        };
        let held = ActorEdges {
            set: Some(MemberSet { targets: ids(set).into_iter().collect(), floor }),
            pending: pending.iter().map(flip).collect(),
        };
        let page = MemberPage { targets: ids(rows), truncated, persisted: Offset::new(1, 9) };
        compare(&held, &page, Offset::new(1, 5))
    }

    #[test]
    fn a_set_that_equals_the_rows_has_no_drift() {
        assert!(wrong(&[1, 2], None, &[], &[1, 2], false).is_none());
        // Targets below the floor, or below the rows that were read, are not compared.
        assert!(wrong(&[7, 8], Some(7), &[], &[1, 7, 8], false).is_none());
        assert!(wrong(&[1, 7, 8], None, &[], &[7, 8], true).is_none());
    }

    #[test]
    fn a_missing_or_extra_target_is_drift_unless_its_flip_is_pending() {
        assert_eq!(wrong(&[1, 3], None, &[], &[1, 2], false).targets, ids(&[2, 3]));
        assert!(wrong(&[1, 3], None, &[(2, 6), (3, 7)], &[1, 2], false).is_none());
    }

    #[test]
    fn a_flip_that_is_pending_although_it_is_retired_is_reported() {
        assert_eq!(wrong(&[], None, &[(2, 5), (3, 6)], &[], false).flips, ids(&[2]));
    }
}
