//! Cached sets of edges, and pending flips, against rows. Sets are only caches: one that is wrong is dropped.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Reconciler,
    finding::{Finding, Outcome, What},
};
use crate::{
    catalogue::{EdgeKind, Entity},
    primitives::{Id, Offset, UserId},
    store::{
        StoreError, StoreResult,
        redis::{ActorEdges, MemberSet},
        sql::MemberPage,
    },
};

const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(40);
/// Rows that are read of one actor: more than a set ever has.
const MOST: usize = 8_000;
/// Users whose keys are asked for in one round trip.
const ACTORS: usize = 50;

/// What one look tells of an actor's edges of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Look {
    Told(Wrongs),
    /// They moved meanwhile.
    Busy,
}

/// What is wrong with an actor's edges of one kind in Redis.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Wrongs {
    /// Targets that are in the set or in the rows, but not in both.
    targets: Vec<Id>,
    /// Targets of flips that should have been cleaned.
    flips: Vec<Id>,
    in_set: i64,
    in_rows: i64,
}

impl Wrongs {
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
        let set = finding(What::Members, self.in_set, self.in_rows, self.targets.len());
        let flips = finding(What::Flips, self.flips.len() as i64, 0, self.flips.len());
        [set, flips].into_iter().filter(|finding| finding.off > 0)
    }
}

impl Reconciler {
    pub(super) async fn check_members(&self, ids: &[Id]) -> StoreResult<Outcome> {
        let mut outcome = Outcome::default();
        for page in ids.chunks(ACTORS) {
            let actors: Vec<UserId> = page.iter().copied().map(UserId).collect();
            for (actor, kind) in self.redis.with_members(&actors).await? {
                match self.wrongs(actor, kind).await? {
                    Some(wrongs) if wrongs.is_none() => {}
                    Some(wrongs) => outcome.findings.extend(self.mend(actor, kind, &wrongs).await?),
                    None => {
                        outcome.skipped.insert(actor.into());
                    }
                }
            }
        }
        Ok(outcome)
    }

    /// What is wrong, as two looks have seen it; `None` when it moves each time.
    async fn wrongs(&self, actor: UserId, kind: EdgeKind) -> StoreResult<Option<Wrongs>> {
        let mut suspected = None;
        for _ in 0..TRIES {
            match self.look_at_members(actor, kind).await? {
                Look::Told(wrongs) if wrongs.is_none() || suspected.as_ref() == Some(&wrongs) => {
                    return Ok(Some(wrongs));
                }
                Look::Told(wrongs) => suspected = Some(wrongs),
                Look::Busy => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(None)
    }

    async fn mend(&self, actor: UserId, kind: EdgeKind, wrongs: &Wrongs) -> StoreResult<Vec<Finding>> {
        let mut findings: Vec<Finding> = wrongs.findings(actor, kind).collect();
        if self.repairs {
            self.redis.mend_members(actor, kind, !wrongs.targets.is_empty(), &wrongs.flips).await?;
            self.keep_repairs(&findings).await?;
            for finding in &mut findings {
                finding.repaired = true;
            }
        }
        Ok(findings)
    }

    async fn look_at_members(&self, actor: UserId, kind: EdgeKind) -> StoreResult<Look> {
        let (meta, before) = self.redis.read_actor_edges(actor, kind).await?;
        let shard = self.redis.shard_of(actor.0);
        let page = self.db.member_page(shard, kind, actor, MOST).await?;
        let (meta_after, after) = self.redis.read_actor_edges(actor, kind).await?;
        let members_retired = meta.members_retired.ok_or(StoreError::NotRecovered)?;
        let cleaned = members_retired.max(meta.retired[shard.index()]);
        // The rows know whatever is cleaned, and what is not cleaned stands among the pending flips.
        if before != after || meta.generation != meta_after.generation || page.persisted < cleaned {
            return Ok(Look::Busy);
        }
        Ok(Look::Told(compare(&before, &page, members_retired)))
    }
}

fn compare(held: &ActorEdges, page: &MemberPage, cleaned: Offset) -> Wrongs {
    let flips = held.pending.iter().filter(|(_, flip)| flip.at <= cleaned).map(|(id, _)| *id).collect();
    let mut wrongs = Wrongs { flips, ..Wrongs::default() };
    let Some(MemberSet { targets, floor }) = &held.set else { return wrongs };
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
    wrongs.in_set = states.values().filter(|(in_set, _)| *in_set).count() as i64;
    wrongs.in_rows = states.values().filter(|(_, in_rows)| *in_rows).count() as i64;
    wrongs.targets =
        states.into_iter().filter(|(_, (in_set, in_rows))| in_set != in_rows).map(|(id, _)| id).collect();
    wrongs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::redis::OverlayFlip;

    fn ids(raw: &[i64]) -> Vec<Id> {
        raw.iter().map(|id| Id::try_from(*id).unwrap()).collect()
    }

    fn wrong(
        set: &[i64],
        floor: Option<i64>,
        pending: &[(i64, u64)],
        rows: &[i64],
        truncated: bool,
    ) -> Wrongs {
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
    fn a_set_that_has_what_the_rows_have_is_right() {
        assert!(wrong(&[1, 2], None, &[], &[1, 2], false).is_none());
        // Below the floor, or below what was read of the rows, nothing is known.
        assert!(wrong(&[7, 8], Some(7), &[], &[1, 7, 8], false).is_none());
        assert!(wrong(&[1, 7, 8], None, &[], &[7, 8], true).is_none());
    }

    #[test]
    fn a_target_that_is_missing_or_too_much_is_wrong_unless_its_flip_is_pending() {
        assert_eq!(wrong(&[1, 3], None, &[], &[1, 2], false).targets, ids(&[2, 3]));
        assert!(wrong(&[1, 3], None, &[(2, 6), (3, 7)], &[1, 2], false).is_none());
    }

    #[test]
    fn a_flip_that_is_still_pending_although_it_is_cleaned_is_found() {
        assert_eq!(wrong(&[], None, &[(2, 5), (3, 6)], &[], false).flips, ids(&[2]));
    }
}
