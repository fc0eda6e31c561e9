//! Gathering (micro-batching): events that arrive one by one are handled in batches. The first batch after a pause
//! begins at once; the next one begins an interval later, so that its events share scripts and entities. A full batch
//! is followed by the next one without a pause.

use std::time::{Duration, Instant};

/// When the next batch may begin.
pub struct Gather {
    interval: Duration,
    next: Instant,
}

impl Gather {
    pub fn every(interval: Duration) -> Self {
        Self { interval, next: Instant::now() }
    }

    /// Waits until the next batch may begin.
    pub async fn wait(&self) {
        let pause = self.pause(Instant::now());
        if pause > Duration::ZERO {
            tokio::time::sleep(pause).await;
        }
    }

    /// A batch begins now; `is_full` if events of the next one may wait already.
    pub fn begin(&mut self, now: Instant, is_full: bool) {
        self.next = if is_full { now } else { now + self.interval };
    }

    fn pause(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(5);

    #[test]
    fn the_first_batch_after_a_pause_begins_at_once_and_the_next_one_an_interval_later() {
        let (mut gather, now) = (Gather::every(INTERVAL), Instant::now());
        assert_eq!(gather.pause(now), Duration::ZERO);
        gather.begin(now, false);
        assert_eq!(gather.pause(now + INTERVAL / 5), INTERVAL * 4 / 5);
        assert_eq!(gather.pause(now + 2 * INTERVAL), Duration::ZERO);
    }

    #[test]
    fn a_full_batch_is_followed_by_the_next_one_at_once() {
        let (mut gather, now) = (Gather::every(INTERVAL), Instant::now());
        gather.begin(now, true);
        assert_eq!(gather.pause(now), Duration::ZERO);
    }
}
