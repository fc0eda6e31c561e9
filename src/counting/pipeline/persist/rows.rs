//! Rows of edges: switches them, and settles those that did not change at first.

use std::collections::BTreeSet;

use super::{
    erased,
    imported::{self, Edges, edges_of},
    mismatch::Moved,
    notify::Notices,
    plan::{BatchPlan, ChangedEdges},
};
use plaudit_catalogue::{EdgeKind, Flip, primitives::Id};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{
        Tx,
        counting::edges::{self, ChangedEdge},
        inbox::notices,
    },
};

/// What the rows of a batch changed.
pub struct SwitchedRows<'a> {
    /// How the changed rows move totals.
    pub moved: Moved,
    pub notices: Notices<'a>,
    /// Erased users among those whose events are in the batch. Their events change no row.
    pub erased: BTreeSet<Id>,
    pub changed: Box<ChangedEdges>,
}

/// Writes the rows.
pub async fn switch<'a>(tx: &mut Tx, plan: &BatchPlan<'a>) -> StoreResult<SwitchedRows<'a>> {
    // Before any row is locked, since rows keep it: see `notify`.
    let told = if plan.may_tell() { notices::next_inbox_position(tx).await? } else { 0 };
    let (mut moved, mut notices) = (Moved::default(), Notices::at(told));
    let (mut changed, mut is_unusual) = (Vec::with_capacity(EdgeKind::ALL.len()), false);
    // An edge is of one shard, so no other batch waits for these rows. Totals, which are shared, are locked later.
    for kind in EdgeKind::ALL {
        let (on, off) = (plan.rows(*kind, true), plan.rows(*kind, false));
        let mut rows = edges::switch_on(tx, *kind, &on, told).await?;
        rows.extend(edges::switch_off(tx, *kind, &off).await?);
        let mut earlier = Edges::new();
        // Nearly always each row changes, and nothing more is asked.
        if rows.len() < on.len() + off.len() {
            is_unusual = true;
            let settled = settle_unchanged(tx, *kind, &[on, off].concat(), &rows).await?;
            rows.extend(settled.late);
            earlier = settled.earlier;
        }
        for row in &rows {
            let flip = plan
                .flip_of(*kind, row)
                .ok_or(StoreError::Broken("a batch changes rows of its edges only"))?;
            moved.add_edge(flip, row);
            if let Some((inbox, badge, by)) = notices.add(flip, row) {
                moved.add(inbox, badge, by);
            }
        }
        imported::explain(tx, plan, *kind, &rows, &earlier, &mut moved).await?;
        changed.push((*kind, rows));
    }
    // Events were read again after a loss, an edge was switched twice, an import wrote a row, or a user was erased.
    let mut erased = BTreeSet::new();
    if is_unusual {
        erased = erased::exclude(tx, plan, &changed, &mut moved).await?;
    }
    Ok(SwitchedRows { moved, notices, erased, changed: changed.into() })
}

/// What became of the edges of a kind whose rows did not change at first.
struct SettledEdges {
    /// Rows that were switched off after all.
    late: Vec<ChangedEdge>,
    /// Edges whose rows were as their flips say, from an earlier time.
    earlier: Edges,
}

/// Settles the edges of a kind of which some rows did not change: rows that are as their flips say, from an earlier
/// time, get the flips' times.
async fn settle_unchanged(
    tx: &mut Tx,
    kind: EdgeKind,
    flips: &[&Flip],
    changed: &[ChangedEdge],
) -> StoreResult<SettledEdges> {
    let changed = edges_of(changed);
    let is_unchanged = |flip: &&Flip| !changed.contains(&(flip.actor, flip.target));
    let unchanged: Vec<&Flip> = flips.iter().copied().filter(is_unchanged).collect();
    // Lists are in the order of these times.
    let earlier = edges::keep_later_times(tx, kind, &unchanged).await?;
    let off: Vec<&Flip> = unchanged.into_iter().filter(|flip| !flip.on).collect();
    // An edge that is off gets a row, too, so that an import that comes later finds the time.
    edges::record_off(tx, kind, &off).await?;
    // A row that an import was adding is seen only now: `record_off` has waited for it.
    let late = edges::switch_off(tx, kind, &off).await?;
    Ok(SettledEdges { late, earlier })
}
