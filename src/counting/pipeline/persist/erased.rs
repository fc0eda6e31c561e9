//! Erasures: flips by and of erased users change no row, and totals exclude them.

use std::{collections::BTreeSet, iter};

use super::{
    mismatch::Moved,
    plan::{BatchPlan, ChangedEdges, key, keys_of},
};
use plaudit_catalogue::{EntityKind, Flip, primitives::Id};
use plaudit_store::{
    StoreResult,
    sql::{Tx, people::erasure},
};

/// Excludes the flips by and of erased users that changed no row. Returns these users.
pub async fn exclude(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    changed: &ChangedEdges,
    moved: &mut Moved,
) -> StoreResult<BTreeSet<Id>> {
    let users: BTreeSet<Id> = plan.flips.iter().flat_map(|flip| users_of(flip)).collect();
    let users: Vec<Id> = users.into_iter().collect();
    // An erasure takes the removal lock, so nobody else is erased before the commit.
    let erased: BTreeSet<Id> = erasure::erased_among(tx, &users).await?.into_iter().collect();
    let changed = keys_of(changed);
    let has_no_row = |flip: &&&Flip| is_of(&erased, flip) && !changed.contains(&key(flip));
    for (entity, counter, delta) in plan.flips.iter().filter(has_no_row).flat_map(|flip| flip.deltas()) {
        moved.exclude(entity, counter, delta);
    }
    Ok(erased)
}

/// Whether the erasure of one of these users takes the edge with it.
pub fn is_of(erased: &BTreeSet<Id>, flip: &Flip) -> bool {
    users_of(flip).any(|user| erased.contains(&user))
}

/// The users whose erasure takes the edge with it.
fn users_of(flip: &Flip) -> impl Iterator<Item = Id> {
    let target = (flip.kind.target() == EntityKind::User).then_some(flip.target);
    iter::once(flip.actor.0).chain(target)
}
