//! Sums of a batch of events: one change per entity.

use super::{Entry, Event};
use crate::{Deltas, Entity, Flip};

/// Sums up the events of entries. Entities whose events cancel out stay, with zeros: replies wait until their
/// events are folded.
pub fn sum<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Deltas {
    sum_of(entries, |_| true)
}

/// The same, for some entities only.
pub fn sum_of<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    is_wanted: impl Fn(Entity) -> bool,
) -> Deltas {
    let mut moves = Deltas::new();
    for entry in entries {
        for (entity, counter, delta) in entry.event.deltas().filter(|(entity, ..)| is_wanted(*entity)) {
            moves.entry(entity).or_default().add(counter, delta);
        }
    }
    moves
}

impl Entry {
    /// The flip, also one that changed nothing.
    pub const fn flip(&self) -> Option<&Flip> {
        match &self.event {
            Event::Flip(flip) | Event::OffAgain(flip) => Some(flip),
            Event::Genesis | Event::Views { .. } | Event::Unreadable(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Counter, EdgeKind,
        primitives::{Id, NoteId, Offset, UserId},
    };

    #[test]
    fn views_and_likes_of_a_note_add_up_side_by_side() {
        let id = |raw: i64| Id::try_from(raw).unwrap();
        let (note, by) = (NoteId(id(5)), 7.try_into().unwrap());
        let (actor, owner) = (UserId(id(1)), UserId(id(9)));
        let like = Flip { kind: EdgeKind::NoteLike, actor, target: note.0, owner, on: true, at: 0, by: None };
        let events = [Event::Views { note, by, at: 0 }, Event::Flip(like), Event::Views { note, by, at: 0 }];
        let entries: Vec<Entry> = (1..)
            .zip(events)
            .map(|(number, event)| Entry::read(Offset::new(1, number), &event.to_string()))
            .collect();

        let moved = sum(&entries)[&note.into()];
        assert_eq!((moved.get(Counter::NoteViews), moved.get(Counter::NoteLikes)), (14, 1));
    }
}
