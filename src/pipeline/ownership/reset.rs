//! Reset of a target shard: its counters in Redis may be wrong, so they begin again under a higher epoch.

use crate::{
    pipeline::leadership::{Context, retry::delays},
    primitives::{Offset, ShardId, Version},
    store::{
        StoreResult,
        redis::ShardMeta,
        sql::shards::{Lease, PersistedState},
    },
};

/// Resets the shard's counters if there is a reason: the next epoch begins with totals of PostgreSQL.
pub async fn reset_counters(context: &Context, lease: Lease, run: &str) -> StoreResult<()> {
    let meta = context.redis.shard_meta(lease.shard).await?;
    let retired = context.redis.retired_offsets().await?;
    let state = context.db.persisted_state().await?;
    let Some(reason) = reset_reason(lease.shard, meta.as_ref(), &state, &retired, run) else {
        return Ok(());
    };
    let last_epoch = meta.map_or(0, |meta| meta.epoch);
    let state = context.db.raise_epoch(lease, last_epoch).await?;
    let epoch = state.epochs[lease.shard.index()];
    let sources: Vec<_> = state.offsets.iter().copied().zip(state.fences.iter().copied()).collect();
    context.redis.reset_target(lease.shard, epoch, &state.timeline, &sources).await?;
    tracing::info!(shard = lease.shard.0, epoch, reason, "reset the shard's counters");
    spawn_sweep(context, lease.shard);
    Ok(())
}

/// Why the shard's counters must be reset; `None` if they can be trusted. `known`: offsets that PostgreSQL has had.
pub fn reset_reason(
    shard: ShardId,
    meta: Option<&ShardMeta>,
    state: &PersistedState,
    known: &[Offset],
    run: &str,
) -> Option<&'static str> {
    let Some(meta) = meta else {
        return Some("Redis has no state of the shard");
    };
    let is_behind = |(persisted, known): (&Offset, &Offset)| persisted < known;
    if meta.redis_run_id.as_deref() != Some(run) {
        Some("Redis is another process")
    } else if meta.timeline != state.timeline {
        Some("PostgreSQL is on another timeline")
    } else if meta.epoch != state.epochs[shard.index()] {
        Some("PostgreSQL has another epoch")
    } else if state.offsets.iter().zip(known).any(is_behind) {
        Some("PostgreSQL lost persisted events")
    } else if meta.change > Version::MAX_CHANGE / 2 {
        Some("the epoch has used half of its change numbers")
    } else {
        None
    }
}

/// Removes keys of earlier epochs in the background. It fails until the scripts are loaded, which happens when all
/// shards are recovered, so it retries.
fn spawn_sweep(context: &Context, shard: ShardId) {
    let redis = context.redis.clone();
    context.background.spawn(async move {
        let mut delays = delays();
        for _ in 0..30 {
            delays.pause().await;
            match redis.sweep(shard).await {
                Ok(removed) => {
                    return tracing::debug!(shard = shard.0, removed, "removed keys of earlier epochs");
                }
                Err(error) if error.is_transient() => {}
                Err(error) => {
                    return tracing::warn!(shard = shard.0, %error, "cannot remove keys of earlier epochs");
                }
            }
        }
    });
}
