//! HTTP moderator: a language model behind an OpenAI-compatible chat completion endpoint.
//!
//! - `service`: one call; `request`: the body that is sent; `verdict`: strict parsing of the answer;
//! - `breaker`: the circuit breaker; `retry_after`: the header of that name.

mod breaker;
mod request;
mod retry_after;
mod service;
#[cfg(test)]
mod tests;
mod verdict;

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use failsafe::{Error, futures::CircuitBreaker};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout, timeout_at},
};

use self::{breaker::EndpointBreaker, service::Service};
use super::{Failure, HttpSettings, Judgement, ModeratorError, Submission};

#[derive(Debug)]
pub(super) struct Http {
    service: Service,
    /// One permit per concurrent call.
    turns: Semaphore,
    concurrency: usize,
    breaker: EndpointBreaker,
    policy: RetryPolicy,
}

/// Timeout, retries and circuit breaking.
#[derive(Clone, Copy, Debug)]
struct RetryPolicy {
    /// For a permit, and then for all attempts together.
    timeout: Duration,
    /// Pause before the second attempt; each further one is twice as long. Jitter adds up to as much again.
    first_pause: Duration,
    /// Failed judgements in a row that open the breaker.
    failures: u32,
    /// How long the breaker stays open.
    rest: Duration,
}

impl RetryPolicy {
    const fn new(timeout: Duration) -> Self {
        Self { timeout, first_pause: Duration::from_millis(100), failures: 5, rest: Duration::from_secs(30) }
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
            turns: Semaphore::new(settings.concurrency),
            concurrency: settings.concurrency,
            breaker: breaker::new(policy.failures, policy.rest),
            policy,
        })
    }

    pub const fn concurrency(&self) -> usize {
        self.concurrency
    }

    pub async fn judge(&self, comment: &Submission) -> Result<Judgement, Failure> {
        let _turn = self.turn().await?;
        let judged = self.breaker.call_with(Failure::is_transient, self.ask(comment)).await;
        match judged {
            Ok(judgement) => Ok(judgement),
            Err(Error::Rejected) => Err(self.is_resting()),
            Err(Error::Inner(failure)) => {
                if let Failure::Permanent { why } = &failure {
                    tracing::error!(why, "the moderator cannot be used");
                }
                Err(failure)
            }
        }
    }

    /// Waits outside of the breaker: a lack of permits is not a failure of the endpoint.
    async fn turn(&self) -> Result<SemaphorePermit<'_>, Failure> {
        match timeout(self.policy.timeout, self.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Failure::transient("too many comments are being judged; see moderator_concurrency")),
        }
    }

    /// Retries until there is an answer, the failure is permanent, or the timeout expires.
    async fn ask(&self, comment: &Submission) -> Result<Judgement, Failure> {
        let end = Instant::now() + self.policy.timeout;
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.policy.first_pause)
            .with_max_times(Self::RETRIES)
            .with_jitter();
        let tries = (|| self.service.ask(comment))
            .retry(pauses)
            .when(Failure::is_transient)
            .adjust(|failure, pause| pause_until(end, failure, pause?));
        timeout_at(end, tries).await.unwrap_or_else(|_| Err(self.is_late()))
    }

    fn is_late(&self) -> Failure {
        let limit = humantime::format_duration(self.policy.timeout);
        Failure::transient(format!("the moderator did not answer within {limit}"))
    }

    fn is_resting(&self) -> Failure {
        Failure::Transient {
            why: "the moderator failed several times in a row; calls to it are paused".to_owned(),
            retry_after: Some(self.policy.rest),
        }
    }
}

/// The pause that the endpoint asks for, if longer; `None` if it exceeds the remaining time.
fn pause_until(end: Instant, failure: &Failure, pause: Duration) -> Option<Duration> {
    let pause = pause.max(failure.retry_after().unwrap_or_default());
    (Instant::now() + pause < end).then_some(pause)
}
