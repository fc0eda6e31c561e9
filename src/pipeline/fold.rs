//! Counter fold: log → one difference per entity → counters in Redis → hubs.
//!
//! An idle fold runs at once. Under load batches grow by themselves while the one before is in flight.

use std::{sync::Arc, time::Duration};

use super::{retry::keep_on, targets::Targets, tenure::Tenure};
use crate::store::{StoreError, StoreResult};

/// How long one wait for new events lasts; then the wait begins anew.
const WAIT: Duration = Duration::from_secs(5);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    keep_on(&tenure, "fold", || fold(&tenure)).await
}

/// Reads where the targets stand and folds until one of them stands elsewhere.
async fn fold(tenure: &Tenure) -> StoreResult<()> {
    let (redis, source) = (tenure.redis(), tenure.lease.shard);
    let mut reader = redis.log_reader(source, tenure.context.settings.replicas).await?;
    let mut targets = Targets::read(redis, |meta| meta.folded[source.index()]).await?;
    loop {
        let from = targets.lowest();
        tenure.progress.folded.send_replace(from);
        let entries = reader.read(from, tenure.context.settings.batch_events, WAIT).await?;
        let Some(last) = entries.last() else { continue };
        let batches = targets.batches(&entries, last.offset);
        let applied = redis.fold(source, tenure.lease.fence, &batches).await?;
        if !targets.advance(&batches, &applied) {
            return Ok(());
        }
    }
}
