//! A batch: entries of one shard's log, and the step of the log's offset that they are.

use plaudit_catalogue::{event_log::Entry, primitives::Offset};
use plaudit_store::{
    StoreResult, ensure,
    sql::ownership::shards::{Lease, OffsetStep},
};

/// Entries of one shard's log after `from`, for the transaction of its owner.
#[derive(Clone, Copy)]
pub struct ShardBatch<'a> {
    pub lease: Lease,
    pub from: Offset,
    pub entries: &'a [Entry],
}

/// The steps of these batches, which are in the order of their shards.
///
/// # Errors
/// [`plaudit_store::StoreError::Broken`] if a shard has two batches, or an offset would not rise: events would be
/// written twice, or in another order than they happened.
pub fn steps(batches: &[ShardBatch<'_>]) -> StoreResult<Vec<OffsetStep>> {
    let rise = batches.is_sorted_by(|one, next| one.lease.shard < next.lease.shard);
    ensure(rise, "a transaction has one batch of a shard, in the order of shards")?;
    let mut steps = Vec::with_capacity(batches.len());
    for ShardBatch { lease, from, entries } in batches.iter().copied() {
        let Some(last) = entries.last() else { continue };
        let follow = entries.iter().map(|entry| entry.offset);
        ensure(
            entries[0].offset > from && follow.is_sorted_by(|one, next| one < next),
            "entries of a batch follow its offset in the order of the log",
        )?;
        steps.push(OffsetStep { lease, from, to: last.offset, digest: last.digest });
    }
    Ok(steps)
}
