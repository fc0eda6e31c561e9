//! Activity: a row for each flip, with the total of its target after it.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::BatchPlan;
use plaudit_catalogue::{Counts, Entity, primitives::Id};
use plaudit_store::{
    StoreResult,
    sql::{Tx, counting::activity},
};

/// Adds the flips of a batch. `after`: the totals of the targets, whose locks this transaction holds.
pub async fn add(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    after: &BTreeMap<Entity, Counts>,
    erased: &BTreeSet<Id>,
) -> StoreResult<()> {
    let mut steps = plan.activity(after);
    // What an erased user did keeps its place in the sums of others, without a name.
    for step in steps.iter_mut().filter(|step| erased.contains(&step.flip.actor.0)) {
        step.actor = 0;
    }
    activity::add_activity(tx, &mut steps).await
}
