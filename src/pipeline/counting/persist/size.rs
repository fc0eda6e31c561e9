//! How many events a batch takes.

use std::time::Duration;

use parking_lot::Mutex;

/// Failures in a row after which batches are halved.
const PATIENCE: u32 = 5;
/// While the persister is behind, batches may take so many events, whatever the settings say. Events of the same
/// entities then share an update of the totals, and a correction. Their steps of the history fill one block.
const MOST: usize = 10_000;
/// A batch that is to be followed by a larger one must be written within this time, and after one that took twice
/// as long the next one is half as large: whoever needs a row that a batch locks waits, and a request does so for
/// a second at most.
const SHORT: Duration = Duration::from_millis(500);

/// What the settings say; more while there is a backlog; and less while transactions fail again and again for
/// want of time or memory: a smaller one may go through.
pub struct BatchSize {
    usual: usize,
    state: Mutex<State>,
}

struct State {
    now: usize,
    failures: u32,
}

impl BatchSize {
    pub fn new(usual: usize) -> Self {
        Self { usual, state: Mutex::new(State { now: usual, failures: 0 }) }
    }

    pub fn get(&self) -> usize {
        self.state.lock().now
    }

    /// PostgreSQL did not take a batch, for now.
    pub fn failed(&self) {
        let mut state = self.state.lock();
        state.failures += 1;
        state.now = state.now.min(self.usual);
        if state.failures.is_multiple_of(PATIENCE) {
            state.now = (state.now / 2).max(1);
        }
    }

    /// PostgreSQL took a batch of so many events.
    pub fn worked(&self, events: usize, took: Duration) {
        let mut state = self.state.lock();
        state.failures = 0;
        state.now = if state.now < self.usual {
            (state.now * 2).min(self.usual)
        } else if events < state.now {
            self.usual // nothing is left
        } else if took > 2 * SHORT {
            (state.now / 2).max(self.usual)
        } else if took <= SHORT {
            (state.now * 2).min(MOST)
        } else {
            state.now
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::from_millis(10);

    #[test]
    fn batches_are_halved_after_five_failures_each_and_grow_back() {
        let size = BatchSize::new(1_000);
        let after = |failures: u32| {
            (0..failures).for_each(|_| size.failed());
            size.get()
        };
        assert_eq!((after(4), after(1), after(5), after(5)), (1_000, 500, 250, 125));
        size.worked(125, AT_ONCE);
        assert_eq!((size.get(), after(4)), (250, 250));
        (0..9).for_each(|_| size.worked(1, AT_ONCE));
        assert_eq!((size.get(), after(500)), (1_000, 1));
    }

    #[test]
    fn batches_that_come_full_grow_to_ten_thousand_events_until_one_does_not() {
        let size = BatchSize::new(1_000);
        let after = |events: usize, took: u64| {
            size.worked(events, Duration::from_millis(took));
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
            size.worked(size.get(), Duration::from_millis(took));
            size.get()
        };
        assert_eq!((after(500), after(501), after(1_000), after(1_001)), (2_000, 2_000, 2_000, 1_000));
        assert_eq!((after(9_000), after(500), after(500)), (1_000, 2_000, 4_000));
        size.failed();
        assert_eq!(size.get(), 1_000);
    }
}
