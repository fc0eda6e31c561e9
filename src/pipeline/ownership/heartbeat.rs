//! A sign of life on the shard's channel, by which hubs notice what they missed.

use std::{sync::Arc, time::Duration};

use crate::{
    pipeline::leadership::{Leadership, retry::keep_on},
    store::StoreError,
};

const EVERY: Duration = Duration::from_secs(5);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    keep_on(&leadership, "heartbeat", || async {
        leadership.redis().heartbeat(leadership.lease.shard).await?;
        tokio::time::sleep(EVERY).await;
        Ok(())
    })
    .await
}
