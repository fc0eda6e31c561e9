//! Watches the ground that a tenure stands on: renews the lease, and ends the tenure when Redis or
//! PostgreSQL is not what it was. While PostgreSQL is away the tenure goes on: only a higher fence ends it.

use std::{sync::Arc, time::Duration};

use super::{tenure::Tenure, verify::restart_reason};
use crate::store::{StoreError, StoreResult};

/// However long the lease: other owners wait for what this one has to notice.
const AT_LEAST_EVERY: Duration = Duration::from_secs(2);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    let every = (tenure.context.settings.lease / 5).min(AT_LEAST_EVERY);
    let mut is_away = false;
    loop {
        tokio::time::sleep(every).await;
        match look(&tenure).await {
            Ok(None) if is_away => {
                is_away = false;
                tenure.back.notify_waiters();
            }
            Ok(None) => {}
            Ok(Some(reason)) => {
                tracing::warn!(shard = tenure.lease.shard.0, reason, "verifying the shard again");
                return StoreError::Unverified;
            }
            Err(error) if error.is_transient() => is_away = true,
            Err(error) => return error,
        }
    }
}

/// A reason to verify the shard again, if there is one.
async fn look(tenure: &Tenure) -> StoreResult<Option<&'static str>> {
    let meta = tenure.redis().shard_meta(tenure.lease.shard).await?;
    let run = tenure.redis().run_id().await?;
    tenure.db().renew_lease(tenure.lease, tenure.context.settings.lease).await?;
    let seen = *tenure.progress.persisted.borrow();
    let state = tenure.db().persisted_state().await?;
    if let Some(reason) = restart_reason(tenure.lease.shard, meta.as_ref(), &state, &run) {
        return Ok(Some(reason));
    }
    let persisted = state.offsets[tenure.lease.shard.index()];
    if persisted < seen {
        return Ok(Some("PostgreSQL is before what was persisted"));
    }
    // Read last: the log only grows, unless somebody took it away.
    let end = tenure.redis().log_end(tenure.lease.shard).await?;
    Ok((end < Some(persisted)).then_some("the log ends before what is persisted"))
}
