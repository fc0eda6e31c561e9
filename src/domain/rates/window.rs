//! A sliding window that is counted by two fixed ones: the present count, and of the one before as much as
//! still lies in the last window's length, as if it had come evenly. (Cloudflare, "How we built rate limiting
//! capable of scaling to millions of domains", 2017.)

use std::time::Duration;

use crate::{
    catalogue::UnixMillis,
    store::redis::{RateCounts, RateTotals},
};

/// A moment as a place in its window.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Of the window, counted from the Unix epoch.
    pub window: u64,
    elapsed_ms: u64,
    length_ms: u64,
}

impl Moment {
    pub fn at(now: UnixMillis, length: Duration) -> Self {
        let (now, length_ms) = (now.unsigned_abs(), (length.as_millis() as u64).max(1));
        Self { window: now / length_ms, elapsed_ms: now % length_ms, length_ms }
    }
}

/// What is known of one asker's requests, by class.
#[derive(Default, Debug)]
pub struct Counts {
    window: u64,
    previous: RateCounts,
    /// Those that were not shared yet among them.
    current: RateCounts,
    unshared: RateCounts,
}

impl Counts {
    /// Goes on to the moment's window. Clocks may go back a little: then it stays.
    pub fn roll(&mut self, now: &Moment) {
        if now.window <= self.window {
            return;
        }
        let is_next = now.window == self.window + 1;
        self.previous = if is_next { self.current } else { RateCounts::default() };
        (self.current, self.unshared) = (RateCounts::default(), RateCounts::default());
        self.window = now.window;
    }

    /// How long from now `cost` more of a class would be beyond the limit, if nothing else came; `None` when
    /// it is not. What costs more than the limit costs as much as the limit: it passes when nothing else did.
    pub fn wait(&self, now: &Moment, class: usize, limit: u64, cost: u64) -> Option<Duration> {
        let (previous, current, cost) = (self.previous[class], self.current[class], cost.min(limit));
        let Moment { elapsed_ms: elapsed, length_ms: length, .. } = *now;
        if previous * (length - elapsed) + (current + cost) * length <= limit * length {
            return None;
        }
        let wait_ms = match limit.checked_sub(current + cost) {
            Some(room) => place(previous, room, length) - elapsed,
            None => length - elapsed + place(current, limit - cost, length),
        };
        Some(Duration::from_millis(wait_ms))
    }

    pub fn add(&mut self, class: usize, cost: u64) {
        self.current[class] += cost;
        self.unshared[class] += cost;
    }

    pub const fn unshared(&self) -> (u64, RateCounts) {
        (self.window, self.unshared)
    }

    /// Takes in what all instances together counted, this one's `shared` among it. What Redis has forgotten is
    /// not forgotten here.
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

/// From where on in its window at most `room` is left of the `previous` one; ms.
fn place(previous: u64, room: u64, length: u64) -> u64 {
    length - (room * length).checked_div(previous).unwrap_or(length).min(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LENGTH: u64 = 60_000;

    fn moment(window: u64, elapsed_ms: u64) -> Moment {
        Moment { window, elapsed_ms, length_ms: LENGTH }
    }

    /// Asks so often; how many passed.
    fn ask(counts: &mut Counts, now: &Moment, limit: u64, times: u64) -> u64 {
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
    fn so_many_pass_in_a_window_and_the_one_before_counts_as_far_as_it_reaches() {
        let mut counts = Counts::default();
        assert_eq!(ask(&mut counts, &moment(7, 0), 60, 100), 60);
        assert_eq!(ask(&mut counts, &moment(7, LENGTH - 1), 60, 100), 0);
        assert_eq!(ask(&mut counts, &moment(8, 0), 60, 100), 0);
        assert_eq!(ask(&mut counts, &moment(8, LENGTH / 2), 60, 100), 30);
        // A window without any.
        assert_eq!(ask(&mut counts, &moment(10, 0), 60, 100), 60);
    }

    #[test]
    fn what_others_counted_counts_and_is_not_taken_back() {
        let mut counts = Counts::default();
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
    fn an_exchange_that_ends_in_the_next_window_counts_for_the_one_before() {
        let mut counts = Counts::default();
        counts.roll(&moment(7, 0));
        counts.roll(&moment(8, 0));
        counts.take_in(7, &[0; 3], &RateTotals { current: [60, 0, 0], previous: [0; 3] });
        assert_eq!(ask(&mut counts, &moment(8, LENGTH / 2), 60, 100), 30);
    }

    proptest! {
        #[test]
        fn after_the_wait_it_passes_and_not_before(
            previous in 0..200_u64, current in 0..200_u64, elapsed in 0..LENGTH, limit in 1..150_u64,
            cost in 1..200_u64,
        ) {
            let counts = Counts { window: 7, previous: [previous, 0, 0], current: [current, 0, 0], ..Counts::default() };
            let waited = |wait_ms: u64| {
                let mut later = Counts { window: 7, previous: counts.previous, current: counts.current, ..Counts::default() };
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
