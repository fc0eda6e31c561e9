//! Waiting out what passes.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use super::tenure::Tenure;
use crate::store::{StoreError, StoreResult};

/// What has come back is used again within so long, and as long again by chance.
const LONGEST_DELAY: Duration = Duration::from_secs(1);

/// Delays from 10 ms to [`LONGEST_DELAY`], with jitter, without an end.
pub fn delays() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(10))
        .with_max_delay(LONGEST_DELAY)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

/// Does `work` again and again: it returns only with an error. Outages are waited out for ever; the first
/// failure of a streak and its end are logged. Ends when the tenure has no ground any more.
pub async fn keep_on<F>(tenure: &Tenure, what: &'static str, mut work: impl FnMut() -> F) -> StoreError
where
    F: Future<Output = StoreResult<()>>,
{
    let shard = tenure.lease.shard.0;
    let mut streak: Option<ExponentialBackoff> = None;
    loop {
        let error = match work().await {
            Ok(()) => {
                if streak.take().is_some() {
                    tracing::info!(shard, what, "works again");
                }
                continue;
            }
            Err(error) => error,
        };
        if !error.is_transient() || (matches!(error, StoreError::Unverified) && !tenure.is_verified().await) {
            return error;
        }
        if streak.is_none() && !matches!(error, StoreError::Unverified) {
            tracing::warn!(shard, what, %error, "failed; trying again until it works");
        }
        let delay = streak.get_or_insert_with(delays).next().unwrap_or(LONGEST_DELAY);
        tokio::time::sleep(delay).await;
    }
}
