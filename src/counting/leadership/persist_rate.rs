//! Rate limit of the persister: a bound on the events that a process persists per second, so that a backlog
//! does not take all of PostgreSQL's capacity.

use std::num::NonZeroU32;

use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock, ReasonablyRealtime},
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};

/// A token bucket, shared by all shards of a process. When full it admits one batch of the usual size at once.
pub struct PersistRateLimit<C: Clock = DefaultClock> {
    bucket: RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>,
    burst: NonZeroU32,
}

impl PersistRateLimit {
    pub fn new(per_second: u32, batch: usize) -> Self {
        Self::with_clock(per_second, batch, DefaultClock::default())
    }
}

impl<C: Clock> PersistRateLimit<C> {
    fn with_clock(per_second: u32, batch: usize, clock: C) -> Self {
        let burst = at_least_one(batch);
        let quota = Quota::per_second(at_least_one(per_second as usize)).allow_burst(burst);
        Self { bucket: RateLimiter::direct_with_clock(quota, clock), burst }
    }

    /// Waits until this many events may be persisted. Dropping the future takes nothing.
    pub async fn wait_for(&self, events: usize)
    where
        C: ReasonablyRealtime,
    {
        let mut left = events;
        while left > 0 {
            let part = at_least_one(left).min(self.burst);
            // Never more than the bucket holds, so there is no other outcome.
            let _ = self.bucket.until_n_ready(part).await;
            left -= part.get() as usize;
        }
    }
}

fn at_least_one(count: usize) -> NonZeroU32 {
    NonZeroU32::new(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use governor::clock::FakeRelativeClock;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// For any sequence of requests, no more events pass than the bucket held and the rate has refilled.
        #[test]
        fn no_more_events_pass_than_the_rate_allows(
            per_second in 1..10_000_000_u32,
            batch in 1..2_000_usize,
            requests in prop::collection::vec((0..2_000_u64, 1..2_000_usize), 1..200),
        ) {
            let clock = FakeRelativeClock::default();
            let limit = PersistRateLimit::with_clock(per_second, batch, clock.clone());
            let (mut passed, mut elapsed) = (0_u64, Duration::ZERO);
            for (pause, events) in requests {
                clock.advance(Duration::from_micros(pause));
                elapsed += Duration::from_micros(pause);
                let part = at_least_one(events).min(limit.burst);
                if limit.bucket.check_n(part).unwrap().is_ok() {
                    passed += u64::from(part.get());
                }
                // The bucket counts in whole nanoseconds per event.
                let refilled = elapsed.as_nanos() / u128::from(1_000_000_000 / per_second);
                prop_assert!(u128::from(passed) <= batch as u128 + refilled);
            }
        }
    }

    #[tokio::test]
    async fn more_events_than_the_bucket_holds_pass_in_parts() {
        let limit = PersistRateLimit::new(10_000_000, 3);
        limit.wait_for(10).await;
        limit.wait_for(0).await;
    }

    #[tokio::test]
    async fn an_abandoned_wait_takes_no_tokens() {
        let limit = PersistRateLimit::new(1, 2);
        limit.wait_for(1).await;
        assert!(tokio::time::timeout(Duration::from_millis(1), limit.wait_for(2)).await.is_err());
        limit.wait_for(1).await;
    }
}
