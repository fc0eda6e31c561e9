//! Counter fold: log → one difference per entity → counters in Redis → hubs.
//!
//! An idle fold runs at once. Under load batches grow by themselves while the one before is in flight.

use std::{sync::Arc, time::Duration};

use super::targets::Targets;
use crate::{
    pipeline::leadership::{
        Leadership,
        retry::{FailureStreak, keep_on_with},
    },
    primitives::fault::{self, Point},
    store::{StoreError, StoreResult},
};

/// How long one wait for new events lasts. Then the targets are looked at again: one that was begun anew
/// meanwhile, at an earlier place, must not have to wait for the next event.
const WAIT: Duration = Duration::from_secs(1);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "fold");
    keep_on_with(&leadership, &streak, || fold(&leadership, &streak)).await
}

/// Reads where the targets stand and folds until an error.
async fn fold(leadership: &Leadership, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, source) = (leadership.redis(), leadership.lease.shard);
    let mut reader = redis.log_reader(source, leadership.context.settings.redis_replicas).await?;
    let read_targets = || Targets::read(redis, source, |meta| &meta.folded);
    let mut targets = read_targets().await?;
    loop {
        let from = targets.lowest();
        leadership.progress.folded.send_replace(from);
        let entries = reader.read(from, leadership.context.settings.batch_events, WAIT).await?;
        let Some(last) = entries.last() else {
            targets = read_targets().await?;
            streak.worked();
            continue;
        };
        leadership.context.status.see(source, last.offset);
        let mut batches = targets.batches(&entries, last.offset);
        targets.add_heat(&mut batches, &entries, chrono::Utc::now().timestamp_millis());
        fault::reached(Point::BeforeFold)?;
        let applied = redis.fold(source, leadership.lease.fence, &batches).await?;
        fault::reached(Point::AfterFold)?;
        if !targets.advance(&batches, &applied) {
            targets = read_targets().await?;
        }
        streak.worked();
    }
}
