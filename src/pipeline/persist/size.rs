//! How many events a batch takes.

use parking_lot::Mutex;

/// Failures in a row after which batches are halved.
const PATIENCE: u32 = 5;

/// The most that the settings allow, and less while transactions fail again and again for want of time or
/// memory: a smaller one may go through. It grows back as they succeed.
pub struct BatchSize {
    most: usize,
    state: Mutex<State>,
}

struct State {
    now: usize,
    failures: u32,
}

impl BatchSize {
    pub fn new(most: usize) -> Self {
        Self { most, state: Mutex::new(State { now: most, failures: 0 }) }
    }

    pub fn get(&self) -> usize {
        self.state.lock().now
    }

    /// PostgreSQL did not take a batch, for now.
    pub fn failed(&self) {
        let mut state = self.state.lock();
        state.failures += 1;
        if state.failures.is_multiple_of(PATIENCE) {
            state.now = (state.now / 2).max(1);
        }
    }

    /// PostgreSQL took a batch.
    pub fn worked(&self) {
        let mut state = self.state.lock();
        state.failures = 0;
        state.now = (state.now * 2).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_halved_after_five_failures_each_and_grow_back() {
        let size = BatchSize::new(1_000);
        let after = |failures: u32| {
            (0..failures).for_each(|_| size.failed());
            size.get()
        };
        assert_eq!((after(4), after(1), after(5), after(5)), (1_000, 500, 250, 125));
        size.worked();
        assert_eq!((size.get(), after(4)), (250, 250));
        (0..9).for_each(|_| size.worked());
        assert_eq!((size.get(), after(500)), (1_000, 1));
    }
}
