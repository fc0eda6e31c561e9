//! Watches the ground that a tenure stands on: renews the lease, and ends the tenure when Redis or
//! PostgreSQL is not what it was. While PostgreSQL is away the tenure goes on: only a higher fence ends it.

use std::sync::Arc;

use super::{owner::Tenure, verify::restart_reason};
use crate::store::{StoreError, StoreResult};

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    let every = tenure.context.settings.lease / 5;
    loop {
        tokio::time::sleep(every).await;
        match look(&tenure).await {
            Ok(None) => {}
            Ok(Some(reason)) => {
                tracing::warn!(shard = tenure.lease.shard.0, reason, "verifying the shard again");
                return StoreError::Unverified;
            }
            Err(error) if error.is_transient() => {}
            Err(error) => return error,
        }
    }
}

/// A reason to verify the shard again, if there is one.
async fn look(tenure: &Tenure) -> StoreResult<Option<&'static str>> {
    let meta = tenure.redis().shard_meta(tenure.lease.shard).await?;
    let run = tenure.redis().run_id().await?;
    tenure.db().renew_lease(tenure.lease, tenure.context.settings.lease).await?;
    let state = tenure.db().persisted_state().await?;
    Ok(restart_reason(tenure.lease.shard, meta.as_ref(), &state, &run))
}
