//! Queue lengths: a singleton job that counts texts and dead events that wait for a decision, for the metrics.

use std::{sync::Arc, time::Duration};

use metrics::gauge;

use crate::leadership::{Leadership, retry::repeat};
use plaudit_store::{
    StoreError,
    sql::{
        counting::dead,
        moderation::queue::{self, QueueState},
    },
};

/// Not more often: counting reads all waiting rows.
const EVERY: Duration = Duration::from_secs(5);

/// Never returns.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let gauges = WaitingGauges;
    repeat(&leadership, "count waiting decisions", || async {
        gauges.set(
            &queue::queue_state(leadership.db()).await?,
            dead::undecided_dead_events(leadership.db()).await?,
        );
        tokio::time::sleep(EVERY).await;
        Ok(())
    })
    .await
}

/// Gauges fall to zero with the leadership: the next owner counts.
struct WaitingGauges;

impl WaitingGauges {
    fn set(&self, texts: &QueueState, dead_events: i64) {
        gauge!("plaudit_review_queue", "state" => "waiting").set(texts.waiting as f64);
        gauge!("plaudit_review_queue", "state" => "undecided").set(texts.undecided as f64);
        gauge!("plaudit_dead_events").set(dead_events as f64);
    }
}

impl Drop for WaitingGauges {
    fn drop(&mut self) {
        self.set(&QueueState::default(), 0);
    }
}
