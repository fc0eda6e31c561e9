//! Reset of a target shard: its counters in Redis may be wrong, so they begin again under a higher epoch.

use crate::leadership::{Context, PipelineStatus, retry::delays};
use plaudit_catalogue::primitives::{Offset, ShardId, Version};
use plaudit_store::{
    StoreResult,
    redis::{
        RedisIdentity, ShardMeta, Verified,
        log::{reading, recovery},
        nodes::handover,
    },
    sql::ownership::shards::{self, Lease, PersistedState},
};

/// Resets the shard's counters if there is a reason: the next epoch begins with totals of PostgreSQL and each log up
/// to its end.
pub async fn reset_counters(context: &Context, lease: Lease, identity: &RedisIdentity) -> StoreResult<()> {
    let meta = recovery::shard_meta(&context.redis, lease.shard).await?;
    // Before PostgreSQL's state: what is retired was persisted, so PostgreSQL is behind it only if it lost commits.
    let retired = recovery::retired_offsets(&context.redis).await?;
    let state = shards::persisted_state(&context.db).await?;
    let is_known = is_known(context, lease.shard, meta.as_ref(), identity).await?;
    let Some(reason) = reset_reason(lease.shard, meta.as_ref(), &state, &retired, is_known) else {
        return Ok(());
    };
    let mut last_epoch = meta.as_ref().map_or(0, |meta| meta.epoch);
    let folded = meta.as_ref().map_or(&[][..], |meta| &meta.folded);
    loop {
        // In PostgreSQL first: after a kill between the two, the epochs differ, which is a reason for a reset.
        let state = shards::raise_epoch(&context.db, lease, last_epoch).await?;
        let epoch = state.epochs[lease.shard.index()];
        debug_assert!(epoch > last_epoch, "versions of the counters rise");
        let reached = reached_offsets(&state.offsets, &confirmed_ends(context, lease, folded).await?);
        let sources: Vec<_> = reached.iter().copied().zip(state.fences.iter().copied()).collect();
        recovery::reset_target(&context.redis, lease.shard, epoch, &state.timeline, &sources).await?;
        tracing::info!(shard = lease.shard.0, epoch, reason, "the shard's counters are reset");
        // A log that has lost its end meanwhile would never reach the target's offset.
        let ends = reached_offsets(&state.offsets, &reading::log_ends(&context.redis).await?);
        if ends.iter().zip(&reached).all(|(end, reached)| end >= reached) {
            break;
        }
        last_epoch = epoch;
    }
    spawn_sweep(context, lease.shard);
    Ok(())
}

/// The end of each log, or how far the target has folded it if too few replicas have the end: only events that
/// they have are counted.
async fn confirmed_ends(
    context: &Context,
    lease: Lease,
    folded: &[Offset],
) -> StoreResult<Vec<Option<Offset>>> {
    let (ends, replicas) = (reading::log_ends(&context.redis).await?, context.settings.redis_replicas);
    if replicas == 0 || reading::wait_for_replicas(&context.redis, lease.shard, replicas).await.is_ok() {
        return Ok(ends);
    }
    // A position beyond the end belongs to a log that lost entries.
    let position = |(end, shard): (&Option<Offset>, usize)| (*end).min(folded.get(shard).copied());
    Ok(ends.iter().zip(0..).map(position).collect())
}

/// Up to where the counters have each log from the reset on: the log's end, unless it is behind the persisted offset
/// because it has lost entries or has not begun the generation that PostgreSQL has.
fn reached_offsets(persisted: &[Offset], ends: &[Option<Offset>]) -> Vec<Offset> {
    let later = |(persisted, end): (&Offset, &Option<Offset>)| {
        let end = end.filter(|end| end.generation == persisted.generation);
        end.map_or(*persisted, |end| end.max(*persisted))
    };
    persisted.iter().zip(ends).map(later).collect()
}

/// Whether Redis has what it had when the shard was verified: it has the same replication id, or has all that the
/// former one had.
async fn is_known(
    context: &Context,
    shard: ShardId,
    meta: Option<&ShardMeta>,
    identity: &RedisIdentity,
) -> StoreResult<bool> {
    let Some(verified) = meta.and_then(|meta| verified(shard, meta, &context.status)) else {
        return Ok(false);
    };
    if identity.continues(&verified) {
        return Ok(true);
    }
    let has_all = handover::has_all_of(&context.redis, shard, identity, verified).await?;
    if has_all {
        tracing::info!(shard = shard.0, "Redis changed without a loss: the counters stay");
    }
    Ok(has_all)
}

/// The Redis in which the shard was verified last.
pub fn verified<'a>(shard: ShardId, meta: &'a ShardMeta, status: &PipelineStatus) -> Option<Verified<'a>> {
    let (run_id, id) = (meta.redis_run_id.as_deref()?, meta.replication_id.as_deref()?);
    Some(Verified { run_id, id, seen: status.last_verified(shard, id) })
}

/// Why the shard's counters must be reset; `None` if they can be trusted. `known`: offsets that PostgreSQL has had.
/// `is_known_redis`: see [`is_known`].
pub fn reset_reason(
    shard: ShardId,
    meta: Option<&ShardMeta>,
    state: &PersistedState,
    known: &[Offset],
    is_known_redis: bool,
) -> Option<&'static str> {
    let Some(meta) = meta else {
        return Some("Redis has no state of the shard");
    };
    let is_behind = |(persisted, known): (&Offset, &Offset)| persisted < known;
    if !is_known_redis {
        Some("Redis is another process, or was promoted, or the shard was elsewhere")
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
            match recovery::sweep(&redis, shard).await {
                Ok(removed) => {
                    return tracing::debug!(shard = shard.0, removed, "keys of earlier epochs were removed");
                }
                Err(error) if error.is_transient() => {}
                Err(error) => {
                    return tracing::warn!(shard = shard.0, %error, "cannot remove keys of earlier epochs");
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_reset_to_the_end_of_each_log_or_where_it_has_none_to_what_is_persisted() {
        let persisted =
            [(2, 5), (2, 5), (3, 0), (2, 5)].map(|(generation, number)| Offset::new(generation, number));
        let ends = [Some(Offset::new(2, 9)), Some(Offset::new(2, 4)), Some(Offset::new(2, 9)), None];
        let reached =
            [(2, 9), (2, 5), (3, 0), (2, 5)].map(|(generation, number)| Offset::new(generation, number));
        assert_eq!(reached_offsets(&persisted, &ends), reached);
    }
}
