//! Mismatches of a batch: entities whose totals moved differently than the events say. Their counts in Redis are
//! invalidated; here their causes are distinguished, counted and logged.

use metrics::counter;

use plaudit_catalogue::{Counter, Counts, Deltas, Entity, EntityKind, Flip};
use plaudit_store::sql::counting::edges::ChangedEdge;

/// A shard stops: a rule of the pipeline does not hold, a part of it panicked, or a store gave an answer that it should
/// never give. Retries repair none of these.
const BROKEN: &str = "broken";
/// Entities that a log line names.
const NAMED: usize = 5;

/// How a batch moved totals.
#[derive(Default)]
pub struct Moved {
    pub totals: Deltas,
    /// What the events say and totals exclude: edges of hidden and erased users, and edges and views of what is
    /// removed.
    pub excluded: Deltas,
    /// What the events say, less what they moved, of edges whose rows an import wrote before them.
    pub imported: Deltas,
}

/// Mismatches of one batch, by their cause. Inboxes are in neither: their events are not in the log.
#[derive(PartialEq, Eq, Default, Debug)]
pub struct Causes {
    /// The difference is what totals exclude. Expected, and not logged.
    pub excluded: Vec<Entity>,
    /// An import wrote the row before the event was persisted. Expected, and not logged.
    pub imported: Vec<Entity>,
    /// A row was already as its event says, or was missing. Expected after a loss, a dead event of the same edge, or a
    /// change of edges by SQL; otherwise a bug.
    pub unexplained: Vec<Entity>,
}

impl Moved {
    pub fn add(&mut self, entity: Entity, counter: Counter, delta: i64) {
        self.totals.entry(entity).or_default().add(counter, delta);
    }

    /// What a changed row of an edge counts for.
    pub fn add_edge(&mut self, flip: &Flip, row: &ChangedEdge) {
        for (entity, counter, delta) in flip.deltas_if(row.is_shown) {
            if row.included {
                self.add(entity, counter, delta);
            } else {
                self.exclude(entity, counter, delta);
            }
        }
        for (entity, counter, delta) in flip.deltas_of_owner().filter(|_| !row.is_shown) {
            self.exclude(entity, counter, delta);
        }
    }

    pub fn exclude(&mut self, entity: Entity, counter: Counter, delta: i64) {
        self.excluded.entry(entity).or_default().add(counter, delta);
    }

    pub fn import(&mut self, entity: Entity, counter: Counter, delta: i64) {
        self.imported.entry(entity).or_default().add(counter, delta);
    }

    pub fn add_all(&mut self, deltas: Deltas) {
        for (entity, by) in deltas {
            self.totals.entry(entity).or_default().add_all(&by);
        }
    }

    /// Groups `mismatches` by their cause.
    pub fn causes(&self, by_events: &Deltas, mismatches: &[Entity]) -> Causes {
        let of = |deltas: &Deltas, entity: &Entity| deltas.get(entity).copied().unwrap_or_default();
        let without_imports =
            |entity: &Entity| sum(*entity, of(&self.totals, entity), of(&self.excluded, entity));
        let mut causes = Causes::default();
        for entity in mismatches.iter().copied().filter(|entity| entity.kind != EntityKind::Inbox) {
            let (moved, expected) = (without_imports(&entity), of(by_events, &entity));
            let cause = if moved == expected {
                &mut causes.excluded
            } else if sum(entity, moved, of(&self.imported, &entity)) == expected {
                &mut causes.imported
            } else {
                &mut causes.unexplained
            };
            cause.push(entity);
        }
        causes
    }
}

impl Causes {
    /// Counts the mismatches of a committed batch; those without an explanation are one line of the log.
    pub fn report(&self) {
        count("excluded", self.excluded.len());
        count("imported", self.imported.len());
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
    count(BROKEN, 0);
}

/// Counts that a shard stops, for the alert.
pub fn shard_stops() {
    count(BROKEN, 1);
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
        assert_eq!(
            causes,
            Causes { excluded: vec![note], imported: Vec::new(), unexplained: vec![other, author] }
        );
    }

    #[test]
    fn a_row_that_an_import_wrote_explains_a_mismatch() {
        let note = entity("note_5");
        let mut moved = Moved::default();
        moved.import(note, Counter::NoteLikes, 1);
        let by_events = Deltas::from([(note, Counts::from_values([1]))]);
        assert_eq!(moved.causes(&by_events, &[note]), Causes { imported: vec![note], ..Causes::default() });
        let by_events = Deltas::from([(note, Counts::from_values([2]))]);
        assert_eq!(
            moved.causes(&by_events, &[note]),
            Causes { unexplained: vec![note], ..Causes::default() }
        );
    }
}
