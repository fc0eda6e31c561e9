//! Carried numbers: what a total includes that has no rows, such as the views and likes of an app from before it kept
//! records, or the coins that users had elsewhere. An import sets them.

use super::{Counter, EdgeKind, EntityKind, Party};

/// The counters that may carry a number.
pub const CARRIED: [Counter; 5] = [
    Counter::NoteLikes,
    Counter::NoteCollects,
    Counter::NoteViews,
    Counter::UserFollowers,
    Counter::UserCoins,
];

/// The highest carried number. What an author receives is a sum over notes: it stays below 2^53 for 9,000 notes
/// that all carry so many likes.
pub const MAX_CARRIED: i64 = 1_000_000_000_000;

/// Whether totals of this counter may include a carried number.
pub fn may_carry(counter: Counter) -> bool {
    CARRIED.contains(&counter)
}

/// The counter of this name that may carry a number.
pub fn carried_counter(kind: EntityKind, name: &str) -> Option<Counter> {
    CARRIED.into_iter().find(|counter| counter.kind() == kind && counter.name() == name)
}

/// The counter of the owner in which a number of this counter counts, too, while everybody sees its entity.
pub fn counter_of_owner(counter: Counter) -> Option<Counter> {
    let edge = EdgeKind::ALL.iter().find(|kind| kind.total() == counter)?;
    edge.moves().iter().find(|moved| moved.party == Party::Owner).map(|moved| moved.counter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_and_collects_that_a_note_carries_count_for_its_author() {
        let of_owner: Vec<Option<Counter>> = CARRIED.iter().copied().map(counter_of_owner).collect();
        let received = [Some(Counter::UserLikesReceived), Some(Counter::UserCollectsReceived)];
        assert_eq!(of_owner, [received[0], received[1], None, None, None]);
    }

    #[test]
    fn a_carried_counter_is_found_by_its_kind_and_name() {
        assert_eq!(carried_counter(EntityKind::Note, "views"), Some(Counter::NoteViews));
        for (kind, name) in [(EntityKind::User, "views"), (EntityKind::Note, "comments")] {
            assert_eq!(carried_counter(kind, name), None);
        }
    }
}
