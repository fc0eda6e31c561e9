//! The endpoint of the webhook, which often fails while a schedule runs.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::Value;
use support::{WebhookEndpoint, WebhookReply};
use tokio_util::sync::CancellationToken;

pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Failures in sequence: more would make the webhook pause for longer than a schedule takes.
const MOST_FAILURES: u32 = 2;

pub struct Hook {
    endpoint: WebhookEndpoint,
    state: Arc<Mutex<HookState>>,
}

#[derive(Default)]
struct HookState {
    /// Deliveries before the schedule.
    before: usize,
    is_calm: bool,
    failures: u32,
    /// Answers that hang until the schedule is over.
    over: CancellationToken,
}

impl HookState {
    fn answer(&mut self) -> WebhookReply {
        let failure = match rand::random_range(0..10) {
            _ if self.is_calm || self.failures == MOST_FAILURES => None,
            0 => Some(WebhookReply::Late(self.over.clone())),
            1 | 2 => Some(WebhookReply::Status(500)),
            3 => Some(WebhookReply::Status(503)),
            4 => Some(WebhookReply::Status(404)),
            _ => None,
        };
        self.failures = if failure.is_some() { self.failures + 1 } else { 0 };
        failure.unwrap_or(WebhookReply::Status(204))
    }
}

impl Hook {
    pub async fn start() -> Self {
        let state = Arc::new(Mutex::new(HookState::default()));
        let answering = Arc::clone(&state);
        let endpoint = WebhookEndpoint::start(move |_, _| answering.lock().answer()).await;
        Self { endpoint, state }
    }

    pub fn url(&self) -> &str {
        &self.endpoint.url
    }

    /// A schedule begins.
    pub fn begin(&self) {
        let before = self.endpoint.deliveries().len();
        *self.state.lock() = HookState { before, ..HookState::default() };
    }

    /// From now on it accepts everything.
    pub fn calm(&self) {
        let mut state = self.state.lock();
        state.is_calm = true;
        state.over.cancel();
    }

    /// The events of each batch of this schedule, in the order in which the batches arrived first; and what is wrong with
    /// those that arrived again. An erasure may have changed bodies, but not which events they have.
    pub fn batches(&self) -> (Vec<Value>, Vec<String>) {
        let before = self.state.lock().before;
        let (mut events, mut wrong, mut known) = (Vec::new(), Vec::new(), BTreeMap::new());
        for delivery in &self.endpoint.deliveries()[before..] {
            let batch = delivery.events();
            let cursors: Vec<Value> = batch.iter().map(|event| event["cursor"].clone()).collect();
            match known.insert(delivery.id.clone(), cursors.clone()) {
                None => events.extend(batch),
                Some(first) if first != cursors => wrong.push(format!("{delivery:?} was {first:?} before")),
                Some(_) => {}
            }
        }
        (events, wrong)
    }
}
