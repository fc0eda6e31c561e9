//! What earlier batches of edges have shown, so that PostgreSQL need not look again.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use foldhash::HashSet;
use parking_lot::Mutex;

use crate::{
    catalogue::{EdgeKind, EntityKind, Flip},
    primitives::Id,
    store::sql::edges::{ChangedEdge, EdgeEnds},
};

/// Actors and targets that are remembered at most, 16 bytes each.
const REMEMBERED: usize = 1_000_000;

/// Parts of a batch share it.
pub struct EdgeMemory {
    are_new: AtomicBool,
    visible: Mutex<Visible>,
}

/// Users and notes that everybody saw while the number of removals was this one. Other targets can disappear without a
/// removal.
#[derive(Default)]
struct Visible {
    removal_number: i64,
    users: HashSet<Id>,
    notes: HashSet<Id>,
}

impl EdgeMemory {
    pub fn new() -> Self {
        Self { are_new: AtomicBool::new(true), visible: Mutex::default() }
    }

    /// No edge of the last part had a row before, so those of the next one probably have none.
    pub fn are_new(&self) -> bool {
        self.are_new.load(Relaxed)
    }

    /// The actors and targets of which it is not known that everybody sees them at this number of removals.
    pub fn unchecked(&self, kind: EdgeKind, flips: &[&Flip], removal_number: i64) -> EdgeEnds {
        let mut visible = self.visible.lock();
        if visible.removal_number != removal_number || visible.users.len() + visible.notes.len() > REMEMBERED
        {
            *visible = Visible { removal_number, ..Visible::default() };
        }
        let mut ends = EdgeEnds::default();
        for flip in flips {
            if !visible.users.contains(&flip.actor.0) {
                ends.actors.insert(flip.actor.0);
            }
            if visible.of(kind.target()).is_none_or(|known| !known.contains(&flip.target)) {
                ends.targets.insert(flip.target);
            }
        }
        ends
    }

    /// Remembers what the added edges say of their ends.
    pub fn note(&self, kind: EdgeKind, flips: &[&Flip], added: &[ChangedEdge], removal_number: i64) {
        if flips.is_empty() {
            return;
        }
        self.are_new.store(added.len() == flips.len(), Relaxed);
        let mut visible = self.visible.lock();
        if visible.removal_number != removal_number {
            return;
        }
        for edge in added.iter().filter(|edge| edge.included && edge.is_shown) {
            visible.users.insert(edge.actor.0);
            if let Some(known) = visible.of(kind.target()) {
                known.insert(edge.target);
            }
        }
    }
}

impl Visible {
    fn of(&mut self, kind: EntityKind) -> Option<&mut HashSet<Id>> {
        match kind {
            EntityKind::User => Some(&mut self.users),
            EntityKind::Note => Some(&mut self.notes),
            EntityKind::Comment | EntityKind::Group | EntityKind::Inbox => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::UserId;

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn like(kind: EdgeKind, actor: i64, target: i64) -> Flip {
        let (actor, target, owner) = (UserId(id(actor)), id(target), UserId(id(9)));
        Flip { kind, actor, target, owner, on: true, at: 10, by: None }
    }

    const fn added(flip: &Flip, included: bool) -> ChangedEdge {
        ChangedEdge { actor: flip.actor, target: flip.target, included, is_shown: true, told: -1 }
    }

    #[test]
    fn ends_of_edges_that_count_are_not_looked_up_again_until_something_is_removed() {
        let (memory, kind) = (EdgeMemory::new(), EdgeKind::NoteLike);
        let (counts, does_not) = (like(kind, 1, 5), like(kind, 2, 6));
        let flips = [&counts, &does_not];
        assert_eq!(memory.unchecked(kind, &flips, 7), EdgeEnds::of(&flips));
        memory.note(kind, &flips, &[added(&counts, true), added(&does_not, false)], 7);
        assert_eq!(memory.unchecked(kind, &flips, 7), EdgeEnds::of(&[&does_not]));
        assert_eq!(memory.unchecked(kind, &flips, 8), EdgeEnds::of(&flips));
        memory.note(kind, &flips, &[added(&counts, true)], 7); // of a batch that began before
        assert_eq!(memory.unchecked(kind, &flips, 8), EdgeEnds::of(&flips));
    }

    #[test]
    fn comments_and_groups_are_always_looked_up() {
        let memory = EdgeMemory::new();
        for kind in [EdgeKind::CommentLike, EdgeKind::GroupJoin] {
            let flip = like(kind, 1, 5);
            memory.note(kind, &[&flip], &[added(&flip, true)], 0);
            assert_eq!(memory.unchecked(kind, &[&flip], 0).targets, EdgeEnds::of(&[&flip]).targets);
        }
    }
}
