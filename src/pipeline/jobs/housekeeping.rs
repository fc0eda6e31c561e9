//! What is due once an hour for the whole installation; the owner of shard 0 does it, at its start and then
//! hourly. Nothing of it is urgent: what fails is tried again an hour later.

use std::{sync::Arc, time::Duration};

use chrono::{Days, Utc};

use crate::{
    pipeline::leadership::Leadership,
    primitives::ShardId,
    store::{KEY_LIFE, StoreError, StoreResult},
};

const EVERY: Duration = Duration::from_hours(1);
const PAGE: i64 = 1_000;
/// How long dead events that were decided are kept, and what reconciliation has repaired.
const TOLD_LIFE: Duration = Duration::from_hours(24 * 90);
/// The shard whose owner keeps house.
pub(super) const KEEPER: ShardId = ShardId(0);

/// Never returns.
pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    if leadership.lease.shard != KEEPER {
        return std::future::pending().await;
    }
    loop {
        // One line per duty.
        attend("forget old history", forget_old_history(&leadership)).await;
        attend("prepare tomorrow's history", prepare_tomorrow(&leadership)).await;
        attend("forget old idempotency keys", forget_old_keys(&leadership)).await;
        attend("forget decided dead events", forget_decided(&leadership)).await;
        attend("forget old repairs", forget_old_repairs(&leadership)).await;
        tokio::time::sleep(EVERY).await;
    }
}

async fn attend(duty: &str, work: impl Future<Output = StoreResult<()>>) {
    if let Err(error) = work.await {
        tracing::warn!(duty, %error, "cannot do it now; trying again in an hour");
    }
}

/// Drops the days of `activity` that are wholly older than the retention.
async fn forget_old_history(leadership: &Leadership) -> StoreResult<()> {
    let kept = (Utc::now() - leadership.context.settings.activity_retention).date_naive();
    for day in leadership.db().activity_days_before(kept).await? {
        leadership.db().drop_activity_day(day).await?;
        tracing::info!(%day, "dropped a day of history");
    }
    Ok(())
}

/// Makes tomorrow's partition of `activity`, so that no batch has to.
async fn prepare_tomorrow(leadership: &Leadership) -> StoreResult<()> {
    if !leadership.context.settings.activity {
        return Ok(());
    }
    let tomorrow = Utc::now().date_naive() + Days::new(1);
    leadership.db().prepare_activity_day(tomorrow).await
}

/// Deletes idempotency keys that are free again, page by page.
async fn forget_old_keys(leadership: &Leadership) -> StoreResult<()> {
    while leadership.db().delete_old_keys(KEY_LIFE, PAGE).await? == PAGE as u64 {}
    Ok(())
}

/// Deletes dead events that were decided long ago, page by page.
async fn forget_decided(leadership: &Leadership) -> StoreResult<()> {
    while leadership.db().delete_decided_dead_events(TOLD_LIFE, PAGE).await? == PAGE as u64 {}
    Ok(())
}

/// Deletes what is told of repairs, page by page.
async fn forget_old_repairs(leadership: &Leadership) -> StoreResult<()> {
    while leadership.db().delete_old_repairs(TOLD_LIFE, PAGE).await? == PAGE as u64 {}
    Ok(())
}
