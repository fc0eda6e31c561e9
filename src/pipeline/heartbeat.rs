//! A sign of life on the shard's channel, by which hubs notice what they missed.

use std::{sync::Arc, time::Duration};

use super::{retry::keep_on, tenure::Tenure};
use crate::store::StoreError;

const EVERY: Duration = Duration::from_secs(5);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    keep_on(&tenure, "heartbeat", || async {
        tenure.redis().heartbeat(tenure.lease.shard).await?;
        tokio::time::sleep(EVERY).await;
        Ok(())
    })
    .await
}
