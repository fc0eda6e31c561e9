//! Waiting out what passes.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use parking_lot::Mutex;

use super::state::Leadership;
use crate::{
    primitives::ShardId,
    store::{StoreError, StoreResult},
};

/// The longest delay between two tries, jitter included.
pub const LONGEST: Duration = Duration::from_secs(10);

/// Delays from 10 ms to [`LONGEST`], without an end. Jitter adds up to as much again.
pub fn delays() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_max_delay(LONGEST / 2)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

/// Failures of one kind of work in a row. Its first failure and its end are logged, not each.
pub struct FailureStreak {
    shard: ShardId,
    what: &'static str,
    under_way: Mutex<Option<UnderWay>>,
}

struct UnderWay {
    began: Instant,
    failures: u32,
    delays: ExponentialBackoff,
    /// Waiting for a verification is no failure that anybody has to know of.
    is_logged: bool,
}

impl FailureStreak {
    pub fn new(shard: ShardId, what: &'static str) -> Self {
        Self { shard, what, under_way: Mutex::default() }
    }

    /// Takes in a failure. Returns how long to wait before the next try.
    pub fn failed(&self, error: &StoreError) -> Duration {
        let mut under_way = self.under_way.lock();
        let streak = under_way.get_or_insert_with(|| UnderWay {
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
                tracing::warn!(shard, what, %error, "failed; trying again until it works");
            } else {
                tracing::error!(shard, what, %error, "failed; trying again until it works");
            }
        }
        streak.delays.next().unwrap_or(LONGEST)
    }

    /// Takes in that it works, which ends the streak if there is one.
    pub fn worked(&self) {
        let Some(ended) = self.under_way.lock().take() else { return };
        if ended.is_logged {
            let (shard, what, failures) = (self.shard.0, self.what, ended.failures);
            let seconds = format!("{:.1}", ended.began.elapsed().as_secs_f64());
            tracing::info!(shard, what, "works again after {failures} failures in {seconds} s");
        }
    }

    pub fn is_under_way(&self) -> bool {
        self.under_way.lock().is_some()
    }
}

/// Does `work` again and again: it returns only with an error. Outages are waited out for ever. Ends when the
/// leadership has no ground any more.
pub async fn keep_on<F>(
    leadership: &Leadership,
    what: &'static str,
    mut work: impl FnMut() -> F,
) -> StoreError
where
    F: Future<Output = StoreResult<()>>,
{
    let streak = FailureStreak::new(leadership.lease.shard, what);
    keep_on_with(leadership, &streak, || {
        let done = work();
        async {
            done.await?;
            streak.worked();
            Ok(())
        }
    })
    .await
}

/// The same for work that goes on by itself until an error: it tells the streak when it works.
pub async fn keep_on_with<F>(
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
            || (matches!(error, StoreError::NotRecovered) && !leadership.is_verified().await)
        {
            return error;
        }
        tokio::select! {
            () = tokio::time::sleep(streak.failed(&error)) => {}
            () = leadership.back.notified() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_a_streak_lasts_and_begin_anew_after_it() {
        let streak = FailureStreak::new(ShardId(0), "test");
        let gone = StoreError::SqlUnreachable("gone".into());
        for _ in 0..2 {
            let pauses: Vec<Duration> = (0..30).map(|_| streak.failed(&gone)).collect();
            // Jitter adds up to as much again.
            assert!(pauses[0] >= Duration::from_millis(10) && pauses[0] <= Duration::from_millis(20));
            assert!(pauses[5] >= Duration::from_millis(320) && pauses[5] <= Duration::from_millis(640));
            assert!(pauses[29] >= LONGEST / 2 && pauses[29] <= LONGEST, "{:?}", pauses[29]);
            assert!(streak.is_under_way());
            streak.worked();
            assert!(!streak.is_under_way());
        }
    }
}
