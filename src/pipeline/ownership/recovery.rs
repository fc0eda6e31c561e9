//! Verification: before a new owner does anything on a Redis process, it finds out what that process
//! still knows. Loss is an error, never zero: what may be wrong is begun anew, under a higher number.

use std::time::Duration;

use crate::{
    pipeline::{
        counting::{persist, trim},
        leadership::{Context, retry::delays},
    },
    primitives::{
        Offset, ShardId, Version,
        fault::{self, Point},
    },
    store::{
        StoreError, StoreResult,
        redis::{ShardMeta, TakeOver},
        sql::{Lease, PersistedState},
    },
};

/// Verifies the shard's log and counters; actions are possible afterwards. Returns the Redis process.
pub async fn recover(context: &Context, lease: Lease) -> StoreResult<String> {
    // Read first and written last: if the process changes in between, the verification is void.
    let run = context.redis.run_id().await?;
    let generation = adopt_log(context, lease).await?;
    restart_counters(context, lease, &run).await?;
    let room = trim::room(context, lease.shard).await?;
    fault::reached(Point::BeforeRecovered)?;
    context.redis.finish_recovery(lease.shard, lease.fence, generation, room, &run).await?;
    Ok(run)
}

/// Makes sure that the log is whole, or begins its next generation. Returns its generation.
async fn adopt_log(context: &Context, lease: Lease) -> StoreResult<u64> {
    // The fence is in every target before a position is read there: a late owner cannot move it any more.
    let folded = show_fence(context, lease).await?;
    let state = context.db.persisted_state().await?;
    let persisted = state.offsets[lease.shard.index()];
    let end = context.redis.log_end(lease.shard).await?;
    let reached = persisted.max(folded);
    if let Some(end) = end
        && end >= reached
        && is_whole(context, lease.shard, &state).await?
    {
        return Ok(end.generation);
    }
    let begun = persisted == Offset::genesis(persisted.generation) && persisted.generation > 0;
    if begun && folded <= persisted && end < Some(persisted) {
        // The generation was raised, and then this owner's predecessor was killed.
        context.redis.append_genesis(lease.shard, persisted.generation).await?;
        return Ok(persisted.generation);
    }
    begin_generation(context, lease, persisted, reached, end).await
}

/// Returns how far the log is folded into whichever target has gone farthest.
async fn show_fence(context: &Context, lease: Lease) -> StoreResult<Offset> {
    let mut farthest = Offset::default();
    for target in context.redis.shards().all() {
        if let TakeOver::FoldedTo(offset) = context.redis.take_over(lease.shard, target, lease.fence).await? {
            farthest = farthest.max(offset);
        }
    }
    Ok(farthest)
}

/// Whether nothing is missing that is still to be read: from what is cleaned everywhere up to the entry after
/// what is persisted, if there is one.
async fn is_whole(context: &Context, shard: ShardId, state: &PersistedState) -> StoreResult<bool> {
    let persisted = state.offsets[shard.index()];
    let mut at = cleaned(context, shard, state).await?;
    let mut reader = context.redis.log_reader(shard, 0).await?;
    loop {
        match reader.read(at, context.settings.batch_events, Duration::ZERO).await {
            Ok(entries) => match entries.last() {
                Some(last) if last.offset <= persisted => at = last.offset,
                _ => return Ok(true),
            },
            Err(StoreError::LogGap { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Up to where the shard's log is cleaned, at most to what is persisted, by all who go on from there. Targets that are going to be begun anew
/// do not, nor do flips of an earlier generation.
async fn cleaned(context: &Context, shard: ShardId, state: &PersistedState) -> StoreResult<Offset> {
    let persisted = state.offsets[shard.index()];
    let mut lowest = persisted;
    for target in context.redis.shards().all() {
        let Some(meta) = context.redis.shard_meta(target).await? else { continue };
        if meta.epoch == state.epochs[target.index()] {
            lowest = lowest.min(meta.retired[shard.index()]);
        }
        if target == shard
            && let Some(members) = meta.members_retired
            && members.generation == persisted.generation
        {
            lowest = lowest.min(members);
        }
    }
    Ok(lowest)
}

/// The log lost entries: persists what survived, then begins the next generation. All counters may hold
/// what was lost, so the epochs of all shards rise with it.
async fn begin_generation(
    context: &Context,
    lease: Lease,
    persisted: Offset,
    reached: Offset,
    end: Option<Offset>,
) -> StoreResult<u64> {
    // Where Redis is the same process as before, actions may still go on.
    context.redis.close_log(lease.shard, lease.fence).await?;
    let survivors = persist::persist_survivors(context, lease, persisted).await?;
    let seen = reached.generation.max(end.map_or(0, |end| end.generation));
    let is_new = reached == Offset::default();
    let generation = context.db.raise_generation(lease, seen, !is_new).await?;
    fault::reached(Point::BeforeGenesis)?;
    context.redis.append_genesis(lease.shard, generation).await?;
    let shard = lease.shard.0;
    if is_new {
        tracing::info!(shard, "began the shard's log");
    } else {
        tell_loss(context, lease.shard, reached.max(persisted), persisted, survivors as u64);
    }
    Ok(generation)
}

/// Says how many events the log lost that were neither persisted nor survived. Redis itself may know less of it
/// than this process, which has seen the log.
fn tell_loss(context: &Context, shard: ShardId, known: Offset, persisted: Offset, survivors: u64) {
    let seen = context.status.seen(shard);
    let reached = known.max(seen.unwrap_or_default());
    let lost = lost_between(persisted, reached).saturating_sub(survivors);
    metrics::counter!("plaudit_lost_events_total", "shard" => shard.to_string()).increment(lost);
    let shard = shard.0;
    if seen >= Some(known) {
        tracing::error!(
            shard, %reached, %persisted, survivors, lost,
            "Redis lost the end of the shard's log: counters begin anew from PostgreSQL"
        );
    } else {
        tracing::error!(
            shard, %reached, %persisted, survivors, lost_at_least = lost,
            "Redis lost the end of the shard's log: counters begin anew from PostgreSQL; this process is new \
             and cannot tell all that was lost"
        );
    }
}

/// Events after `persisted` up to `reached`. PostgreSQL knows every generation that had events, so none of an
/// earlier one can be missing.
const fn lost_between(persisted: Offset, reached: Offset) -> u64 {
    if reached.generation == persisted.generation {
        reached.number.saturating_sub(persisted.number)
    } else {
        0
    }
}

/// Begins the shard's counters anew if there is a reason.
async fn restart_counters(context: &Context, lease: Lease, run: &str) -> StoreResult<()> {
    let meta = context.redis.shard_meta(lease.shard).await?;
    let state = context.db.persisted_state().await?;
    let Some(reason) = restart_reason(lease.shard, meta.as_ref(), &state, run) else {
        return Ok(());
    };
    let seen = meta.map_or(0, |meta| meta.epoch);
    let state = context.db.raise_epoch(lease, seen).await?;
    let epoch = state.epochs[lease.shard.index()];
    let sources: Vec<_> = state.offsets.iter().copied().zip(state.fences.iter().copied()).collect();
    context.redis.reset_target(lease.shard, epoch, &state.timeline, &sources).await?;
    tracing::info!(shard = lease.shard.0, epoch, reason, "began the shard's counters anew");
    sweep_soon(context, lease.shard);
    Ok(())
}

/// Why the shard's counters may not be trusted; `None` when they may.
pub fn restart_reason(
    shard: ShardId,
    meta: Option<&ShardMeta>,
    state: &PersistedState,
    run: &str,
) -> Option<&'static str> {
    let Some(meta) = meta else {
        return Some("Redis has no state of the shard");
    };
    let behind = |(persisted, cleaned): (&Offset, &Offset)| persisted < cleaned;
    if meta.redis_run_id.as_deref() != Some(run) {
        Some("Redis is another process")
    } else if meta.timeline != state.timeline {
        Some("PostgreSQL is on another timeline")
    } else if meta.epoch != state.epochs[shard.index()] {
        Some("PostgreSQL has another epoch")
    } else if state.offsets.iter().zip(&meta.retired).any(behind) {
        Some("PostgreSQL lost what was persisted")
    } else if meta.change > Version::MAX_CHANGE / 2 {
        Some("the epoch has used half of its change numbers")
    } else {
        None
    }
}

/// Removes, in the background, what the earlier epoch left behind. Waits for the scripts, which are loaded
/// when all shards are verified.
fn sweep_soon(context: &Context, shard: ShardId) {
    let redis = context.redis.clone();
    tokio::spawn(async move {
        for delay in delays().take(30) {
            tokio::time::sleep(delay).await;
            match redis.sweep(shard).await {
                Ok(removed) => {
                    return tracing::debug!(shard = shard.0, removed, "swept what earlier epochs left");
                }
                Err(error) if error.is_transient() => {}
                Err(error) => return tracing::warn!(shard = shard.0, %error, "cannot sweep"),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_what_was_not_persisted() {
        let persisted = Offset::new(7, 40);
        assert_eq!(lost_between(persisted, Offset::new(7, 42)), 2);
        assert_eq!(lost_between(persisted, Offset::new(7, 39)), 0);
        assert_eq!(lost_between(persisted, Offset::new(6, 90)), 0);
    }
}
