//! Group commit: the batches of several shards of a process are written in one transaction.

use std::sync::Arc;

use super::{batch::ShardBatch, write::write_batches};
use crate::leadership::{Context, WaitingCommit};
use plaudit_catalogue::{event_log::Entry, primitives::Offset};
use plaudit_store::sql::ownership::shards::Lease;

/// Writes the entries after `from` together with batches of other shards. Returns whether they are committed; if not,
/// the commit may or may not have happened: the offset in PostgreSQL decides.
pub async fn write(context: &Context, lease: Lease, from: Offset, entries: Arc<[Entry]>) -> bool {
    let (batch, of_group) = (WaitingCommit { lease, from, entries }, context.clone());
    let work = |group| async move { write_group(&of_group, group).await };
    context.commits.together(&context.background, (), batch, work).await.is_some()
}

/// An answer for each if they are committed.
async fn write_group(context: &Context, mut group: Vec<WaitingCommit>) -> Vec<()> {
    group.sort_by_key(|waiting| waiting.lease.shard);
    let batches: Vec<ShardBatch<'_>> = group
        .iter()
        .map(|waiting| ShardBatch { lease: waiting.lease, from: waiting.from, entries: &waiting.entries })
        .collect();
    match write_batches(context, &batches).await {
        Ok(()) => vec![(); group.len()],
        Err(error) => {
            tracing::debug!(shards = group.len(), %error, "a group failed; its shards write alone");
            Vec::new()
        }
    }
}
