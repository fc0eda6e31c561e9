//! Ticks: what a process does for each of its shards from time to time it does for all of them at the same
//! moments. Their calls then travel together.

use std::{sync::LazyLock, time::Duration};

use tokio::time::Instant;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The next moment for work that is done at this interval.
pub fn next(interval: Duration) -> Instant {
    after(Instant::now(), interval)
}

/// Waits for [`next`].
pub async fn tick(interval: Duration) {
    tokio::time::sleep_until(next(interval)).await;
}

fn after(now: Instant, interval: Duration) -> Instant {
    let start = *START;
    let ticks = now.saturating_duration_since(start).as_nanos() / interval.as_nanos().max(1) + 1;
    start + interval * ticks as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_one_interval_has_the_same_moments() {
        let at = |ms| *START + Duration::from_millis(ms);
        let every = Duration::from_millis(500);
        assert_eq!([1, 499, 500, 1_250].map(|ms| after(at(ms), every)), [500, 500, 1_000, 1_500].map(at));
    }
}
