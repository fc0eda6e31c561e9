//! Differences between log and rows that an import explains. An import may write the row of an edge before flips of
//! that edge are persisted; then the row moves totals otherwise than the flips say.

use std::collections::{BTreeMap, BTreeSet};

use super::{mismatch::Moved, plan::BatchPlan};
use plaudit_catalogue::{
    Counter, EdgeKind, Entity,
    primitives::{Id, UserId},
};
use plaudit_store::{
    StoreResult,
    sql::{Tx, counting::edges::ChangedEdge, import::runs},
};

/// Actor and target of edges of one kind.
pub type Edges = BTreeSet<(UserId, Id)>;

pub fn edges_of(rows: &[ChangedEdge]) -> Edges {
    rows.iter().map(|row| (row.actor, row.target)).collect()
}

/// Adds the differences of `kind` to `moved`, if anything was ever imported. `changed`: the rows that changed;
/// `earlier`: the edges whose rows already were as their flips say, with an earlier time.
pub async fn explain(
    tx: &mut Tx,
    plan: &BatchPlan<'_>,
    kind: EdgeKind,
    changed: &[ChangedEdge],
    earlier: &Edges,
    moved: &mut Moved,
) -> StoreResult<()> {
    // Nearly every batch is plain, and asks nothing.
    if plan.is_plain(kind, changed.len()) || !runs::was_imported(tx).await? {
        return Ok(());
    }
    for (entity, counter, by) in explained(plan, kind, &edges_of(changed), earlier) {
        moved.import(entity, counter, by);
    }
    Ok(())
}

/// The differences of counters between the flips of `kind` and the rows that they changed.
fn explained(
    plan: &BatchPlan<'_>,
    kind: EdgeKind,
    changed: &Edges,
    earlier: &Edges,
) -> Vec<(Entity, Counter, i64)> {
    // How often each edge was switched on, less how often it was switched off.
    let mut net = BTreeMap::<(UserId, Id), i64>::new();
    for flip in plan.flips_of(kind) {
        *net.entry((flip.actor, flip.target)).or_default() += flip.sign();
    }
    let mut explained = Vec::new();
    for flip in plan.last_of(kind) {
        let edge = (flip.actor, flip.target);
        let has_changed = changed.contains(&edge);
        if !has_changed && !earlier.contains(&edge) {
            continue;
        }
        let by_events = net.get(&edge).copied().unwrap_or_default();
        let by_row = if has_changed { flip.sign() } else { 0 };
        let off_by = by_events - by_row;
        explained.extend(
            flip.deltas()
                .filter(|_| off_by != 0)
                .map(|(entity, counter, delta)| (entity, counter, delta * flip.sign() * off_by)),
        );
    }
    explained
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pipeline::persist::{mismatch::Causes, plan::mismatches};
    use plaudit_catalogue::{
        Flip,
        event_log::{Entry, Event, sum},
        primitives::Offset,
    };

    const KIND: EdgeKind = EdgeKind::NoteLike;

    /// What happens to an edge: the actor asks for a state, or an import writes it with a time in the past.
    #[derive(Clone, Copy, Debug)]
    enum EdgeStep {
        Ask { actor: i64, target: i64, on: bool },
        Import { actor: i64, target: i64, on: bool },
        Persist,
    }

    fn step() -> impl Strategy<Value = EdgeStep> {
        let edge = (1..3_i64, 1..3_i64, any::<bool>());
        prop_oneof![
            4 => edge.clone().prop_map(|(actor, target, on)| EdgeStep::Ask { actor, target, on }),
            2 => edge.prop_map(|(actor, target, on)| EdgeStep::Import { actor, target, on }),
            1 => Just(EdgeStep::Persist),
        ]
    }

    /// A row of PostgreSQL: its state, and whether a flip wrote it, so that no import changes it.
    #[derive(Clone, Copy)]
    struct Row {
        on: bool,
        is_by_flip: bool,
    }

    #[derive(Default)]
    struct Model {
        rows: BTreeMap<(UserId, Id), Row>,
        /// What Redis holds of an edge: an import's row is seen late, or never.
        seen: BTreeMap<(UserId, Id), bool>,
        log: Vec<Event>,
    }

    impl Model {
        fn ask(&mut self, flip: Flip) {
            let edge = (flip.actor, flip.target);
            let seen = self.seen.insert(edge, flip.on).unwrap_or(false);
            let is_pending = self.log.iter().any(|event| {
                matches!(event, Event::Flip(other) | Event::OffAgain(other) if (other.actor, other.target) == edge)
            });
            if seen != flip.on {
                self.log.push(Event::Flip(flip));
            } else if !flip.on && !is_pending {
                self.log.push(Event::OffAgain(flip));
            }
        }

        /// Sees the row, if nothing of the edge is pending.
        fn import(&mut self, flip: Flip, is_seen: bool) {
            let edge = (flip.actor, flip.target);
            let row = self.rows.entry(edge).or_insert(Row { on: flip.on, is_by_flip: false });
            if !row.is_by_flip {
                row.on = flip.on;
            }
            if is_seen && self.log.is_empty() {
                self.seen.insert(edge, row.on);
            }
        }

        /// Does what the transaction of a batch does. Returns the mismatches by their causes.
        fn persist(&mut self) -> Causes {
            let entry = |(number, event): (usize, &Event)| {
                Entry::read(Offset::new(1, number as u64 + 1), &event.to_string())
            };
            let entries: Vec<Entry> = self.log.iter().enumerate().map(entry).collect();
            let plan = BatchPlan::of(&entries);
            let (mut changed, mut earlier, mut moved) = (Edges::new(), Edges::new(), Moved::default());
            for flip in plan.last_of(KIND) {
                let edge = (flip.actor, flip.target);
                let before = self.rows.insert(edge, Row { on: flip.on, is_by_flip: true });
                if before.is_some_and(|row| row.on) != flip.on {
                    changed.insert(edge);
                    flip.deltas().for_each(|(entity, counter, delta)| moved.add(entity, counter, delta));
                } else if before.is_some() {
                    earlier.insert(edge);
                }
            }
            if !plan.is_plain(KIND, changed.len()) {
                for (entity, counter, by) in explained(&plan, KIND, &changed, &earlier) {
                    moved.import(entity, counter, by);
                }
            }
            let by_events = sum(&entries);
            let mismatched = mismatches(&by_events, &moved.totals);
            self.log.clear();
            moved.causes(&by_events, &mismatched)
        }
    }

    fn flip(actor: i64, target: i64, on: bool) -> Flip {
        let id = |raw: i64| Id::try_from(raw).unwrap();
        // All notes have one author, so that differences of several edges meet in one total.
        let (actor, owner) = (UserId(id(actor)), UserId(id(99)));
        Flip { kind: KIND, actor, target: id(target), owner, on, at: 0, by: None }
    }

    proptest! {
        #[test]
        fn whatever_was_imported_between_actions_and_their_batches_every_mismatch_is_explained(
            steps in prop::collection::vec((step(), any::<bool>()), 1..60),
        ) {
            let mut model = Model::default();
            for (step, is_seen) in steps {
                match step {
                    EdgeStep::Ask { actor, target, on } => model.ask(flip(actor, target, on)),
                    EdgeStep::Import { actor, target, on } => model.import(flip(actor, target, on), is_seen),
                    EdgeStep::Persist => {
                        let causes = model.persist();
                        prop_assert!(causes.unexplained.is_empty(), "{causes:?}");
                    }
                }
            }
        }
    }
}
