//! Group commit: batches of several shards of a process are written in one transaction, because a transaction costs
//! more than the events of a small batch. A group that fails is written shard by shard, so that a refused event or a
//! lost leadership of one shard holds up no other.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::write::{ShardBatch, write_batches};
use crate::{
    event_log::Entry,
    pipeline::leadership::{Context, WaitingBatch},
    primitives::Offset,
    store::sql::shards::Lease,
};

/// How long the first batch of a group waits for the others.
const GATHER: Duration = Duration::from_millis(5);

/// Writes the entries after `from` together with batches of other shards. Returns whether they are committed; if not,
/// the commit may or may not have happened: the offset in PostgreSQL decides.
pub async fn write(context: &Context, lease: Lease, from: Offset, entries: Arc<[Entry]>) -> bool {
    let (committed, outcome) = oneshot::channel();
    if context.commit_group.add(WaitingBatch { lease, from, entries, committed }) {
        // In the background: it serves other shards, also if this leadership ends.
        context.spawn(write_group(context.clone()));
    }
    outcome.await.is_ok()
}

async fn write_group(context: Context) {
    tokio::time::sleep(GATHER).await;
    let group = context.commit_group.take();
    let of_shard = |waiting: &WaitingBatch| (waiting.lease, waiting.from, Arc::clone(&waiting.entries));
    let batches: Vec<_> = group.iter().map(of_shard).collect();
    let batches: Vec<ShardBatch<'_>> = batches
        .iter()
        .map(|(lease, from, entries)| ShardBatch { lease: *lease, from: *from, entries })
        .collect();
    match write_batches(&context, &batches).await {
        Ok(()) => {
            for waiting in group {
                let _ = waiting.committed.send(()); // its leadership may have ended
            }
        }
        Err(error) => tracing::debug!(shards = group.len(), %error, "a group failed; its shards write alone"),
    }
}
