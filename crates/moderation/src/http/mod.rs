//! HTTP moderator: a language model behind an OpenAI-compatible chat completion endpoint.
//!
//! - `service`: one call; `request`: the body that is sent; `verdict`: strict parsing of the answer.

mod request;
mod service;
#[cfg(test)]
mod tests;
mod verdict;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use failsafe::{
    Error,
    backoff::{self, Constant},
    futures::CircuitBreaker,
};
use plaudit_outgoing_http::{Breaker, breaker};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout, timeout_at},
};

use self::service::Service;
use super::{Failure, HttpSettings, Judgement, ModeratorError, Submission};

#[derive(Debug)]
pub(super) struct Http {
    service: Service,
    /// One permit per concurrent call.
    permits: Semaphore,
    concurrency: usize,
    breaker: Breaker<Constant>,
    policy: RetryPolicy,
}

/// Timeout, retries and circuit breaking.
#[derive(Clone, Copy, Debug)]
struct RetryPolicy {
    /// Timeout for a permit, and then for all attempts together.
    timeout: Duration,
    /// Pause before the second attempt; each further one is twice as long. Jitter adds up to 100 %.
    first_pause: Duration,
    /// Failed judgements in a row that open the breaker.
    failures: u32,
    /// How long the breaker stays open.
    open_time: Duration,
}

impl RetryPolicy {
    const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            first_pause: Duration::from_millis(100),
            failures: 5,
            open_time: Duration::from_secs(30),
        }
    }
}

impl Http {
    /// Attempts per judgement after the first one.
    const RETRIES: usize = 2;

    pub fn new(settings: &HttpSettings) -> Result<Self, ModeratorError> {
        Self::with_policy(settings, RetryPolicy::new(settings.timeout))
    }

    fn with_policy(settings: &HttpSettings, policy: RetryPolicy) -> Result<Self, ModeratorError> {
        Ok(Self {
            service: Service::new(settings)?,
            permits: Semaphore::new(settings.concurrency),
            concurrency: settings.concurrency,
            breaker: breaker(Some("the moderator"), policy.failures, backoff::constant(policy.open_time)),
            policy,
        })
    }

    pub const fn concurrency(&self) -> usize {
        self.concurrency
    }

    pub async fn judge(&self, comment: &Submission) -> Result<Judgement, Failure> {
        let _permit = self.acquire_permit().await?;
        let result = self.breaker.call_with(Failure::is_transient, self.call_with_retries(comment)).await;
        match result {
            Ok(judgement) => Ok(judgement),
            Err(Error::Rejected) => Err(self.paused_failure()),
            Err(Error::Inner(failure)) => {
                if let Failure::Permanent { why } = &failure {
                    tracing::error!(why, "the moderator cannot be used");
                }
                Err(failure)
            }
        }
    }

    /// Waits outside of the breaker, because a lack of permits is not a failure of the endpoint.
    async fn acquire_permit(&self) -> Result<SemaphorePermit<'_>, Failure> {
        match timeout(self.policy.timeout, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Failure::transient("too many comments are being judged; see moderator_concurrency")),
        }
    }

    /// Retries until there is a verdict, the failure is permanent, or the timeout expires.
    async fn call_with_retries(&self, comment: &Submission) -> Result<Judgement, Failure> {
        let end = Instant::now() + self.policy.timeout;
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.policy.first_pause)
            .with_max_times(Self::RETRIES)
            .with_jitter();
        let attempts = (|| self.service.call(comment))
            .retry(pauses)
            .when(Failure::is_transient)
            .adjust(|failure, pause| pause_until(end, failure, pause?));
        timeout_at(end, attempts).await.unwrap_or_else(|_| Err(self.timeout_failure()))
    }

    fn timeout_failure(&self) -> Failure {
        let limit = humantime::format_duration(self.policy.timeout);
        Failure::transient(format!("the moderator did not answer within {limit}"))
    }

    fn paused_failure(&self) -> Failure {
        Failure::Transient {
            why: "the moderator failed several times in a row; calls to it are paused".to_owned(),
            retry_after: Some(self.policy.open_time),
        }
    }
}

/// The pause that the endpoint requests, if longer; `None` if it exceeds the remaining time.
fn pause_until(end: Instant, failure: &Failure, pause: Duration) -> Option<Duration> {
    let pause = pause.max(failure.retry_after().unwrap_or_default());
    (Instant::now() + pause < end).then_some(pause)
}
