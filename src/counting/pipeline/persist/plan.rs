//! Plan of a batch: the rows that it writes, and the activity that it adds. Pure code without input or output.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::NaiveDate;

use plaudit_catalogue::{
    Counts, Deltas, EdgeKind, Entity, EntityKind, Flip,
    event_log::{Entry, Event},
    primitives::{Id, NoteId, UserId},
};
use plaudit_store::sql::counting::{
    activity::{CountedFlip, day_of},
    edges::ChangedEdge,
};

/// Kind, actor and target identify an edge.
pub type EdgeKey = (EdgeKind, UserId, Id);

/// The edges whose rows a batch changed, by kind.
pub type ChangedEdges = [(EdgeKind, Vec<ChangedEdge>)];

/// A batch, grouped by what PostgreSQL writes.
#[derive(Default)]
pub struct BatchPlan<'a> {
    /// Every flip that changed something, in order: each is a row of `activity`.
    pub flips: Vec<&'a Flip>,
    /// The last flip of each edge. A row that has this state already is not switched: events that are read
    /// again after a loss are harmless.
    last: BTreeMap<EdgeKey, &'a Flip>,
    /// Kinds of which an edge was switched off that was off.
    off_again: BTreeSet<EdgeKind>,
    /// How often each note was viewed.
    pub views: BTreeMap<NoteId, i64>,
}

impl<'a> BatchPlan<'a> {
    pub fn of(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut plan = Self::default();
        for entry in entries {
            match &entry.event {
                Event::Genesis | Event::Unreadable(_) => {}
                Event::Views { note, by, .. } => {
                    *plan.views.entry(*note).or_default() += i64::from(by.get());
                }
                Event::OffAgain(flip) => {
                    plan.last.insert(key(flip), flip);
                    plan.off_again.insert(flip.kind);
                }
                Event::Flip(flip) => {
                    plan.flips.push(flip);
                    plan.last.insert(key(flip), flip);
                }
            }
        }
        plan
    }

    /// The days on which flips happened; each has a partition of `activity`.
    pub fn days(&self) -> BTreeSet<NaiveDate> {
        self.flips.iter().map(|flip| day_of(flip)).collect()
    }

    /// Edges of `kind` to switch on, or off.
    pub fn rows(&self, kind: EdgeKind, on: bool) -> Vec<&'a Flip> {
        self.last_of(kind).filter(|flip| flip.on == on).collect()
    }

    /// The last flip of each edge of `kind`.
    pub fn last_of(&self, kind: EdgeKind) -> impl Iterator<Item = &'a Flip> {
        self.last.values().copied().filter(move |flip| flip.kind == kind)
    }

    /// Every flip of `kind` that changed something, in order.
    pub fn flips_of(&self, kind: EdgeKind) -> impl Iterator<Item = &'a Flip> {
        self.flips.iter().copied().filter(move |flip| flip.kind == kind)
    }

    /// Whether rows moved as the flips of `kind` say, as nearly always: each flip is of an edge of its own, and
    /// changed its row. `changed`: how many rows changed.
    pub fn is_plain(&self, kind: EdgeKind, changed: usize) -> bool {
        !self.off_again.contains(&kind)
            && self.last_of(kind).count() == changed
            && self.flips_of(kind).count() == changed
    }

    /// Whether an edge is switched on of which its target's owner may be notified.
    pub fn may_tell(&self) -> bool {
        self.last.values().any(|flip| flip.on && flip.notifies().is_some())
    }

    /// The flip that changed a row.
    pub fn flip_of(&self, kind: EdgeKind, changed: &ChangedEdge) -> Option<&'a Flip> {
        self.last.get(&(kind, changed.actor, changed.target)).copied()
    }

    /// Entities of one kind whose totals are locked, in id order: those that move and, with a difference of zero,
    /// entities that only get activity.
    pub fn touched(&self, kind: EntityKind, moved: &Deltas) -> Vec<(Id, Counts)> {
        let with_activity = self.flips.iter().filter(|flip| flip.kind.target() == kind);
        let mut touched: BTreeMap<Id, Counts> =
            with_activity.map(|flip| (flip.target, Counts::default())).collect();
        touched.extend(
            moved.iter().filter(|(entity, _)| entity.kind == kind).map(|(entity, by)| (entity.id, *by)),
        );
        touched.into_iter().collect()
    }

    /// The flips that changed an edge's state, in order. `changed`: all edges whose rows changed; before the batch they
    /// were the opposite of what they are now. A flip that is read once more after a loss is none of them.
    pub fn effective(&self, changed: &ChangedEdges) -> Vec<&'a Flip> {
        if changed.iter().all(|(kind, rows)| self.is_plain(*kind, rows.len())) {
            return self.flips.clone();
        }
        let changed = keys_of(changed);
        let before = |(key, last): (&EdgeKey, &&Flip)| (*key, last.on != changed.contains(key));
        let mut states: HashMap<EdgeKey, bool> = self.last.iter().map(before).collect();
        let is_effective = |flip: &&Flip| states.insert(key(flip), flip.on) != Some(flip.on);
        self.flips.iter().copied().filter(is_effective).collect()
    }

    /// Flips with the target's total after each; a target's last flip has the total in `after`.
    pub fn activity(&self, after: &BTreeMap<Entity, Counts>) -> Vec<CountedFlip<'a>> {
        let mut totals = BTreeMap::new();
        for flip in &self.flips {
            let total = totals.entry((flip.kind, flip.target)).or_insert_with(|| {
                after.get(&flip.target_entity()).map_or(0, |counts| counts.get(flip.kind.total()))
            });
            *total -= flip.sign();
        }
        let mut steps = Vec::with_capacity(self.flips.len());
        for flip in &self.flips {
            if let Some(total) = totals.get_mut(&(flip.kind, flip.target)) {
                *total += flip.sign();
                steps.push(CountedFlip { flip, actor: flip.actor.get(), total_after: *total });
            }
        }
        steps
    }
}

/// Entities whose totals moved differently than the events say, so that their counts in Redis are wrong.
pub fn mismatches(by_events: &Deltas, by_rows: &Deltas) -> Vec<Entity> {
    let none = Counts::default();
    let entities: BTreeSet<Entity> = by_events.keys().chain(by_rows.keys()).copied().collect();
    let differs =
        |entity: &Entity| by_events.get(entity).unwrap_or(&none) != by_rows.get(entity).unwrap_or(&none);
    entities.into_iter().filter(differs).collect()
}

pub fn keys_of(changed: &ChangedEdges) -> BTreeSet<EdgeKey> {
    let rows = changed.iter().flat_map(|(kind, rows)| rows.iter().map(|row| (*kind, row)));
    rows.map(|(kind, row)| (kind, row.actor, row.target)).collect()
}

pub const fn key(flip: &Flip) -> EdgeKey {
    (flip.kind, flip.actor, flip.target)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plaudit_catalogue::{event_log::sum, primitives::Offset};

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn like(actor: i64, note: i64, on: bool) -> Flip {
        let (actor, owner) = (UserId(id(actor)), UserId(id(99)));
        Flip { kind: EdgeKind::NoteLike, actor, target: id(note), owner, on, at: 0, by: None }
    }

    fn entries(flips: &[Flip]) -> Vec<Entry> {
        let entry = |(i, flip): (usize, &Flip)| {
            Entry::read(Offset::new(1, i as u64 + 1), &Event::Flip(*flip).to_string())
        };
        flips.iter().enumerate().map(entry).collect()
    }

    #[test]
    fn the_last_state_of_an_edge_wins() {
        let entries = entries(&[
            like(4, 5, false),
            like(4, 5, true),
            like(1, 5, true),
            like(2, 5, true),
            like(2, 5, false),
            like(3, 5, false),
            like(3, 5, true),
        ]);
        let plan = BatchPlan::of(&entries);
        assert_eq!(
            plan.rows(EdgeKind::NoteLike, true),
            [&like(1, 5, true), &like(3, 5, true), &like(4, 5, true)]
        );
        assert_eq!(plan.rows(EdgeKind::NoteLike, false), [&like(2, 5, false)]);
        assert_eq!(plan.flips.len(), 7);
    }

    /// Rows of these edges (actor, note), as they are after a batch that changed them.
    fn changed(edges: &[(i64, i64)]) -> Vec<(EdgeKind, Vec<ChangedEdge>)> {
        let row = |(actor, note): &(i64, i64)| ChangedEdge {
            actor: UserId(id(*actor)),
            target: id(*note),
            included: true,
            is_shown: true,
            told: 0,
        };
        vec![(EdgeKind::NoteLike, edges.iter().map(row).collect())]
    }

    #[test]
    fn a_flip_is_effective_if_it_changes_the_state_that_its_edge_had() {
        let flips = [
            like(1, 5, true), // it was off, and is on
            like(2, 5, true), // it was off, and is off again
            like(2, 5, false),
            like(3, 5, true),  // it was on already: read once more
            like(4, 5, false), // it was on, is on again, and then off
            like(4, 5, true),
            like(4, 5, false),
            like(6, 5, false), // it was off already
        ];
        let entries = entries(&flips);
        let effective = BatchPlan::of(&entries).effective(&changed(&[(1, 5), (4, 5)]));
        assert_eq!(effective, [&flips[0], &flips[1], &flips[2], &flips[4], &flips[5], &flips[6]]);
        let entries = &entries[..1];
        assert_eq!(BatchPlan::of(entries).effective(&changed(&[(1, 5)])), [&flips[0]]);
        assert_eq!(BatchPlan::of(entries).effective(&changed(&[])), Vec::<&Flip>::new());
    }

    #[test]
    fn a_batch_with_as_many_changed_rows_as_flips_is_not_plain_if_an_edge_was_switched_off_again() {
        // An import has switched the row of the first edge on and the row of the second one off.
        let (again, flips) = (like(1, 5, false), [like(2, 5, false), like(2, 5, true)]);
        let mut entries = vec![Entry::read(Offset::new(1, 1), &Event::OffAgain(again).to_string())];
        entries
            .extend(flips.iter().map(|flip| Entry::read(Offset::new(1, 2), &Event::Flip(*flip).to_string())));
        let plan = BatchPlan::of(&entries);
        assert!(!plan.is_plain(EdgeKind::NoteLike, 2));
        assert_eq!(plan.effective(&changed(&[(1, 5), (2, 5)])), [&flips[1]]);
    }

    #[test]
    fn views_of_a_note_add_up_and_write_no_row() {
        let (note, by) = (NoteId(id(5)), 3.try_into().unwrap());
        let views = Event::Views { note, by, at: 0 }.to_string();
        let entry = |number| Entry::read(Offset::new(1, number), &views);
        let entries = [entry(1), entry(2)];
        let plan = BatchPlan::of(&entries);
        assert_eq!(plan.views, BTreeMap::from([(note, 6)]));
        assert!(plan.flips.is_empty());
    }

    #[test]
    fn activity_has_the_total_after_each_step_and_ends_at_the_total_of_the_rows() {
        let entries = entries(&[like(1, 5, true), like(2, 5, true), like(2, 5, false)]);
        let plan = BatchPlan::of(&entries);
        let note = Entity::new(EntityKind::Note, id(5));
        let after = BTreeMap::from([(note, Counts::from_values([11]))]);
        let totals: Vec<i64> = plan.activity(&after).iter().map(|step| step.total_after).collect();
        assert_eq!(totals, [11, 12, 11]);
    }

    #[test]
    fn an_entity_whose_rows_moved_differently_than_its_events_is_a_mismatch() {
        let (note, user) = (Entity::new(EntityKind::Note, id(5)), Entity::new(EntityKind::User, id(9)));
        let delta = |value| Counts::from_values([value]);
        let by_events = Deltas::from([(note, delta(2)), (user, delta(0))]);
        assert_eq!(mismatches(&by_events, &Deltas::from([(note, delta(2))])), []);
        assert_eq!(mismatches(&by_events, &Deltas::from([(note, delta(1))])), [note]);
        assert_eq!(mismatches(&Deltas::new(), &Deltas::from([(user, delta(1))])), [user]);
    }

    /// Model of PostgreSQL's tables: the set of edges that are on, and the totals.
    #[derive(Default)]
    struct TableModel {
        on: BTreeSet<EdgeKey>,
        totals: BTreeMap<Entity, Counts>,
    }

    impl TableModel {
        /// Does what a batch's transaction does. Returns the mismatches.
        fn persist(&mut self, entries: &[Entry]) -> Vec<Entity> {
            let (plan, mut moved) = (BatchPlan::of(entries), Deltas::new());
            for kind in EdgeKind::ALL {
                for on in [true, false] {
                    for flip in plan.rows(*kind, on) {
                        let changed = if on { self.on.insert(key(flip)) } else { self.on.remove(&key(flip)) };
                        for (entity, counter, delta) in flip.deltas().filter(|_| changed) {
                            moved.entry(entity).or_default().add(counter, delta);
                        }
                    }
                }
            }
            for (entity, delta) in &moved {
                for counter in entity.kind.counters() {
                    self.totals.entry(*entity).or_default().add(*counter, delta.get(*counter));
                }
            }
            let steps = plan.activity(&self.totals);
            // A target's last step has its total.
            let last: BTreeMap<_, _> = steps
                .iter()
                .map(|step| ((step.flip.target_entity(), step.flip.kind), step.total_after))
                .collect();
            for ((target, kind), total) in last {
                assert_eq!(self.totals.get(&target).map_or(0, |counts| counts.get(kind.total())), total);
            }
            mismatches(&sum(entries), &moved)
        }
    }

    /// The expected edges and totals: every edge whose last flip is on.
    fn expected(flips: &[Flip]) -> (BTreeSet<EdgeKey>, BTreeMap<Entity, Counts>) {
        let last: BTreeMap<EdgeKey, &Flip> = flips.iter().map(|flip| (key(flip), flip)).collect();
        let on: BTreeMap<EdgeKey, &Flip> = last.into_iter().filter(|(_, flip)| flip.on).collect();
        let mut totals = BTreeMap::<Entity, Counts>::new();
        for (entity, counter, delta) in on.values().flat_map(|flip| flip.deltas()) {
            totals.entry(entity).or_default().add(counter, delta);
        }
        (on.into_keys().collect(), totals)
    }

    /// Flips of a few edges of all kinds, interleaved. Flips of an edge alternate, as the action script
    /// ensures, except where `repeat` marks a flip that is read once more after a loss.
    fn flips(pairs: &[(EdgeKind, i64, i64)], repeat: &[bool]) -> Vec<Flip> {
        let mut states = BTreeMap::new();
        let flip = |((kind, actor, target), repeat): (&(EdgeKind, i64, i64), &bool)| {
            let state = states.entry((*kind, *actor, *target)).or_insert(false);
            *state = *state == *repeat;
            let (actor, owner) = (UserId(id(*actor)), UserId(id(*target + 100)));
            Flip { kind: *kind, actor, target: id(*target), owner, on: *state, at: 0, by: None }
        };
        pairs.iter().zip(repeat).map(flip).collect()
    }

    fn without_zeros(totals: &BTreeMap<Entity, Counts>) -> BTreeMap<Entity, Counts> {
        totals
            .iter()
            .filter(|(_, counts)| !counts.is_zero())
            .map(|(entity, counts)| (*entity, *counts))
            .collect()
    }

    proptest! {
        #[test]
        fn any_interleaving_and_any_batch_borders_give_the_totals_of_the_model(
            pairs in prop::collection::vec((prop::sample::select(EdgeKind::ALL), 1..4_i64, 1..4_i64), 1..60),
            sizes in prop::collection::vec(1..9_usize, 60),
        ) {
            let flips = flips(&pairs, &vec![false; pairs.len()]);
            let entries = entries(&flips);
            let (mut rows, mut folded) = (TableModel::default(), BTreeMap::<Entity, Counts>::new());
            let mut rest = &entries[..];
            for size in sizes {
                let (batch, later) = rest.split_at(size.min(rest.len()));
                prop_assert_eq!(rows.persist(batch), []);
                rest = later;
            }
            // The fold has other batch borders than the persister: here each event is a batch.
            for (entity, moved) in entries.iter().flat_map(|entry| sum([entry])) {
                for counter in entity.kind.counters() {
                    folded.entry(entity).or_default().add(*counter, moved.get(*counter));
                }
            }
            let (on, totals) = expected(&flips);
            prop_assert_eq!(&rows.on, &on);
            prop_assert_eq!(without_zeros(&rows.totals), without_zeros(&totals));
            prop_assert_eq!(without_zeros(&folded), without_zeros(&totals));
        }

        #[test]
        fn flips_that_are_read_once_more_keep_rows_and_totals_right_and_are_reported_as_mismatches(
            pairs in prop::collection::vec(
                ((prop::sample::select(EdgeKind::ALL), 1..4_i64, 1..4_i64), any::<bool>()), 1..60),
            sizes in prop::collection::vec(1..9_usize, 60),
        ) {
            let (pairs, repeat): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let flips = flips(&pairs, &repeat);
            let entries = entries(&flips);
            let (mut rows, mut mismatched) = (TableModel::default(), BTreeSet::new());
            let mut rest = &entries[..];
            for size in sizes {
                let (batch, later) = rest.split_at(size.min(rest.len()));
                mismatched.extend(rows.persist(batch));
                rest = later;
            }
            let (on, totals) = expected(&flips);
            prop_assert_eq!(&rows.on, &on);
            prop_assert_eq!(without_zeros(&rows.totals), without_zeros(&totals));
            // The sum of the events differs from the total only for mismatches.
            for (entity, moved) in sum(&entries) {
                let total = totals.get(&entity).copied().unwrap_or_default();
                prop_assert!(moved == total || mismatched.contains(&entity), "{} {:?}", entity, moved);
            }
        }
    }
}
