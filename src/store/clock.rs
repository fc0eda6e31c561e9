//! The difference between the clock of a store and the clock of this machine.

use std::time::Instant;

/// More than this, in milliseconds, is worth a warning: times of actions come from this machine, and retention,
/// leases and the heat of notes from the stores.
const TOLERATED_MS: i64 = 2_000;

/// How far a store's clock is ahead of this machine's, in milliseconds; negative if it is behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockDifference(i64);

/// A question for the time that is under way.
pub struct ClockReading {
    asked_ms: i64,
    asked: Instant,
}

impl ClockReading {
    pub fn begin() -> Self {
        Self { asked_ms: plaudit_catalogue::primitives::now(), asked: Instant::now() }
    }

    /// `store_ms`: the Unix time in milliseconds that the store gave. The answer was given at an unknown moment of
    /// the round trip, so only what the round trip cannot explain counts.
    pub fn ends(self, store_ms: i64) -> ClockDifference {
        let took_ms = i64::try_from(self.asked.elapsed().as_millis()).unwrap_or(i64::MAX);
        let earliest = self.asked_ms;
        let latest = self.asked_ms.saturating_add(took_ms);
        ClockDifference(store_ms - store_ms.clamp(earliest, latest))
    }
}

impl ClockDifference {
    /// What to do, if the clocks are too far apart.
    pub fn advice(self, store: &str) -> Option<String> {
        if self.0.abs() <= TOLERATED_MS {
            return None;
        }
        let seconds = self.0.abs() as f64 / 1_000.0;
        let side = if self.0 > 0 { "ahead of" } else { "behind" };
        Some(format!(
            "the clock of {store} is {seconds:.1} s {side} that of this machine: synchronise both, such as with chrony"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_round_trip_cannot_explain_is_a_difference() {
        let reading = || ClockReading { asked_ms: 1_000_000, asked: Instant::now() };
        assert_eq!(reading().ends(1_000_000), ClockDifference(0));
        assert_eq!(reading().ends(990_000), ClockDifference(-10_000));
        assert!(reading().ends(990_000).advice("Redis").unwrap().contains("10.0 s behind"));
        assert!(reading().ends(1_060_000).advice("Redis").unwrap().contains("s ahead of"));
        assert_eq!(reading().ends(1_001_500).advice("Redis"), None);
    }
}
