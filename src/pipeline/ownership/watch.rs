//! Watches the ground that a leadership stands on: renews the lease, and ends the leadership when Redis or
//! PostgreSQL is not what it was. While PostgreSQL is away the leadership goes on: only a higher fence ends it.

use std::{sync::Arc, time::Duration};

use super::recovery::restart_reason;
use crate::{
    pipeline::leadership::Leadership,
    store::{StoreError, StoreResult},
};

/// However long the lease: other owners wait for what this one has to notice.
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let every = (leadership.context.settings.lease / 5).min(AT_LEAST_EVERY);
    let mut is_away = false;
    loop {
        tokio::time::sleep(every).await;
        match look(&leadership).await {
            Ok(None) if is_away => {
                is_away = false;
                leadership.back.notify_waiters();
            }
            Ok(None) => {}
            Ok(Some(reason)) => {
                tracing::warn!(shard = leadership.lease.shard.0, reason, "verifying the shard again");
                return StoreError::NotRecovered;
            }
            Err(error) if error.is_transient() => is_away = true,
            Err(error) => return error,
        }
    }
}

/// A reason to verify the shard again, if there is one.
async fn look(leadership: &Leadership) -> StoreResult<Option<&'static str>> {
    let meta = leadership.redis().shard_meta(leadership.lease.shard).await?;
    let run = leadership.redis().run_id().await?;
    leadership.db().renew_lease(leadership.lease, leadership.context.settings.lease).await?;
    let seen = *leadership.progress.persisted.borrow();
    let state = leadership.db().persisted_state().await?;
    if let Some(reason) = restart_reason(leadership.lease.shard, meta.as_ref(), &state, &run) {
        return Ok(Some(reason));
    }
    let persisted = state.offsets[leadership.lease.shard.index()];
    if persisted < seen {
        return Ok(Some("PostgreSQL is before what was persisted"));
    }
    // Read last: the log only grows, unless somebody took it away.
    let end = leadership.redis().log_end(leadership.lease.shard).await?;
    Ok((end < Some(persisted)).then_some("the log ends before what is persisted"))
}
