//! Totals: moves them by what rows and views say, and writes the entries of inboxes under the locks of theirs.

use std::collections::{BTreeMap, BTreeSet};

use super::{mismatch::Moved, notify::Notices, plan::BatchPlan};
use plaudit_catalogue::{Counter, Counts, Entity, EntityKind, primitives::NoteId};
use plaudit_store::{
    StoreResult,
    sql::{Tx, content::notes, counting::counts},
};

/// Adds the views of present notes to `moved`; views have no rows of their own.
pub async fn count_views(tx: &mut Tx, plan: &BatchPlan<'_>, moved: &mut Moved) -> StoreResult<()> {
    if plan.views.is_empty() {
        return Ok(());
    }
    let viewed: Vec<NoteId> = plan.views.keys().copied().collect();
    let present: BTreeSet<NoteId> = notes::present_notes(tx, &viewed).await?.into_iter().collect();
    for (note, views) in &plan.views {
        if present.contains(note) {
            moved.add((*note).into(), Counter::NoteViews, *views);
        } else {
            moved.exclude((*note).into(), Counter::NoteViews, *views);
        }
    }
    Ok(())
}

/// Locks and moves the totals, in the order of the catalogue, and writes inbox entries under the locks of
/// theirs. If activity is kept, returns the new totals of the entities that have one.
pub async fn add(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    moved: &mut Moved,
    notices: &Notices<'_>,
    keeps_activity: bool,
) -> StoreResult<BTreeMap<Entity, Counts>> {
    let mut after = BTreeMap::new();
    for kind in EntityKind::ALL {
        let touched = plan.touched(*kind, &moved.totals);
        // Activity is of targets: without a flip of one the new totals need not be read.
        if keeps_activity && plan.flips.iter().any(|flip| flip.kind.target() == *kind) {
            let totals = counts::add_and_read_totals(tx, *kind, &touched).await?;
            after.extend(totals.into_iter().map(|(id, counts)| (Entity::new(*kind, id), counts)));
        } else {
            counts::add_in_order(tx, *kind, &touched).await?;
        }
        if *kind == EntityKind::Inbox {
            // Under the locks of the badges: positions of an inbox rise in the order of commits, and nobody marks it as
            // read meanwhile. Only the entries say what taking back moves.
            let taken_back = notices.write(tx).await?;
            counts::add_totals(tx, *kind, &taken_back).await?;
            moved.add_all(taken_back);
        }
    }
    Ok(after)
}
