//! Heat: decaying popularity of notes, summed in buckets of time.

use super::{Counter, EdgeKind, Flip, Party, UnixMillis};

/// Weight of one unit of a note's counter; other counters have none.
pub const WEIGHTS: &[(Counter, i64)] = &[(Counter::NoteLikes, 1), (Counter::NoteCollects, 2)];

const MINUTE: UnixMillis = 60_000;
const HOUR: UnixMillis = 60 * MINUTE;

/// A period that ends now, made of buckets. The newest bucket is incomplete, so the period is up to one bucket shorter
/// than its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Span {
    Hour,
    Day,
    Week,
}

/// The window of time whose heat ranks notes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HotWindow {
    Last(Span),
    /// All time: ranked by totals.
    All,
}

/// One interval of a span; the heat of a note is summed per bucket.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bucket {
    pub span: Span,
    /// Buckets of its length since 1970.
    pub number: i64,
}

impl EdgeKind {
    /// Heat that switching the edge on adds to its target.
    pub fn heat(self) -> i64 {
        let of_target = self.moves().iter().filter(|m| m.party == Party::Target);
        of_target.map(|m| m.counter.weight()).sum()
    }
}

impl Counter {
    fn weight(self) -> i64 {
        WEIGHTS.iter().find(|(counter, _)| *counter == self).map_or(0, |(_, weight)| *weight)
    }
}

impl Flip {
    /// Heat that the flip adds to its target.
    pub fn heat(&self) -> i64 {
        self.kind.heat() * self.sign()
    }
}

impl Span {
    pub const ALL: &'static [Self] = &[Self::Hour, Self::Day, Self::Week];

    /// As written in keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    /// Length of a bucket in milliseconds. Each is a multiple of the shorter ones.
    pub const fn step(self) -> UnixMillis {
        match self {
            Self::Hour => 5 * MINUTE,
            Self::Day => HOUR,
            Self::Week => 12 * HOUR,
        }
    }

    const fn buckets(self) -> i64 {
        match self {
            Self::Hour => 12,
            Self::Day => 24,
            Self::Week => 14,
        }
    }

    /// The buckets at this moment, newest first.
    pub fn window(self, now: UnixMillis) -> impl Iterator<Item = Bucket> {
        let newest = Bucket::of(self, now).number;
        (0..self.buckets()).map(move |age| Bucket { span: self, number: newest - age })
    }
}

impl HotWindow {
    pub const ALL: &'static [Self] =
        &[Self::Last(Span::Hour), Self::Last(Span::Day), Self::Last(Span::Week), Self::All];

    /// As written in keys and cursors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Last(span) => span.name(),
            Self::All => "all",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|window| window.name() == name)
    }
}

impl Bucket {
    pub const fn of(span: Span, at: UnixMillis) -> Self {
        Self { span, number: at.div_euclid(span.step()) }
    }

    /// The buckets of an event at `at`: none of a span that is over, and none if a wrong clock puts the event more than
    /// a bucket ahead.
    pub fn all_of(at: UnixMillis, now: UnixMillis) -> impl Iterator<Item = Self> {
        Span::ALL.iter().map(move |span| Self::of(*span, at)).filter(move |bucket| {
            let age = Self::of(bucket.span, now).number - bucket.number;
            (-1..bucket.span.buckets()).contains(&age)
        })
    }

    /// Every bucket that may be written to at this moment.
    pub fn all_alive(now: UnixMillis) -> impl Iterator<Item = Self> {
        Span::ALL.iter().flat_map(move |span| {
            let newest = Self { span: *span, number: Self::of(*span, now).number + 1 };
            std::iter::once(newest).chain(span.window(now))
        })
    }

    pub const fn begins_at(self) -> UnixMillis {
        self.number * self.span.step()
    }

    /// When the bucket is no longer read or written, plus a bucket's length.
    pub const fn ends_at(self) -> UnixMillis {
        (self.number + 1 + self.span.buckets()) * self.span.step()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_weights_are_those_of_a_notes_own_counters_and_edges_have_them() {
        for (counter, weight) in WEIGHTS {
            assert_eq!((counter.kind(), counter.weight()), (crate::EntityKind::Note, *weight));
        }
        assert_eq!(EdgeKind::NoteLike.heat(), 1);
        assert_eq!((EdgeKind::Follow.heat(), EdgeKind::CommentLike.heat()), (0, 0));
    }

    /// An edge's heat goes to its target, so only the target's counters may have a weight.
    #[test]
    fn only_counters_of_targets_weigh() {
        for moved in EdgeKind::ALL.iter().flat_map(|kind| kind.moves()) {
            assert!(moved.party == Party::Target || moved.counter.weight() == 0, "{moved:?}");
        }
    }

    #[test]
    fn steps_are_multiples_of_the_shorter_ones() {
        for pair in Span::ALL.windows(2) {
            assert_eq!(pair[1].step() % pair[0].step(), 0);
        }
    }

    proptest! {
        #[test]
        fn a_moment_falls_into_the_buckets_of_every_span_that_is_not_over(
            now in 0..1_i64 << 45, age in 0..10 * 24 * HOUR,
        ) {
            let fallen: BTreeSet<Bucket> = Bucket::all_of(now - age, now).collect();
            for span in Span::ALL {
                let window: Vec<Bucket> = span.window(now).collect();
                let bucket = Bucket::of(*span, now - age);
                prop_assert_eq!(fallen.contains(&bucket), window.contains(&bucket));
                prop_assert!(window.iter().all(|bucket| bucket.ends_at() > now + span.step() - 1));
            }
        }
    }

    #[test]
    fn what_a_wrong_clock_puts_far_ahead_falls_into_no_bucket() {
        assert_eq!(Bucket::all_of(i64::MAX, 0).count() + Bucket::all_of(i64::MIN, 0).count(), 0);
        assert_eq!(
            Bucket::all_of(HOUR, 0).map(|bucket| bucket.span).collect::<Vec<_>>(),
            [Span::Day, Span::Week]
        );
    }
}
