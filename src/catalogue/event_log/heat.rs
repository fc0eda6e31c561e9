//! Sums of the heat of events, per bucket of time and note.

use std::collections::BTreeMap;

use super::{Entry, Event};
use crate::{Bucket, UnixMillis, primitives::Id};

/// Heat to add, per bucket and note.
pub type Heat = BTreeMap<Bucket, BTreeMap<Id, i64>>;

/// Heat that the entries add to their targets, by the time of each event. Does not contain notes whose flips cancel
/// out.
pub fn heat_of<'a>(entries: impl IntoIterator<Item = &'a Entry>, now: UnixMillis) -> Heat {
    let mut heat = Heat::new();
    let flips = entries.into_iter().filter_map(|entry| match &entry.event {
        Event::Flip(flip) => Some(flip),
        _ => None,
    });
    for flip in flips.filter(|flip| flip.heat() != 0) {
        for bucket in Bucket::all_of(flip.at, now) {
            *heat.entry(bucket).or_default().entry(flip.target).or_default() += flip.heat();
        }
    }
    heat.retain(|_, notes| {
        notes.retain(|_, heat| *heat != 0);
        !notes.is_empty()
    });
    heat
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        EdgeKind, Flip, Span,
        primitives::{Offset, UserId},
    };

    const NOW: UnixMillis = 1_700_000_000_000;

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn flip(kind: EdgeKind, target: i64, on: bool, at: UnixMillis) -> Entry {
        let (actor, owner) = (UserId(id(1)), UserId(id(2)));
        let event = Event::Flip(Flip { kind, actor, target: id(target), owner, on, at, by: None });
        Entry::read(Offset::new(1, 1), &event.to_string())
    }

    #[test]
    fn a_flip_heats_its_target_in_the_buckets_of_its_own_time() {
        let yesterday = NOW - Span::Hour.step() * 100;
        let entries = [
            flip(EdgeKind::NoteLike, 5, true, NOW),
            flip(EdgeKind::NoteLike, 5, true, yesterday),
            flip(EdgeKind::NoteLike, 6, false, NOW),
            flip(EdgeKind::Follow, 7, true, NOW),
        ];
        let heat = heat_of(&entries, NOW);
        assert_eq!(heat[&Bucket::of(Span::Hour, NOW)], BTreeMap::from([(id(5), 1), (id(6), -1)]));
        assert!(!heat.contains_key(&Bucket::of(Span::Hour, yesterday)));
        assert_eq!(heat[&Bucket::of(Span::Day, yesterday)], BTreeMap::from([(id(5), 1)]));
    }

    #[test]
    fn what_cancels_out_is_left_out() {
        let entries = [flip(EdgeKind::NoteLike, 5, true, NOW), flip(EdgeKind::NoteLike, 5, false, NOW)];
        assert_eq!(heat_of(&entries, NOW), Heat::new());
    }
}
