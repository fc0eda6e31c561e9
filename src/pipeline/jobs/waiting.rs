//! How much waits for a decision, of a moderator or of a person, for the metrics. The owner of shard 0
//! counts it for the whole installation.

use std::{sync::Arc, time::Duration};

use metrics::gauge;

use super::housekeeping::KEEPER;
use crate::{
    pipeline::leadership::{Leadership, retry::keep_on},
    store::{StoreError, sql::QueueState},
};

/// Counting goes through all that waits, so not more often.
const EVERY: Duration = Duration::from_secs(5);

/// Never returns.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    if leadership.lease.shard != KEEPER {
        return std::future::pending().await;
    }
    let gauges = Gauges;
    keep_on(&leadership, "count what waits", || async {
        gauges.set(&leadership.db().queue_state().await?, leadership.db().undecided_dead_events().await?);
        tokio::time::sleep(EVERY).await;
        Ok(())
    })
    .await
}

/// They fall to zero with the leadership: whoever owns the shard then counts.
struct Gauges;

impl Gauges {
    fn set(&self, comments: &QueueState, dead_events: i64) {
        gauge!("plaudit_comments_pending", "state" => "waiting").set(comments.waiting as f64);
        gauge!("plaudit_comments_pending", "state" => "undecided").set(comments.undecided as f64);
        gauge!("plaudit_dead_events").set(dead_events as f64);
    }
}

impl Drop for Gauges {
    fn drop(&mut self) {
        self.set(&QueueState::default(), 0);
    }
}
