//! Summing a batch of events into one difference per entity.

use std::collections::BTreeMap;

use super::{Entry, Event};
use crate::catalogue::{Counts, Entity, Flip};

/// Differences per entity, in entity order. Entities whose flips cancel out stay with zeros: their
/// pending marks must still be set and cleared.
pub type Deltas = BTreeMap<Entity, Counts>;

/// What the entries' flips add up to.
pub fn sum<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Deltas {
    let mut deltas = Deltas::new();
    for flip in entries.into_iter().filter_map(Entry::flip) {
        for (entity, counter, delta) in flip.deltas() {
            deltas.entry(entity).or_default().add(counter, delta);
        }
    }
    deltas
}

impl Entry {
    pub const fn flip(&self) -> Option<&Flip> {
        match &self.event {
            Event::Flip(flip) => Some(flip),
            Event::Genesis | Event::Unreadable(_) => None,
        }
    }
}
