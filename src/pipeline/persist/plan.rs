//! What a batch means for rows and totals. No input or output.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    catalogue::{Counts, Deltas, EdgeKind, Entity, EntityKind, Flip},
    event_log::{Entry, Event, Moves},
    primitives::{Id, NoteId, Offset, UserId},
    store::sql::{ChangedEdge, Step},
};

type Pair = (EdgeKind, UserId, Id);

/// A batch, sorted out.
#[derive(Default)]
pub struct Plan<'a> {
    /// Every flip, in order: the history keeps each step.
    pub flips: Vec<&'a Flip>,
    /// The last flip of each pair whose state differs from the one before the batch.
    last: BTreeMap<Pair, &'a Flip>,
    /// The last flip of each pair that was on before the batch, and off in between, and is on again.
    again: Vec<&'a Flip>,
    /// How often each note was viewed.
    pub views: BTreeMap<NoteId, i64>,
    /// Events that this release cannot read.
    pub unreadable: Vec<(Offset, &'a str)>,
}

impl<'a> Plan<'a> {
    pub fn of(entries: &'a [Entry]) -> Self {
        let mut plan = Self::default();
        let mut first = BTreeMap::<Pair, bool>::new();
        let mut repeated = BTreeSet::<Pair>::new();
        for entry in entries {
            match &entry.event {
                Event::Genesis => {}
                Event::Unreadable(payload) => plan.unreadable.push((entry.offset, payload)),
                Event::Views { note, by, .. } => {
                    *plan.views.entry(*note).or_default() += i64::from(by.get());
                }
                Event::Flip(flip) => {
                    plan.flips.push(flip);
                    first.entry(pair(flip)).or_insert(flip.on);
                    let before = plan.last.insert(pair(flip), flip);
                    if before.is_some_and(|before| before.on == flip.on) {
                        repeated.insert(pair(flip));
                    }
                }
            }
        }
        // Flips of a pair alternate: ending unlike it began means ending as it was before the batch. Only
        // after a loss one may repeat what PostgreSQL had forgotten; then the rows decide.
        let ends_otherwise = |pair: &Pair, last: &Flip| first[pair] == last.on || repeated.contains(pair);
        plan.again = plan
            .last
            .iter()
            .filter(|(pair, last)| last.on && !ends_otherwise(pair, last))
            .map(|(_, last)| *last)
            .collect();
        plan.last.retain(|pair, last| ends_otherwise(pair, last));
        plan
    }

    /// Rows of `kind` to switch on, or off.
    pub fn rows(&self, kind: EdgeKind, on: bool) -> Vec<&'a Flip> {
        self.last.values().copied().filter(|flip| flip.kind == kind && flip.on == on).collect()
    }

    /// Rows of `kind` that stay on, but were switched on later than they say.
    pub fn rows_again(&self, kind: EdgeKind) -> Vec<&'a Flip> {
        self.again.iter().copied().filter(|flip| flip.kind == kind).collect()
    }

    /// The flip that changed a row.
    pub fn flip_of(&self, kind: EdgeKind, changed: &ChangedEdge) -> Option<&'a Flip> {
        self.last.get(&(kind, changed.actor, changed.target)).copied()
    }

    /// Entities of one kind whose totals must be locked: those that move and those whose history is kept.
    pub fn locked(&self, kind: EntityKind, moved: &Deltas) -> Vec<Id> {
        let moved = moved.keys().filter(|entity| entity.kind == kind).map(|entity| entity.id);
        let told = self.flips.iter().filter(|flip| flip.kind.target() == kind).map(|flip| flip.target);
        moved.chain(told).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The target's total after each step; the last step of a target ends at the total that the rows make.
    pub fn history(&self, before: &BTreeMap<Entity, Counts>, moved: &Deltas) -> Vec<Step<'a>> {
        let mut totals = BTreeMap::new();
        for flip in &self.flips {
            let total = totals.entry((flip.kind, flip.target)).or_insert_with(|| {
                let entity = flip.target_entity();
                let value = |of: Option<&Counts>| of.map_or(0, |counts| counts.get(flip.kind.total()));
                value(before.get(&entity)) + value(moved.get(&entity))
            });
            *total -= flip.sign();
        }
        let mut steps = Vec::with_capacity(self.flips.len());
        for flip in &self.flips {
            if let Some(total) = totals.get_mut(&(flip.kind, flip.target)) {
                *total += flip.sign();
                steps.push(Step { flip, total_after: *total });
            }
        }
        steps
    }
}

/// Entities whose totals moved otherwise than the events say: their counts in Redis are wrong.
pub fn mismatches(by_events: &Moves, by_rows: &Deltas) -> Vec<Entity> {
    let none = Counts::default();
    let entities: BTreeSet<Entity> = by_events.keys().chain(by_rows.keys()).copied().collect();
    let differs = |entity: &Entity| {
        by_events.get(entity).map_or(&none, |moved| &moved.by) != by_rows.get(entity).unwrap_or(&none)
    };
    entities.into_iter().filter(differs).collect()
}

const fn pair(flip: &Flip) -> Pair {
    (flip.kind, flip.actor, flip.target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue::Counter, event_log::Moved};

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn like(actor: i64, note: i64, on: bool) -> Flip {
        let (actor, owner) = (UserId(id(actor)), UserId(id(99)));
        Flip { kind: EdgeKind::NoteLike, actor, target: id(note), owner, on, at: 0 }
    }

    fn entries(flips: &[Flip]) -> Vec<Entry> {
        let entry = |(i, flip): (usize, &Flip)| Entry {
            offset: Offset::new(1, i as u64 + 1),
            event: Event::Flip(*flip),
        };
        flips.iter().enumerate().map(entry).collect()
    }

    #[test]
    fn the_last_state_of_a_pair_wins_and_a_pair_that_ends_as_it_began_at_most_moves_up() {
        let entries = entries(&[
            like(4, 5, false),
            like(4, 5, true),
            like(1, 5, true),
            like(2, 5, true),
            like(2, 5, false),
            like(3, 5, false),
            like(3, 5, true),
            like(3, 5, false),
        ]);
        let plan = Plan::of(&entries);
        assert_eq!(plan.rows(EdgeKind::NoteLike, true), [&like(1, 5, true)]);
        assert_eq!(plan.rows(EdgeKind::NoteLike, false), [&like(3, 5, false)]);
        assert_eq!(plan.rows_again(EdgeKind::NoteLike), [&like(4, 5, true)]);
        assert_eq!(plan.flips.len(), 8);
    }

    #[test]
    fn a_repeated_flip_writes_its_last_state_whatever_it_began_with() {
        let entries = entries(&[like(1, 5, true), like(1, 5, true), like(1, 5, false)]);
        let plan = Plan::of(&entries);
        assert_eq!(plan.rows(EdgeKind::NoteLike, false), [&like(1, 5, false)]);
    }

    #[test]
    fn views_of_a_note_add_up_and_write_no_row() {
        let (note, by) = (NoteId(id(5)), 3.try_into().unwrap());
        let entry =
            |number| Entry { offset: Offset::new(1, number), event: Event::Views { note, by, at: 0 } };
        let entries = [entry(1), entry(2)];
        let plan = Plan::of(&entries);
        assert_eq!(plan.views, BTreeMap::from([(note, 6)]));
        assert!(plan.flips.is_empty());
    }

    #[test]
    fn history_tells_the_total_after_each_step_and_ends_at_the_rows_total() {
        let entries = entries(&[like(1, 5, true), like(2, 5, true), like(2, 5, false)]);
        let plan = Plan::of(&entries);
        let note = Entity::new(EntityKind::Note, id(5));
        let mut moved = Deltas::new();
        moved.entry(note).or_default().add(Counter::NoteLikes, 1);
        let before = BTreeMap::from([(note, Counts::from_values([10]))]);
        let totals: Vec<i64> = plan.history(&before, &moved).iter().map(|step| step.total_after).collect();
        assert_eq!(totals, [11, 12, 11]);
    }

    #[test]
    fn an_entity_whose_rows_moved_otherwise_than_its_events_is_a_mismatch() {
        let (note, user) = (Entity::new(EntityKind::Note, id(5)), Entity::new(EntityKind::User, id(9)));
        let delta = |value| Counts::from_values([value]);
        let moved = |value| Moved { by: delta(value), after: Offset::default(), last: Offset::new(1, 1) };
        let by_events = Moves::from([(note, moved(2)), (user, moved(0))]);
        assert_eq!(mismatches(&by_events, &Deltas::from([(note, delta(2))])), []);
        assert_eq!(mismatches(&by_events, &Deltas::from([(note, delta(1))])), [note]);
        assert_eq!(mismatches(&Moves::new(), &Deltas::from([(user, delta(1))])), [user]);
    }
}
