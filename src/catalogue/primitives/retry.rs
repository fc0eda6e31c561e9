//! Retry delays: exponential backoff with jitter and without an end.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

/// Delays between attempts. They double each time, up to the longest one.
#[derive(Debug)]
pub struct RetryDelays {
    first: Duration,
    longest: Duration,
    delays: ExponentialBackoff,
}

impl RetryDelays {
    /// The first delay and the longest one. Jitter adds up to as much again to each, but the longest one includes it.
    pub fn between(first: Duration, longest: Duration) -> Self {
        Self { first, longest, delays: delays(first, longest) }
    }

    /// Starts with the first delay again, after a success.
    pub fn reset(&mut self) {
        self.delays = delays(self.first, self.longest);
    }

    /// The delay before the next attempt.
    pub fn next_delay(&mut self) -> Duration {
        self.delays.next().unwrap_or(self.longest)
    }

    /// Waits before the next attempt.
    pub async fn pause(&mut self) {
        tokio::time::sleep(self.next_delay()).await;
    }
}

fn delays(first: Duration, longest: Duration) -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(first)
        .with_max_delay(longest / 2)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_up_to_the_longest_and_begin_short_again_after_a_success() {
        let (first, longest) = (Duration::from_millis(10), Duration::from_secs(1));
        let mut delays = RetryDelays::between(first, longest);
        for _ in 0..2 {
            let all: Vec<Duration> = (0..30).map(|_| delays.next_delay()).collect();
            assert!(all[0] >= first && all[0] <= 2 * first, "{:?}", all[0]);
            assert!(all[29] >= longest / 2 && all[29] <= longest, "{:?}", all[29]);
            delays.reset();
        }
    }
}
