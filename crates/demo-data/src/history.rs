//! Timeline of the demo data: sixty days that end now.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate};
use rand::{Rng, RngExt};

/// Milliseconds since the Unix epoch.
pub type EpochMillis = i64;

const DAY: EpochMillis = 24 * 60 * 60 * 1_000;
const LENGTH: EpochMillis = 60 * DAY;

/// Pieces in which rows that must be written in the order of time are written.
pub const STRETCHES: usize = 12;

/// Days whose single steps are kept, besides today: enough for every window of hot notes.
const KEPT_DAYS: EpochMillis = 7;

/// The share of reactions that come in the last week, whatever the age of what they are to.
const LATE: f64 = 0.3;
/// How much more of them come in its last days; 1 would spread them evenly.
const RISE: f64 = 1.3;

/// The share of the time left that passes at most before what comes right after something.
const RIGHT_AFTER: f64 = 0.02;

/// The share of the time that passes before the second user joins, so that somebody can write first.
const PRELUDE: f64 = 0.01;

/// The time that the demo data covers.
#[derive(Clone, Copy)]
pub struct Timeline {
    now: EpochMillis,
}

impl Timeline {
    pub const fn ending(now: EpochMillis) -> Self {
        Self { now }
    }

    pub const fn start(self) -> EpochMillis {
        self.now - LENGTH
    }

    /// Moments in rising order. The higher the exponent, the more of them are early; 1 spreads them evenly.
    pub fn rising(self, rng: &mut impl Rng, count: usize, exponent: f64) -> Vec<EpochMillis> {
        let mut moments: Vec<_> = (0..count)
            .map(|_| {
                let passed = PRELUDE + (1.0 - PRELUDE) * rng.random::<f64>().powf(exponent);
                self.start() + (LENGTH as f64 * passed) as EpochMillis
            })
            .collect();
        moments.sort_unstable();
        moments
    }

    /// A moment after `earliest`, most likely soon.
    pub fn soon_after(self, rng: &mut impl Rng, earliest: EpochMillis) -> EpochMillis {
        earliest + ((self.now - earliest) as f64 * rng.random::<f64>().powi(3)) as EpochMillis
    }

    /// When somebody reacts to what is there since `earliest`: most likely soon, but some do in the last week,
    /// so that at any time something happened within the last hour.
    pub fn reaction_to(self, rng: &mut impl Rng, earliest: EpochMillis) -> EpochMillis {
        if !rng.random_bool(LATE) {
            return self.soon_after(rng, earliest);
        }
        let age = (self.now - earliest).min(7 * DAY) as f64;
        self.now - (age * rng.random::<f64>().powf(RISE)) as EpochMillis
    }

    /// A moment soon after `earliest`.
    pub fn right_after(self, rng: &mut impl Rng, earliest: EpochMillis) -> EpochMillis {
        earliest + ((self.now - earliest) as f64 * RIGHT_AFTER * rng.random::<f64>()) as EpochMillis
    }

    /// Stretches of time, one behind the other, that cover it all: from each moment to before the next. Later
    /// ones are shorter, because more happens in them.
    pub fn stretches(self) -> [(EpochMillis, EpochMillis); STRETCHES] {
        let edge =
            |left: usize| self.now + 1 - (LENGTH + 1) * (left * left) as i64 / (STRETCHES * STRETCHES) as i64;
        std::array::from_fn(|number| (edge(STRETCHES - number), edge(STRETCHES - number - 1)))
    }

    /// The UTC days of which each step is kept: the last seven, and today.
    pub fn kept_days(self) -> BTreeSet<NaiveDate> {
        let day =
            |age| DateTime::from_timestamp_millis(self.now - age * DAY).unwrap_or_default().date_naive();
        (0..=KEPT_DAYS).map(day).collect()
    }

    /// From 0 for the oldest moment to 1 for now.
    pub fn newness(self, moment: EpochMillis) -> f64 {
        (moment - self.start()) as f64 / LENGTH as f64
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    const NOW: EpochMillis = 1_800_000_000_000;

    #[test]
    fn stretches_follow_each_other_and_cover_it_all() {
        let history = Timeline::ending(NOW);
        let stretches = history.stretches();
        assert_eq!((stretches[0].0, stretches[STRETCHES - 1].1), (history.start(), NOW + 1));
        assert!(stretches.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }

    #[test]
    fn nothing_comes_before_its_cause_or_after_now() {
        let (rng, history) = (&mut StdRng::seed_from_u64(1), Timeline::ending(NOW));
        for earliest in [history.start(), NOW - DAY, NOW - 1, NOW].repeat(100) {
            for moment in [
                history.soon_after(rng, earliest),
                history.reaction_to(rng, earliest),
                history.right_after(rng, earliest),
            ] {
                assert!((earliest..=NOW).contains(&moment));
            }
        }
    }

    #[test]
    fn the_kept_days_are_the_last_week_and_today() {
        let days = Timeline::ending(NOW).kept_days();
        assert_eq!((days.len(), days.last()), (8, NaiveDate::from_ymd_opt(2027, 1, 15).as_ref()));
    }
}
