//! Heartbeat on the shard's channel: hubs compare it with what they received, and so notice missed messages.

use std::{sync::Arc, time::Duration};

use crate::leadership::{Leadership, retry::repeat, ticks};
use plaudit_store::{StoreError, redis::counts::counters};

const EVERY: Duration = Duration::from_secs(5);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "heartbeat", || async {
        counters::heartbeat(leadership.redis(), leadership.lease.shard).await?;
        ticks::tick(EVERY).await;
        Ok(())
    })
    .await
}
