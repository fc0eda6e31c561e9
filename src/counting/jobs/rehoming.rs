//! Work that a process with an older layout, which had more shards, has written for a shard that has no owner
//! any more: a singleton job gives it to another.

use std::{sync::Arc, time::Duration};

use crate::leadership::{Leadership, retry::repeat};
use plaudit_store::{StoreError, sql::ownership::reshard};

const EVERY: Duration = Duration::from_secs(2);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "give work to owners", || async {
        reshard::rehome_work(leadership.db(), leadership.redis().shards()).await?;
        tokio::time::sleep(EVERY).await;
        Ok(())
    })
    .await
}
