//! Mismatches of a batch: entities whose totals moved differently than the events say. Their counts in Redis are
//! invalidated; here they are told apart, counted and logged.

use metrics::counter;

use crate::catalogue::{Counter, Counts, Deltas, Entity, EntityKind};

/// Entities that a log line names.
const NAMED: usize = 5;

/// How a batch moved totals.
#[derive(Default)]
pub struct Moved {
    pub totals: Deltas,
    /// What the events say and totals exclude: edges of hidden and erased users, and edges and views of what is removed.
    pub excluded: Deltas,
}

/// Mismatches of one batch, by their cause. Inboxes are in neither: their events are not in the log.
#[derive(PartialEq, Eq, Default, Debug)]
pub struct Causes {
    /// The difference is what totals exclude.
    pub excluded: Vec<Entity>,
    /// A row was already as its event says, or was missing.
    pub unexplained: Vec<Entity>,
}

impl Moved {
    pub fn add(&mut self, entity: Entity, counter: Counter, delta: i64) {
        self.totals.entry(entity).or_default().add(counter, delta);
    }

    pub fn exclude(&mut self, entity: Entity, counter: Counter, delta: i64) {
        self.excluded.entry(entity).or_default().add(counter, delta);
    }

    pub fn add_all(&mut self, deltas: Deltas) {
        for (entity, by) in deltas {
            self.totals.entry(entity).or_default().add_all(&by);
        }
    }

    /// Tells `mismatches` apart by their cause.
    pub fn causes(&self, by_events: &Deltas, mismatches: &[Entity]) -> Causes {
        let of = |deltas: &Deltas, entity: &Entity| deltas.get(entity).copied().unwrap_or_default();
        let is_excluded = |entity: &Entity| {
            sum(*entity, of(&self.totals, entity), of(&self.excluded, entity)) == of(by_events, entity)
        };
        let counted = mismatches.iter().copied().filter(|entity| entity.kind != EntityKind::Inbox);
        let (excluded, unexplained) = counted.partition(is_excluded);
        Causes { excluded, unexplained }
    }
}

impl Causes {
    /// Counts the mismatches of a committed batch; those without an explanation are one line of the log.
    pub fn report(&self) {
        count("excluded", self.excluded.len());
        count("unexplained", self.unexplained.len());
        if !self.unexplained.is_empty() {
            let first: Vec<String> = self.unexplained.iter().take(NAMED).map(Entity::to_string).collect();
            let (entities, first) = (self.unexplained.len(), first.join(" "));
            tracing::warn!(
                entities,
                first,
                "rows moved differently than events; their counts are loaded again"
            );
        }
    }
}

/// Registers the series at 0, so that they exist before the first mismatch.
pub fn register() {
    Causes::default().report();
}

fn count(cause: &'static str, entities: usize) {
    counter!("plaudit_persist_mismatches_total", "cause" => cause).increment(entities as u64);
}

fn sum(entity: Entity, mut counts: Counts, more: Counts) -> Counts {
    for counter in entity.kind.counters() {
        counts.add(*counter, more.get(*counter));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(name: &str) -> Entity {
        name.parse().unwrap()
    }

    #[test]
    fn what_totals_exclude_explains_a_mismatch_and_an_inbox_needs_none() {
        let (note, other, author) = (entity("note_5"), entity("note_6"), entity("user_9"));
        let mut moved = Moved::default();
        moved.add(note, Counter::NoteLikes, 1);
        moved.exclude(note, Counter::NoteLikes, 1);
        moved.add(entity("inbox_9"), Counter::InboxLikes, 1);
        moved.exclude(author, Counter::UserLikesReceived, 1);
        let likes = |value| Counts::from_values([value]);
        let mut received = Counts::default();
        received.add(Counter::UserLikesReceived, 2);
        let by_events = Deltas::from([(note, likes(2)), (other, likes(1)), (author, received)]);
        let causes = moved.causes(&by_events, &[note, other, author, entity("inbox_9")]);
        assert_eq!(causes, Causes { excluded: vec![note], unexplained: vec![other, author] });
    }
}
