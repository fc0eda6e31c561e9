//! Sliding window counter, estimated from two fixed windows: the count of the present one, plus the share of the
//! previous one that the sliding window still covers, assuming an even distribution. (Cloudflare, "How we built
//! rate limiting capable of scaling to millions of domains", 2017.)

use std::time::Duration;

use plaudit_catalogue::UnixMillis;
use plaudit_store::redis::{RateCounts, RateTotals};

/// A moment, as a position in its fixed window.
#[derive(Clone, Copy, Debug)]
pub struct WindowMoment {
    /// Number of the window, counted from the Unix epoch.
    pub window: u64,
    elapsed_ms: u64,
    length_ms: u64,
}

impl WindowMoment {
    pub fn at(now: UnixMillis, length: Duration) -> Self {
        let (now, length_ms) = (now.unsigned_abs(), (length.as_millis() as u64).max(1));
        Self { window: now / length_ms, elapsed_ms: now % length_ms, length_ms }
    }
}

/// Known requests of one user or address, by class.
#[derive(Default, Debug)]
pub struct RequestCounts {
    window: u64,
    previous: RateCounts,
    /// Includes `unshared`.
    current: RateCounts,
    unshared: RateCounts,
}

impl RequestCounts {
    /// Advances to the moment's window; ignores a clock that went back.
    pub fn roll(&mut self, now: &WindowMoment) {
        if now.window <= self.window {
            return;
        }
        let is_next = now.window == self.window + 1;
        self.previous = if is_next { self.current } else { RateCounts::default() };
        (self.current, self.unshared) = (RateCounts::default(), RateCounts::default());
        self.window = now.window;
    }

    /// How long until `cost` more of a class fits into the limit, if nothing else is counted meanwhile; `None`
    /// if it fits now. A cost above the limit is taken as the limit, so it fits after an idle window.
    pub fn wait(&self, now: &WindowMoment, class: usize, limit: u64, cost: u64) -> Option<Duration> {
        let (previous, current, cost) = (self.previous[class], self.current[class], cost.min(limit));
        let WindowMoment { elapsed_ms: elapsed, length_ms: length, .. } = *now;
        if previous * (length - elapsed) + (current + cost) * length <= limit * length {
            return None;
        }
        let wait_ms = match limit.checked_sub(current + cost) {
            Some(room) => elapsed_until(previous, room, length) - elapsed,
            None => length - elapsed + elapsed_until(current, limit - cost, length),
        };
        Some(Duration::from_millis(wait_ms))
    }

    /// What is counted in the sliding window, rounded.
    pub const fn used(&self, now: &WindowMoment, class: usize) -> u64 {
        let WindowMoment { elapsed_ms: elapsed, length_ms: length, .. } = *now;
        self.current[class] + (self.previous[class] * length.saturating_sub(elapsed) + length / 2) / length
    }

    pub fn add(&mut self, class: usize, cost: u64) {
        self.current[class] += cost;
        self.unshared[class] += cost;
    }

    pub const fn unshared(&self) -> (u64, RateCounts) {
        (self.window, self.unshared)
    }

    /// Merges the totals of all instances, which include this one's `shared`. Counts never decrease, even if
    /// Redis lost data.
    pub fn take_in(&mut self, window: u64, shared: &RateCounts, totals: &RateTotals) {
        for (class, shared) in shared.iter().enumerate() {
            if window == self.window {
                self.unshared[class] = self.unshared[class].saturating_sub(*shared);
                let known = totals.current[class] + self.unshared[class];
                self.current[class] = self.current[class].max(known);
                self.previous[class] = self.previous[class].max(totals.previous[class]);
            } else if window + 1 == self.window {
                self.previous[class] = self.previous[class].max(totals.current[class]);
            }
        }
    }
}

/// Time within a window, in ms, from which at most `room` of the `previous` count is still covered.
fn elapsed_until(previous: u64, room: u64, length: u64) -> u64 {
    length - (room * length).checked_div(previous).unwrap_or(length).min(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LENGTH: u64 = 60_000;

    fn moment(window: u64, elapsed_ms: u64) -> WindowMoment {
        WindowMoment { window, elapsed_ms, length_ms: LENGTH }
    }

    /// Sends `times` requests; returns how many passed.
    fn ask(counts: &mut RequestCounts, now: &WindowMoment, limit: u64, times: u64) -> u64 {
        counts.roll(now);
        let mut passed = 0;
        for _ in 0..times {
            if counts.wait(now, 0, limit, 1).is_none() {
                counts.add(0, 1);
                passed += 1;
            }
        }
        passed
    }

    #[test]
    fn a_window_admits_the_limit_and_the_previous_one_counts_by_its_covered_share() {
        let mut counts = RequestCounts::default();
        assert_eq!(ask(&mut counts, &moment(7, 0), 60, 100), 60);
        assert_eq!(ask(&mut counts, &moment(7, LENGTH - 1), 60, 100), 0);
        assert_eq!(ask(&mut counts, &moment(8, 0), 60, 100), 0);
        assert_eq!(ask(&mut counts, &moment(8, LENGTH / 2), 60, 100), 30);
        // An empty window lies between.
        assert_eq!(ask(&mut counts, &moment(10, 0), 60, 100), 60);
    }

    #[test]
    fn counts_of_other_instances_are_added_and_never_taken_back() {
        let mut counts = RequestCounts::default();
        assert_eq!(ask(&mut counts, &moment(7, 0), 60, 10), 10);
        let (window, shared) = counts.unshared();
        assert_eq!((window, shared), (7, [10, 0, 0]));
        assert_eq!(ask(&mut counts, &moment(7, 1), 60, 5), 5);
        counts.take_in(window, &shared, &RateTotals { current: [40, 0, 0], previous: [0, 0, 0] });
        assert_eq!(counts.unshared().1, [5, 0, 0]);
        assert_eq!(ask(&mut counts, &moment(7, 1), 60, 100), 15);
        counts.take_in(7, &[0; 3], &RateTotals::default());
        assert_eq!(ask(&mut counts, &moment(7, 1), 60, 100), 0);
    }

    #[test]
    fn an_exchange_that_ends_in_the_next_window_counts_for_the_previous_one() {
        let mut counts = RequestCounts::default();
        counts.roll(&moment(7, 0));
        counts.roll(&moment(8, 0));
        counts.take_in(7, &[0; 3], &RateTotals { current: [60, 0, 0], previous: [0; 3] });
        assert_eq!(ask(&mut counts, &moment(8, LENGTH / 2), 60, 100), 30);
    }

    proptest! {
        #[test]
        fn a_request_passes_after_the_wait_and_not_before(
            previous in 0..200_u64, current in 0..200_u64, elapsed in 0..LENGTH, limit in 1..150_u64,
            cost in 1..200_u64,
        ) {
            let counts = || RequestCounts {
                window: 7,
                previous: [previous, 0, 0],
                current: [current, 0, 0],
                ..RequestCounts::default()
            };
            let waited = |wait_ms: u64| {
                let mut later = counts();
                let at = elapsed + wait_ms;
                let now = moment(7 + at / LENGTH, at % LENGTH);
                later.roll(&now);
                later.wait(&now, 0, limit, cost)
            };
            if let Some(wait) = waited(0) {
                let wait_ms = wait.as_millis() as u64;
                prop_assert!((1..=2 * LENGTH).contains(&wait_ms));
                prop_assert_eq!(waited(wait_ms), None);
                prop_assert!(waited(wait_ms - 1).is_some());
            }
        }
    }
}
