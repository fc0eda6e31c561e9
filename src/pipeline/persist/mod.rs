//! Persister: log → one PostgreSQL transaction per batch: edge rows, totals, inbox, history and the log's
//! offset. A transaction that fails, or whose outcome is unknown, is resolved by reading the offset.

mod plan;
mod write;

use std::{sync::Arc, time::Duration};

use super::{Context, retry::keep_on, tenure::Tenure};
use crate::{
    primitives::Offset,
    store::{StoreError, StoreResult, redis::LogReader, sql::Lease},
};
use write::write_batch;

/// How long one wait for new events lasts; then the wait begins anew.
const WAIT: Duration = Duration::from_secs(5);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    keep_on(&tenure, "persist", || persist(&tenure)).await
}

/// Reads where PostgreSQL stands and persists from there until an error.
async fn persist(tenure: &Tenure) -> StoreResult<()> {
    let (context, lease) = (&tenure.context, tenure.lease);
    let mut reader = context.redis.log_reader(lease.shard, context.settings.replicas).await?;
    let mut at = context.db.persisted_state().await?.offsets[lease.shard.index()];
    loop {
        tenure.progress.persisted.send_replace(at);
        at = persist_next(context, lease, &mut reader, at).await?;
    }
}

/// Waits for a batch and persists it. Returns up to where the log is persisted then.
async fn persist_next(
    context: &Context,
    lease: Lease,
    reader: &mut LogReader,
    from: Offset,
) -> StoreResult<Offset> {
    let most = context.settings.batch_events;
    let mut entries = reader.read(from, most, WAIT).await?;
    if entries.is_empty() {
        return Ok(from);
    }
    if entries.len() < most {
        tokio::time::sleep(context.settings.batch_wait).await;
        entries = reader.read(from, most, Duration::ZERO).await?;
    }
    write_batch(context, lease, from, &entries).await
}

/// Persists whatever entries are left after `from`, gaps or not. Returns how many.
pub(super) async fn persist_survivors(
    context: &Context,
    lease: Lease,
    mut from: Offset,
) -> StoreResult<usize> {
    let end = Offset::new(u64::MAX, u64::MAX);
    let mut reader = context.redis.log_reader(lease.shard, 0).await?;
    let mut survivors = 0;
    loop {
        let entries = reader.range(from, end, context.settings.batch_events).await?;
        if entries.is_empty() {
            return Ok(survivors);
        }
        survivors += entries.len();
        from = write_batch(context, lease, from, &entries).await?;
    }
}
