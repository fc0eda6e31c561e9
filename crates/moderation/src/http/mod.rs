//! The moderator that asks a language model behind an OpenAI-compatible chat completion endpoint.
//!
//! - `service`: one call; `request`: what is sent; `verdict`: how the answer is read;
//! - `breaker`: when no call is made; `retry_after`: when the endpoint wants the next one.

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
    /// One permit per call at the same time.
    turns: Semaphore,
    concurrency: usize,
    breaker: EndpointBreaker,
    patience: Patience,
}

/// How much is borne for how long.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For a turn, and then for all tries together.
    timeout: Duration,
    /// Before the second try; each further pause is twice as long. Up to as much is added by chance.
    first_pause: Duration,
    /// Judgements that fail in a row until no more calls are made.
    failures: u32,
    /// How long no calls are made then.
    rest: Duration,
}

impl Patience {
    const fn new(timeout: Duration) -> Self {
        Self { timeout, first_pause: Duration::from_millis(100), failures: 5, rest: Duration::from_secs(30) }
    }
}

impl Http {
    /// Tries of one judgement after the first one.
    const RETRIES: usize = 2;

    pub fn new(settings: &HttpSettings) -> Result<Self, ModeratorError> {
        Self::with_patience(settings, Patience::new(settings.timeout))
    }

    fn with_patience(settings: &HttpSettings, patience: Patience) -> Result<Self, ModeratorError> {
        Ok(Self {
            service: Service::new(settings)?,
            turns: Semaphore::new(settings.concurrency),
            concurrency: settings.concurrency,
            breaker: breaker::new(patience.failures, patience.rest),
            patience,
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

    /// Waits outside of the breaker: that all are busy is no fault of the endpoint's.
    async fn turn(&self) -> Result<SemaphorePermit<'_>, Failure> {
        match timeout(self.patience.timeout, self.turns.acquire()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(Failure::transient("too many comments are being judged; see moderator_concurrency")),
        }
    }

    /// Tries until there is an answer, more tries would not help, or time is up.
    async fn ask(&self, comment: &Submission) -> Result<Judgement, Failure> {
        let end = Instant::now() + self.patience.timeout;
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.patience.first_pause)
            .with_max_times(Self::RETRIES)
            .with_jitter();
        let tries = (|| self.service.ask(comment))
            .retry(pauses)
            .when(Failure::is_transient)
            .adjust(|failure, pause| pause_until(end, failure, pause?));
        timeout_at(end, tries).await.unwrap_or_else(|_| Err(self.is_late()))
    }

    fn is_late(&self) -> Failure {
        let limit = humantime::format_duration(self.patience.timeout);
        Failure::transient(format!("the moderator did not answer within {limit}"))
    }

    fn is_resting(&self) -> Failure {
        Failure::Transient {
            why: "the moderator failed several times in a row and is left alone for a while".to_owned(),
            retry_after: Some(self.patience.rest),
        }
    }
}

/// The pause that the endpoint wants, if that is longer; `None` when there is no time left for it.
fn pause_until(end: Instant, failure: &Failure, pause: Duration) -> Option<Duration> {
    let pause = pause.max(failure.retry_after().unwrap_or_default());
    (Instant::now() + pause < end).then_some(pause)
}
