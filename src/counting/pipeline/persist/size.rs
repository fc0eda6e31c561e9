//! Adaptive batch size: large during a backlog, small while transactions fail.

use std::time::Duration;

use parking_lot::Mutex;

/// Consecutive failures after which the size is halved.
const FAILURES_TO_HALVE: u32 = 5;
/// Largest batch during a backlog, even above the setting. Events of the same entities then share an update of
/// the totals and an invalidation. Their rows of `activity` fill one block.
const MAX_EVENTS: usize = 10_000;
/// Batches grow only while one is written within this time, and shrink after one that took more than twice as
/// long: a batch locks rows, and a request waits for a locked row for a second at most.
const SHORT: Duration = Duration::from_millis(500);

/// The usual size is a setting. It grows during a backlog, and shrinks while transactions fail repeatedly for lack of
/// time or memory: a smaller one may succeed.
pub struct BatchSize {
    usual: usize,
    state: Mutex<SizeState>,
}

struct SizeState {
    current: usize,
    failures: u32,
}

impl BatchSize {
    pub fn new(usual: usize) -> Self {
        debug_assert!(usual > 0, "an empty batch would never end a backlog");
        Self { usual, state: Mutex::new(SizeState { current: usual, failures: 0 }) }
    }

    pub fn get(&self) -> usize {
        self.state.lock().current
    }

    /// Records a batch that failed and will be retried.
    pub fn failed(&self) {
        let mut state = self.state.lock();
        state.failures += 1;
        state.current = state.current.min(self.usual);
        if state.failures.is_multiple_of(FAILURES_TO_HALVE) {
            state.current = (state.current / 2).max(1);
        }
    }

    /// Records a committed batch of this many events.
    pub fn succeeded(&self, events: usize, took: Duration) {
        let mut state = self.state.lock();
        state.failures = 0;
        state.current = if state.current < self.usual {
            (state.current * 2).min(self.usual)
        } else if events < state.current {
            self.usual // the backlog is gone
        } else if took > 2 * SHORT {
            (state.current / 2).max(self.usual)
        } else if took <= SHORT {
            (state.current * 2).min(MAX_EVENTS)
        } else {
            state.current
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICKLY: Duration = Duration::from_millis(10);

    #[test]
    fn batches_are_halved_after_every_five_failures_and_grow_back() {
        let size = BatchSize::new(1_000);
        let after = |failures: u32| {
            (0..failures).for_each(|_| size.failed());
            size.get()
        };
        assert_eq!((after(4), after(1), after(5), after(5)), (1_000, 500, 250, 125));
        size.succeeded(125, QUICKLY);
        assert_eq!((size.get(), after(4)), (250, 250));
        (0..9).for_each(|_| size.succeeded(1, QUICKLY));
        assert_eq!((size.get(), after(500)), (1_000, 1));
    }

    #[test]
    fn full_batches_grow_to_ten_thousand_events_until_one_is_not_full() {
        let size = BatchSize::new(1_000);
        let after = |events: usize, took: u64| {
            size.succeeded(events, Duration::from_millis(took));
            size.get()
        };
        assert_eq!(after(999, 10), 1_000);
        assert_eq!((after(1_000, 10), after(2_000, 10), after(4_000, 10)), (2_000, 4_000, 8_000));
        assert_eq!((after(8_000, 10), after(10_000, 10), after(9_999, 10)), (10_000, 10_000, 1_000));
    }

    #[test]
    fn batches_grow_only_while_they_are_written_in_a_short_time() {
        let size = BatchSize::new(1_000);
        let after = |took: u64| {
            size.succeeded(size.get(), Duration::from_millis(took));
            size.get()
        };
        assert_eq!((after(500), after(501), after(1_000), after(1_001)), (2_000, 2_000, 2_000, 1_000));
        assert_eq!((after(9_000), after(500), after(500)), (1_000, 2_000, 4_000));
        size.failed();
        assert_eq!(size.get(), 1_000);
    }
}
