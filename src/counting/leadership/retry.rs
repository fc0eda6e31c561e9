//! Retry with exponential backoff: a part of the pipeline survives outages of any length.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::state::Leadership;
use plaudit_catalogue::primitives::{RetryDelays, ShardId};
use plaudit_store::{StoreError, StoreResult};

/// The longest delay between two attempts, jitter included.
pub const LONGEST: Duration = Duration::from_secs(10);

/// Endless delays from 10 ms to [`LONGEST`].
pub fn delays() -> RetryDelays {
    RetryDelays::between(Duration::from_millis(10), LONGEST)
}

/// Consecutive failures of one kind of work. Only the first failure and the end of the streak are logged.
pub struct FailureStreak {
    shard: ShardId,
    what: &'static str,
    current: Mutex<Option<OngoingStreak>>,
}

struct OngoingStreak {
    began: Instant,
    failures: u32,
    delays: RetryDelays,
    /// Waiting for a shard's recovery is not logged.
    is_logged: bool,
}

impl FailureStreak {
    pub fn new(shard: ShardId, what: &'static str) -> Self {
        Self { shard, what, current: Mutex::default() }
    }

    /// Records a failure. Returns how long to wait before the next attempt.
    pub fn failed(&self, error: &StoreError) -> Duration {
        let mut current = self.current.lock();
        let streak = current.get_or_insert_with(|| OngoingStreak {
            began: Instant::now(),
            failures: 0,
            delays: delays(),
            is_logged: false,
        });
        streak.failures += 1;
        if !streak.is_logged && !matches!(error, StoreError::NotRecovered) {
            streak.is_logged = true;
            let (shard, what) = (self.shard.0, self.what);
            if error.is_transient() || matches!(error, StoreError::Fenced) {
                tracing::warn!(shard, what, %error, "a part of the pipeline failed; retrying until it succeeds");
            } else {
                tracing::error!(shard, what, %error, "a part of the pipeline failed; retrying until it succeeds");
            }
        }
        streak.delays.next_delay()
    }

    /// Records a success, which ends the streak if there is one.
    pub fn succeeded(&self) {
        let Some(ended) = self.current.lock().take() else { return };
        if ended.is_logged {
            let (shard, what, failures) = (self.shard.0, self.what, ended.failures);
            let seconds = format!("{:.1}", ended.began.elapsed().as_secs_f64());
            tracing::info!(shard, what, "the part works again after {failures} failures in {seconds} s");
        }
    }

    pub fn is_failing(&self) -> bool {
        self.current.lock().is_some()
    }
}

/// Repeats `work` and retries it through outages, however long they last. Returns only with an error that ends
/// the leadership: one that is not transient, or a Redis that lost the shard's state.
pub async fn repeat<F>(leadership: &Leadership, what: &'static str, mut work: impl FnMut() -> F) -> StoreError
where
    F: Future<Output = StoreResult<()>>,
{
    let streak = FailureStreak::new(leadership.lease.shard, what);
    repeat_with(leadership, &streak, || {
        let done = work();
        async {
            done.await?;
            streak.succeeded();
            Ok(())
        }
    })
    .await
}

/// Like [`repeat`], for work that loops by itself until an error and calls [`FailureStreak::succeeded`].
pub async fn repeat_with<F>(
    leadership: &Leadership,
    streak: &FailureStreak,
    mut work: impl FnMut() -> F,
) -> StoreError
where
    F: Future<Output = StoreResult<()>>,
{
    loop {
        let Err(error) = work().await else { continue };
        if !error.is_transient()
            || (matches!(error, StoreError::NotRecovered) && !leadership.has_same_redis().await)
        {
            return error;
        }
        tokio::select! {
            () = tokio::time::sleep(streak.failed(&error)) => {}
            () = leadership.stores_back.notified() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_during_a_streak_and_start_small_after_it() {
        let streak = FailureStreak::new(ShardId::first(0), "test");
        let gone = StoreError::SqlUnreachable("gone".into());
        for _ in 0..2 {
            let pauses: Vec<Duration> = (0..30).map(|_| streak.failed(&gone)).collect();
            // Jitter up to doubles each delay.
            assert!(pauses[0] >= Duration::from_millis(10) && pauses[0] <= Duration::from_millis(20));
            assert!(pauses[5] >= Duration::from_millis(320) && pauses[5] <= Duration::from_millis(640));
            assert!(pauses[29] >= LONGEST / 2 && pauses[29] <= LONGEST, "{:?}", pauses[29]);
            assert!(streak.is_failing());
            streak.succeeded();
            assert!(!streak.is_failing());
        }
    }
}
