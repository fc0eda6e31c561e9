//! A consumer of the stream of events that is killed at random moments. It stores what it has received and its cursor
//! together; a kill forgets what it received after that.

use std::time::Duration;

use plaudit_catalogue::primitives::EventCursor;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::Value;

use crate::load::Answer;

const PAUSE: Duration = Duration::from_millis(20);

/// Events after a cursor, as JSON.
pub struct Page {
    pub events: Vec<Value>,
    pub end: EventCursor,
}

/// Where events are read.
pub trait Events: Sync {
    /// At most `most` events.
    fn page(&self, after: EventCursor, most: usize) -> impl Future<Output = Answer<Page>>;
}

pub struct Consumer {
    /// Where it began.
    pub start: EventCursor,
    /// What it has stored, and its cursor.
    pub stored: Vec<Value>,
    after: EventCursor,
}

impl Consumer {
    pub const fn new(start: EventCursor) -> Self {
        Self { start, stored: Vec::new(), after: start }
    }

    /// Lives and is killed in turn, and at last when this is dropped. Never returns.
    pub async fn run(&mut self, events: &impl Events, seed: u64) {
        let mut rng = StdRng::seed_from_u64(seed);
        loop {
            self.live(events, &mut rng).await;
        }
    }

    /// Reads a few pages from where its last life has stored.
    async fn live(&mut self, events: &impl Events, rng: &mut StdRng) {
        let (mut received, mut after) = (Vec::new(), self.after);
        for _ in 0..rng.random_range(1..6) {
            let Ok(page) = events.page(after, rng.random_range(1..20)).await else { break };
            if page.events.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
            received.extend(page.events);
            after = page.end;
            if rng.random_bool(0.5) {
                self.stored.append(&mut received);
                self.after = after;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }

    /// Reads what is left. At rest.
    pub async fn finish(&mut self, events: &impl Events) {
        loop {
            match events.page(self.after, 100).await {
                Ok(page) if page.events.is_empty() => return,
                Ok(page) => {
                    self.stored.extend(page.events);
                    self.after = page.end;
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}
