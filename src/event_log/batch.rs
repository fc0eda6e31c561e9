//! Sums of a batch of events: one change per entity.

use std::collections::{BTreeMap, btree_map::Entry as MapEntry};

use super::{Entry, Event};
use crate::{
    catalogue::{Counts, Entity, Flip},
    primitives::Offset,
};

/// Effect of a batch on one entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntityDelta {
    pub by: Counts,
    /// The offset just before the entity's first event in the batch.
    pub after: Offset,
    /// The offset of its last event.
    pub last: Offset,
}

/// Per entity, in entity order. Entities whose events cancel out stay with zeros: their pending marks must
/// still be set and cleared.
pub type Moves = BTreeMap<Entity, EntityDelta>;

/// Sums up the events of entries, which are in order.
pub fn sum<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Moves {
    sum_of(entries, |_| true)
}

/// The same, for some entities only.
pub fn sum_of<'a>(entries: impl IntoIterator<Item = &'a Entry>, is_wanted: impl Fn(Entity) -> bool) -> Moves {
    let mut moves = Moves::new();
    for entry in entries {
        for (entity, counter, delta) in entry.event.deltas().filter(|(entity, ..)| is_wanted(*entity)) {
            let moved = match moves.entry(entity) {
                MapEntry::Occupied(entry) => entry.into_mut(),
                MapEntry::Vacant(new) => new.insert(EntityDelta {
                    by: Counts::default(),
                    // Number 0 is the genesis marker, so an event has a place before it.
                    after: Offset::new(entry.offset.generation, entry.offset.number.saturating_sub(1)),
                    last: entry.offset,
                }),
            };
            moved.by.add(counter, delta);
            moved.last = entry.offset;
        }
    }
    moves
}

impl Entry {
    pub const fn flip(&self) -> Option<&Flip> {
        match &self.event {
            Event::Flip(flip) => Some(flip),
            Event::Genesis | Event::Views { .. } | Event::Unreadable(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue::{Counter, EdgeKind},
        primitives::{Id, NoteId, UserId},
    };

    #[test]
    fn views_and_likes_of_a_note_add_up_side_by_side() {
        let id = |raw: i64| Id::try_from(raw).unwrap();
        let (note, by) = (NoteId(id(5)), 7.try_into().unwrap());
        let (actor, owner) = (UserId(id(1)), UserId(id(9)));
        let like = Flip { kind: EdgeKind::NoteLike, actor, target: note.0, owner, on: true, at: 0 };
        let events = [Event::Views { note, by, at: 0 }, Event::Flip(like), Event::Views { note, by, at: 0 }];
        let entries: Vec<Entry> = (1..)
            .zip(events)
            .map(|(number, event)| Entry { offset: Offset::new(1, number), event })
            .collect();

        let moved = sum(&entries)[&note.into()];
        assert_eq!((moved.by.get(Counter::NoteViews), moved.by.get(Counter::NoteLikes)), (14, 1));
        assert_eq!((moved.after, moved.last), (Offset::new(1, 0), Offset::new(1, 3)));
    }
}
