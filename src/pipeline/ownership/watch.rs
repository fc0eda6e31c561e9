//! Renews the lease, and ends the leadership when Redis or PostgreSQL lost state that the leadership relies on.
//! An outage of PostgreSQL alone does not end it: only a higher fencing token does.

use std::{sync::Arc, time::Duration};

use super::reset::reset_reason;
use crate::{
    pipeline::leadership::Leadership,
    primitives::Offset,
    store::{StoreError, StoreResult},
};

/// Longest pause between two checks, for any lease: owners of other shards may wait for what this one must detect.
const MAX_INTERVAL: Duration = Duration::from_secs(2);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let every = (leadership.context.settings.lease / 5).min(MAX_INTERVAL);
    let (mut is_outage, mut known) = (false, Vec::new());
    loop {
        tokio::time::sleep(every).await;
        match check(&leadership, &mut known).await {
            Ok(None) if is_outage => {
                is_outage = false;
                leadership.stores_back.notify_waiters();
            }
            Ok(None) => {}
            Ok(Some(reason)) => {
                tracing::warn!(shard = leadership.lease.shard.0, reason, "recovering the shard again");
                return StoreError::NotRecovered;
            }
            Err(error) if error.is_transient() => is_outage = true,
            Err(error) => return error,
        }
    }
}

/// Renews the lease. Returns a reason to recover the shard again, if there is one. `known`: the offsets that PostgreSQL
/// had at the last check.
async fn check(leadership: &Leadership, known: &mut Vec<Offset>) -> StoreResult<Option<&'static str>> {
    let shard = leadership.lease.shard;
    let meta = leadership.redis().shard_meta(shard).await?;
    let history = leadership.redis().history(shard).await?;
    let persisted_before = *leadership.progress.persisted.borrow();
    let state = leadership.db().renew_lease(leadership.lease, leadership.context.settings.lease).await?;
    let status = &leadership.context.status;
    if let Some(reason) = reset_reason(shard, meta.as_ref(), &state, known, &history, status) {
        return Ok(Some(reason));
    }
    if meta.is_some_and(|meta| meta.redis_history.as_ref() != Some(&history.id)) {
        return Ok(Some("Redis has another replication id"));
    }
    status.record_history(&history.id);
    let persisted = state.offsets[shard.index()];
    *known = state.offsets;
    if persisted < persisted_before {
        return Ok(Some("PostgreSQL lost events that it had persisted"));
    }
    // Read last: unless Redis lost it, the log only grows.
    let end = leadership.redis().log_end(shard).await?;
    Ok((end < Some(persisted)).then_some("the log ends before the persisted offset"))
}
