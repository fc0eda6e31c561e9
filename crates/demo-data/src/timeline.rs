//! Timeline of the demo data: sixty days that end now.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate};
use rand::{Rng, RngExt};

/// Milliseconds since the Unix epoch.
pub type EpochMillis = i64;

const DAY: EpochMillis = 24 * 60 * 60 * 1_000;
const LENGTH: EpochMillis = 60 * DAY;

/// Days before today whose single edges are kept: enough for every window of hot notes.
const KEPT_DAYS: EpochMillis = 7;

/// The share of reactions in the last week, independent of the age of their target.
const LATE: f64 = 0.3;
/// Exponent of their times: above 1, more of them are in the last days; at 1 they are evenly distributed.
const RISE: f64 = 1.3;

/// The longest delay of [`Timeline::right_after`], as a share of the remaining time.
const RIGHT_AFTER: f64 = 0.02;

/// The share of the time before the second user joins, so that the first user can write before.
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

    /// Times in ascending order. The higher the exponent, the earlier they are; at 1 they are evenly distributed.
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

    /// A time after `earliest`, most likely soon after it.
    pub fn soon_after(self, rng: &mut impl Rng, earliest: EpochMillis) -> EpochMillis {
        earliest + ((self.now - earliest) as f64 * rng.random::<f64>().powi(3)) as EpochMillis
    }

    /// The time of a reaction to something that exists since `earliest`: most likely soon after it, but some
    /// are in the last week, so that every recent hour has events.
    pub fn reaction_to(self, rng: &mut impl Rng, earliest: EpochMillis) -> EpochMillis {
        if !rng.random_bool(LATE) {
            return self.soon_after(rng, earliest);
        }
        let age = (self.now - earliest).min(7 * DAY) as f64;
        self.now - (age * rng.random::<f64>().powf(RISE)) as EpochMillis
    }

    /// A time right after `earliest`.
    pub fn right_after(self, rng: &mut impl Rng, earliest: EpochMillis) -> EpochMillis {
        earliest + ((self.now - earliest) as f64 * RIGHT_AFTER * rng.random::<f64>()) as EpochMillis
    }

    /// The UTC days whose single edges are kept: the last seven, and today.
    pub fn kept_days(self) -> BTreeSet<NaiveDate> {
        let day =
            |age| DateTime::from_timestamp_millis(self.now - age * DAY).unwrap_or_default().date_naive();
        (0..=KEPT_DAYS).map(day).collect()
    }

    /// From 0 for the start of the demo data to 1 for now.
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
    fn no_time_is_before_its_cause_or_after_now() {
        let (rng, timeline) = (&mut StdRng::seed_from_u64(1), Timeline::ending(NOW));
        for earliest in [timeline.start(), NOW - DAY, NOW - 1, NOW].repeat(100) {
            for moment in [
                timeline.soon_after(rng, earliest),
                timeline.reaction_to(rng, earliest),
                timeline.right_after(rng, earliest),
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
