//! Traces of batches: for requests of this process whose events they have, and by the sampling for themselves.

use plaudit_traces::{Batch, Stage};
use tokio::time::Instant;

use plaudit_catalogue::{
    event_log::Entry,
    primitives::{Offset, ShardId},
};

/// The entries after `after` are folded or persisted.
pub fn batch_done(stage: Stage, shard: ShardId, after: Offset, entries: &[Entry], began: Instant) {
    if !plaudit_traces::is_on() {
        return;
    }
    let Some(last) = entries.last() else { return };
    let pair = |offset: Offset| (offset.generation, offset.number);
    plaudit_traces::batch_done(&Batch {
        stage,
        shard: shard.0,
        after: pair(after),
        to: pair(last.offset),
        events: entries.len(),
        began: began.into_std(),
    });
}
