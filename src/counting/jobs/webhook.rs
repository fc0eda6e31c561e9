//! The webhook: a singleton job that delivers the stream of events in batches, in order, at least once.
//!
//! A batch is stored with its id and body before its first attempt, and every attempt sends the same. It ends
//! when the endpoint accepts it, or is given up: at once after 410, else after days of failures. Then the next
//! one follows. After a failure calls pause, longer each time, until one succeeds, also from batch to batch.

use std::{
    mem::take,
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::Utc;
use failsafe::backoff::{self, EqualJittered};
use hmac::{Hmac, KeyInit, Mac};
use metrics::{counter, gauge};
use parking_lot::Mutex;
use plaudit_outgoing_http::{
    Breaker, PrivateAddresses, breaker, builder, read_into, retry_after, root_cause,
};
use reqwest::{Client, StatusCode, header::CONTENT_TYPE};
use serde_json::json;
use sha2::Sha256;

use crate::leadership::{Leadership, retry::repeat};
use plaudit_catalogue::{
    primitives::EventCursor,
    settings::{WebhookSecret, WebhookSettings},
};
use plaudit_store::{
    StoreError, StoreResult,
    sql::{
        Db,
        stream::{
            events::{self, CursorError, EventPage, LOOK_EVERY},
            webhooks::{self, OpenBatch},
        },
    },
};

/// Most events of a batch.
const MOST: usize = 100;
/// How long an attempt may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Longest answer that is read, in bytes; only what the log shows of it matters.
const MAX_ANSWER: usize = 64 * 1024;
/// How many bytes of an answer the log and `plaudit webhooks` show.
const SHOWN: usize = 200;
/// How long attempts for a batch go on.
const GIVE_UP_AFTER: chrono::Duration = chrono::Duration::days(3);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// After so long without a failure the same reason is news again.
const FORGET_AFTER: Duration = Duration::from_mins(10);

/// Never ends without a webhook, or with the stream off.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    LagGauge::set(Duration::ZERO);
    ["delivered", "failed", "dead", "skipped"].into_iter().for_each(|outcome| count(outcome, 0));
    let settings = Arc::clone(&leadership.context.webhook);
    let (Some(_), true) = (&settings.webhook_url, leadership.db().records_events()) else {
        return std::future::pending().await;
    };
    let endpoint = match Endpoint::new(&settings) {
        Ok(endpoint) => endpoint,
        Err(why) => {
            tracing::error!(why, "cannot prepare calls to webhook_url; no events are delivered");
            return std::future::pending().await;
        }
    };
    let _lag = LagGauge;
    repeat(&leadership, "deliver the webhook", || async {
        match next_batch(leadership.db()).await? {
            Some((batch, body)) => endpoint.deliver(leadership.db(), &batch, &body).await,
            None => {
                LagGauge::set(Duration::ZERO);
                tokio::time::sleep(LOOK_EVERY).await;
                Ok(())
            }
        }
    })
    .await
}

fn count(outcome: &'static str, by: u64) {
    counter!("plaudit_webhook_attempts_total", "outcome" => outcome).increment(by);
}

/// The lag falls to zero with the leadership: the next owner measures it.
struct LagGauge;

impl LagGauge {
    fn set(lag: Duration) {
        gauge!("plaudit_webhook_lag_seconds").set(lag.as_secs_f64());
    }
}

impl Drop for LagGauge {
    fn drop(&mut self) {
        Self::set(Duration::ZERO);
    }
}

/// The batch to deliver, with its body; `None` if nothing happened.
async fn next_batch(db: &Db) -> StoreResult<Option<(OpenBatch, String)>> {
    if let Some(batch) = webhooks::open_batch(db).await? {
        return with_body(db, batch).await;
    }
    let after = webhooks::webhook_position(db).await?;
    let page = match events::events_after(db, Some(after), MOST).await? {
        Ok(page) => page,
        Err(error) => {
            skip(db, error).await?;
            return Ok(None);
        }
    };
    if page.events.is_empty() {
        return Ok(None);
    }
    webhooks::add_batch(db, after, &page, &body_of(&page)).await?;
    match webhooks::open_batch(db).await? {
        Some(batch) => with_body(db, batch).await,
        None => Ok(None),
    }
}

/// Events between the position and the cursor cannot be delivered any more.
async fn skip(db: &Db, error: CursorError) -> StoreResult<()> {
    tracing::error!(%error, "the webhook misses events");
    match error.kept() {
        Some(kept) => {
            webhooks::move_webhook(db, kept).await?;
            count("skipped", 1);
            Ok(())
        }
        None => Err(StoreError::Unexpected(error.to_string())),
    }
}

/// Makes the body again if it was emptied.
async fn with_body(db: &Db, batch: OpenBatch) -> StoreResult<Option<(OpenBatch, String)>> {
    if let Some(body) = batch.body.clone() {
        return Ok(Some((batch, body)));
    }
    let newest = events::newest_event(db).await?;
    let written_at = batch.after_written_at.timestamp_micros();
    let after = EventCursor { position: batch.after_position, written_at, ..newest };
    let Ok(mut page) = events::events_after(db, Some(after), MOST).await? else {
        tracing::error!(batch = %batch.id, "the events of a batch are not kept any more; it is given up");
        webhooks::end_batch(db, batch.id, false).await?;
        count("dead", 1);
        return Ok(None);
    };
    page.events.retain(|event| event.cursor.position <= batch.position);
    let body = body_of(&page);
    webhooks::set_body(db, batch.id, &body).await?;
    Ok(Some((batch, body)))
}

fn body_of(page: &EventPage) -> String {
    json!({ "type": "events", "timestamp": Utc::now(), "data": { "events": page.events } }).to_string()
}

struct Endpoint {
    client: Client,
    url: reqwest::Url,
    secrets: Vec<WebhookSecret>,
    breaker: Breaker<EqualJittered>,
    failures: Mutex<Failures>,
}

/// Which reason the log has, so that it has each once: an endpoint that now and then fails is no line per failure.
#[derive(Default)]
struct Failures {
    reason: String,
    /// The last failure.
    at: Option<Instant>,
    /// The log ends with a failure.
    is_told: bool,
}

impl Failures {
    /// Whether the log lacks that it works again.
    fn delivered(&mut self) -> bool {
        take(&mut self.is_told)
    }

    /// Whether the log lacks this reason.
    fn is_news(&mut self, reason: &str, now: Instant) -> bool {
        let is_over = !self.is_told && self.at.is_some_and(|at| now - at > FORGET_AFTER);
        let is_news = is_over || reason != self.reason;
        *self = Self { reason: reason.to_owned(), at: Some(now), is_told: self.is_told || is_news };
        is_news
    }
}

/// Why an attempt failed.
struct AttemptFailure {
    /// The status, or why there was no answer.
    reason: String,
    /// Of an answer, its first bytes.
    answer: Option<String>,
    /// The endpoint wants no more of it.
    is_gone: bool,
    /// How long the endpoint asks to wait.
    pause: Option<Duration>,
}

impl AttemptFailure {
    fn broken(reason: &str) -> Self {
        Self { reason: reason.replace(char::is_control, " "), answer: None, is_gone: false, pause: None }
    }

    /// In one line.
    fn why(&self) -> String {
        match &self.answer {
            Some(answer) => format!("{}: {answer}", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// The first bytes of an answer in quotes, with control characters and invisible ones escaped.
fn beginning(body: &[u8]) -> Option<String> {
    let body = body.trim_ascii_end();
    let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
    let cut = if body.len() > SHOWN { "…" } else { "" };
    (!body.is_empty()).then(|| format!("{shown:?}{cut}"))
}

impl Endpoint {
    fn new(settings: &WebhookSettings) -> Result<Self, String> {
        let url = settings.webhook_url.as_ref().ok_or("no URL")?;
        let builder = builder(url.is_encrypted()).timeout(TIMEOUT);
        let builder =
            if url.is_encrypted() { builder } else { builder.dns_resolver(Arc::new(PrivateAddresses)) };
        Ok(Self {
            client: builder.build().map_err(root_cause)?,
            url: url.url().clone(),
            secrets: settings.webhook_secret.clone(),
            breaker: breaker(None, 1, backoff::equal_jittered(FIRST_PAUSE, LONGEST_PAUSE)),
            failures: Mutex::default(),
        })
    }

    /// Makes one attempt, unless calls pause.
    async fn deliver(&self, db: &Db, batch: &OpenBatch, body: &str) -> StoreResult<()> {
        let now = Utc::now();
        LagGauge::set((now - batch.oldest_written_at).to_std().unwrap_or_default());
        if !self.breaker.is_call_permitted() {
            tokio::time::sleep(LOOK_EVERY).await;
            return Ok(());
        }
        let outcome = match self.attempt(&batch.id.to_string(), body).await {
            Ok(()) => {
                self.breaker.on_success();
                if self.failures.lock().delivered() {
                    tracing::info!("the webhook works again");
                }
                webhooks::end_batch(db, batch.id, true).await?;
                "delivered"
            }
            Err(failed) => {
                self.breaker.on_error();
                let why = failed.why();
                let is_news = self.failures.lock().is_news(&failed.reason, Instant::now());
                webhooks::note_attempt(db, batch.id, &why).await?;
                if failed.is_gone || now - batch.created_at > GIVE_UP_AFTER {
                    tracing::error!(batch = %batch.id, "the webhook gives a batch up; see: plaudit webhooks; {why}");
                    webhooks::end_batch(db, batch.id, false).await?;
                    "dead"
                } else {
                    if is_news {
                        tracing::warn!(batch = %batch.id, "the webhook fails, and is tried again: {why}");
                    }
                    tokio::time::sleep(failed.pause.unwrap_or_default()).await;
                    "failed"
                }
            }
        };
        count(outcome, 1);
        Ok(())
    }

    async fn attempt(&self, id: &str, body: &str) -> Result<(), AttemptFailure> {
        let timestamp = Utc::now().timestamp().to_string();
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", &timestamp)
            .header("webhook-signature", signatures(&self.secrets, id, &timestamp, body))
            .body(body.to_owned());
        let response = request.send().await.map_err(|error| AttemptFailure::broken(&root_cause(error)))?;
        let (status, pause) = (response.status(), retry_after(response.headers()));
        // Read to its end, so that the connection can be used again.
        let mut body = Vec::new();
        let read = read_into(&mut body, response, MAX_ANSWER).await;
        if !status.is_success() {
            let is_gone = status == StatusCode::GONE;
            let reason = format!("it answers {status}");
            return Err(AttemptFailure { reason, answer: beginning(&body), is_gone, pause });
        }
        read.map_err(|why| AttemptFailure::broken(&why.to_string()))
    }
}

/// As [Standard
/// Webhooks](https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md) has
/// them: one per secret, separated by spaces.
fn signatures(secrets: &[WebhookSecret], id: &str, timestamp: &str, body: &str) -> String {
    let signature = |secret: &WebhookSecret| {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(secret.bytes()).expect("a key of any length is accepted");
        for part in [id, ".", timestamp, ".", body] {
            mac.update(part.as_bytes());
        }
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    };
    secrets.iter().map(signature).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_news_once_until_another_one_or_a_time_without_failures() {
        let (mut failures, start) = (Failures::default(), Instant::now());
        let mut is_news = |reason, minutes| failures.is_news(reason, start + Duration::from_mins(minutes));
        assert!(is_news("it answers 500", 0) && !is_news("it answers 500", 60));
        assert!(is_news("it answers 401", 61) && is_news("it answers 500", 62));
        assert!(failures.delivered() && !failures.delivered(), "that it works again is told once");
        let mut is_news = |reason, minutes| failures.is_news(reason, start + Duration::from_mins(minutes));
        assert!(!is_news("it answers 500", 63), "an endpoint that fails now and then");
        assert!(!failures.delivered(), "what was not told needs no end");
        assert!(failures.is_news("it answers 500", start + Duration::from_mins(74)));
    }

    #[test]
    fn of_an_answer_the_first_bytes_are_shown_on_one_line() {
        assert_eq!(beginning(b"\r\n"), None);
        assert_eq!(
            beginning(b"no\nsuch \"customer\"\x1b[31m\xff\n").unwrap(),
            r#""no\nsuch \"customer\"\u{1b}[31m�""#
        );
        let long = beginning(&[b'x'; 201]).unwrap();
        assert_eq!(long, format!("\"{}\"…", "x".repeat(200)));
    }

    /// The example of the specification's libraries.
    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        let secret: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
        let (id, timestamp) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330");
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let body = r#"{"test": 2432232314}"#;
        assert_eq!(signatures(std::slice::from_ref(&secret), id, timestamp, body), expected);
        assert_eq!(
            signatures(&[secret.clone(), secret], id, timestamp, body),
            format!("{expected} {expected}")
        );
    }
}
