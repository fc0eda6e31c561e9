//! Summing a batch of events into one difference per entity.

use std::collections::{BTreeMap, btree_map::Entry as MapEntry};

use super::{Entry, Event};
use crate::{
    catalogue::{Counts, Entity, Flip},
    primitives::Offset,
};

/// What a batch does to one entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    pub by: Counts,
    /// The place just before the entity's first event in the batch.
    pub after: Offset,
    /// The place of its last event.
    pub last: Offset,
}

/// Per entity, in entity order. Entities whose flips cancel out stay with zeros: their pending marks must
/// still be set and cleared.
pub type Moves = BTreeMap<Entity, Moved>;

/// What the entries' flips add up to. The entries are in order.
pub fn sum<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Moves {
    let mut moves = Moves::new();
    for entry in entries {
        for (entity, counter, delta) in entry.flip().iter().flat_map(|flip| flip.deltas()) {
            let moved = match moves.entry(entity) {
                MapEntry::Occupied(known) => known.into_mut(),
                MapEntry::Vacant(new) => new.insert(Moved {
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
            Event::Genesis | Event::Unreadable(_) => None,
        }
    }
}
