//! Fold, the projector to Redis: log → one difference per entity → counters in Redis → hubs. Each event is
//! applied to each target exactly once.
//!
//! When idle, an event is folded at once. Under load events gather for [`GATHER`] and while a batch is in flight.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{gather::Gather, targets::TargetShards};
use crate::{
    pipeline::leadership::{
        Leadership,
        retry::{FailureStreak, repeat_with},
    },
    primitives::fault::{self, Point},
    store::{StoreError, StoreResult, redis::Position},
};

/// How long one wait for new events lasts. Then the targets are read again: a target that was reset to an
/// earlier offset must not wait for the next event.
const WAIT: Duration = Duration::from_secs(1);
/// How long events gather after a batch has begun: the longest delay that gathering adds to a count.
const GATHER: Duration = Duration::from_millis(4);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let streak = FailureStreak::new(leadership.lease.shard, "fold");
    repeat_with(&leadership, &streak, || fold(&leadership, &streak)).await
}

/// Reads the position of each target and folds until an error.
async fn fold(leadership: &Leadership, streak: &FailureStreak) -> StoreResult<()> {
    let (redis, source) = (leadership.redis(), leadership.lease.shard);
    let mut reader = redis.log_reader(source, leadership.context.settings.redis_replicas).await?;
    let read_targets = || TargetShards::read(redis, source, Position::Folded);
    let mut targets = read_targets().await?;
    let (most, mut gather) = (leadership.context.settings.batch_events, Gather::every(GATHER));
    loop {
        let from = targets.lowest();
        leadership.progress.folded.send_replace(from);
        gather.wait().await;
        let entries = reader.read(from, most, WAIT).await?;
        gather.begin(Instant::now(), entries.len() == most);
        let Some(last) = entries.last() else {
            targets = read_targets().await?;
            streak.succeeded();
            continue;
        };
        leadership.context.status.record_log_end(source, last.offset);
        let mut batches = targets.batches(&entries, last.offset);
        targets.add_heat(&mut batches, &entries, chrono::Utc::now().timestamp_millis());
        fault::reached(Point::BeforeFold)?;
        let applied = redis.fold(source, leadership.lease.fence, &batches).await?;
        fault::reached(Point::AfterFold)?;
        if !targets.advance(&batches, &applied) {
            targets = read_targets().await?;
        }
        streak.succeeded();
    }
}
