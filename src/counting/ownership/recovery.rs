//! Recovery after a takeover: before a new owner uses a Redis process, it checks the shard's log and counters
//! there. Lost state is an error and never read as zero: a log that lost entries begins its next generation, and
//! counters that may be wrong begin a higher epoch.

use std::cmp::Ordering;

use super::reset::reset_counters;
use crate::{
    leadership::Context,
    pipeline::{persist, trim},
};
use plaudit_catalogue::{
    event_log::{Entry, EntryDigest},
    primitives::{
        Offset, ShardId,
        fault::{self, Point},
    },
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{
        RedisIdentity, TakeOver,
        log::{reading, recovery},
        nodes::{self, handover, identity},
    },
    sql::ownership::{
        self,
        shards::{self, Lease, PersistedState},
    },
};

/// Recovers the shard's log and counters; afterwards the shard takes actions. Returns which Redis it was, and
/// PostgreSQL's state of all shards after that.
pub async fn recover(context: &Context, lease: Lease) -> StoreResult<(RedisIdentity, PersistedState)> {
    // Read first and written last: if Redis changes in between, the recovery has no effect.
    let identity = identity::identity(&context.redis, lease.shard).await?;
    let installation = ownership::installation::installation_id(&context.db).await?;
    nodes::installation::claim_shards(&context.redis, std::iter::once(lease.shard), &installation).await?;
    let generation = recover_log(context, lease).await?;
    reset_counters(context, lease, &identity).await?;
    let append_limit = trim::append_limit(context, lease.shard).await?;
    let last_move = handover::last_move(&context.redis, lease.shard).await;
    fault::reached(Point::BeforeRecovered)?;
    recovery::finish_recovery(&context.redis, lease.shard, lease.fence, generation, append_limit, &identity)
        .await?;
    context.status.record_verified(lease.shard, &identity.id, last_move);
    // Read after the log's generation began: what PostgreSQL has now began with it, or later.
    Ok((identity, shards::persisted_state(&context.db).await?))
}

/// Checks that the log lost nothing; if it did, begins its next generation. Returns the log's generation.
async fn recover_log(context: &Context, lease: Lease) -> StoreResult<u64> {
    // Every target gets the fencing token before its position is read: an earlier owner cannot move it any more.
    let folded = write_fence(context, lease).await?;
    let state = shards::persisted_state(&context.db).await?;
    let persisted = state.offsets[lease.shard.index()];
    // Read before the log's end: events that this process has seen beyond that end are lost.
    let seen = context.status.last_log_end(lease.shard).unwrap_or_default();
    let end = reading::log_end(&context.redis, lease.shard).await?;
    let reached = persisted.max(folded);
    let is_overwritten = is_overwritten(context, lease.shard, &state, end).await?;
    if let Some(end) = end
        && end >= reached
        && !is_overwritten
        && is_whole(context, lease.shard, &state).await?
    {
        report_rollback(context, lease.shard, end, seen);
        return Ok(end.generation);
    }
    let is_generation_raised = persisted == Offset::genesis(persisted.generation) && persisted.generation > 0;
    if is_generation_raised && folded.max(seen) <= persisted && end < Some(persisted) {
        // As far as is known, the previous owner was killed after it had raised the generation, and before it wrote to
        // the log.
        reading::append_genesis(&context.redis, lease.shard, persisted.generation).await?;
        return Ok(persisted.generation);
    }
    if is_overwritten {
        tracing::error!(
            shard = lease.shard.0, %persisted,
            "the log has other entries than those that were read before: another Redis, or somebody else, wrote it; \
             events that were overwritten are lost"
        );
    }
    begin_generation(context, lease, persisted, reached, end, is_overwritten).await
}

/// Whether others have overwritten entries: the log has another one than that which was persisted last, or than this
/// process has read.
async fn is_overwritten(
    context: &Context,
    shard: ShardId,
    state: &PersistedState,
    end: Option<Offset>,
) -> StoreResult<bool> {
    if end.is_some_and(|end| context.status.was_overwritten(shard, end.generation)) {
        return Ok(true);
    }
    let (persisted, digest) = (state.offsets[shard.index()], state.digests[shard.index()]);
    let entry = reading::first_at_or_after(&context.redis, shard, persisted).await?;
    Ok(entry.is_some_and(|entry| is_another(&entry, persisted, digest)))
}

/// Whether this is another entry than that which was persisted at the offset.
pub fn is_another(entry: &Entry, persisted: Offset, digest: Option<EntryDigest>) -> bool {
    entry.offset == persisted && digest.is_some_and(|digest| digest != entry.digest)
}

/// Writes the fencing token into every target. Returns the highest offset to which one of them is folded.
async fn write_fence(context: &Context, lease: Lease) -> StoreResult<Offset> {
    let mut farthest = Offset::default();
    for target in context.redis.shards().all() {
        if let TakeOver::FoldedTo(offset) =
            recovery::take_over(&context.redis, lease.shard, target, lease.fence).await?
        {
            farthest = farthest.max(offset);
        }
    }
    Ok(farthest)
}

/// Whether the log has all entries that are still to be read: from the lowest position up to the first entry after the
/// persisted offset, if there is one.
async fn is_whole(context: &Context, shard: ShardId, state: &PersistedState) -> StoreResult<bool> {
    let persisted = state.offsets[shard.index()];
    let mut at = lowest_position(context, shard, state).await?;
    let mut reader = reading::log_reader(&context.redis, shard, 0);
    loop {
        match reader.read(at, context.settings.batch_events).await {
            Ok(entries) => match entries.last() {
                Some(last) if last.offset <= persisted => at = last.offset,
                _ => return Ok(true),
            },
            Err(StoreError::LogGap { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// The lowest offset from which the shard's log is still read: to persist, fold or retire it. Ignores targets that will
/// be reset, and members that belong to an earlier generation.
async fn lowest_position(context: &Context, shard: ShardId, state: &PersistedState) -> StoreResult<Offset> {
    let persisted = state.offsets[shard.index()];
    let mut lowest = persisted;
    for target in context.redis.shards().all() {
        let Some(meta) = recovery::shard_meta(&context.redis, target).await? else { continue };
        if meta.epoch == state.epochs[target.index()] {
            lowest = lowest.min(meta.folded[shard.index()]);
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

/// After a loss of entries: persists the surviving ones, then begins the next generation. Any counter may include
/// lost events, so the epochs of all shards rise with the generation.
async fn begin_generation(
    context: &Context,
    lease: Lease,
    persisted: Offset,
    reached: Offset,
    end: Option<Offset>,
    is_overwritten: bool,
) -> StoreResult<u64> {
    // If Redis is the same process as before, it still takes actions.
    recovery::close_log(&context.redis, lease.shard, lease.fence).await?;
    let survivors = persist::persist_survivors(context, lease, persisted).await?;
    let last_generation = reached.generation.max(end.map_or(0, |end| end.generation));
    let is_new = reached == Offset::default();
    let generation = shards::raise_generation(&context.db, lease, last_generation, !is_new).await?;
    fault::reached(Point::BeforeGenesis)?;
    reading::append_genesis(&context.redis, lease.shard, generation).await?;
    let shard = lease.shard.0;
    if is_new {
        tracing::info!(shard, "the shard's log begins");
    } else {
        let known = reached.max(persisted);
        let cause = if end >= Some(reached) && !is_overwritten {
            "PostgreSQL went back: it lost commits whose events the shard's log no longer has"
        } else {
            "Redis lost the end of the shard's log"
        };
        report_loss(
            context,
            lease.shard,
            cause,
            known,
            persisted,
            survivors as u64,
            u64::from(is_overwritten),
        );
    }
    Ok(generation)
}

/// Logs and counts the events that a Redis has lost which went back to an earlier moment as a whole: nothing in
/// the stores is ahead of the log's end, only this process has seen more. Their offsets are given again, under
/// another epoch.
fn report_rollback(context: &Context, shard: ShardId, end: Offset, seen: Offset) {
    let lost = if seen > end { lost_between(end, seen) } else { 0 };
    if lost > 0 {
        metrics::counter!("plaudit_lost_events_total", "shard" => shard.to_string()).increment(lost);
        context.status.set_log_end(shard, end);
        let shard = shard.0;
        tracing::error!(shard, %seen, %end, lost, "Redis lost the end of the shard's log, and went back as a whole");
    }
}

/// Logs and counts the events that were lost: neither persisted nor surviving. This process may have seen more of
/// the log than Redis now remembers.
fn report_loss(
    context: &Context,
    shard: ShardId,
    cause: &str,
    known: Offset,
    persisted: Offset,
    survivors: u64,
    at_least: u64,
) {
    let last_seen = context.status.last_log_end(shard);
    let reached = known.max(last_seen.unwrap_or_default());
    let lost = lost_between(persisted, reached).saturating_sub(survivors).max(at_least);
    metrics::counter!("plaudit_lost_events_total", "shard" => shard.to_string()).increment(lost);
    let shard = shard.0;
    if last_seen >= Some(known) {
        tracing::error!(
            shard, %reached, %persisted, survivors, lost,
            "{cause}: counters are reset to PostgreSQL's totals"
        );
    } else {
        tracing::error!(
            shard, %reached, %persisted, survivors, lost_at_least = lost,
            "{cause}: counters are reset to PostgreSQL's totals; this \
             process started later and may not know of all lost events"
        );
    }
}

/// Number of events after `persisted` up to `reached`, at least. PostgreSQL knows every generation that had
/// events, so no event of an earlier generation can be missing, unless PostgreSQL itself went back: then events
/// of the later one count.
fn lost_between(persisted: Offset, reached: Offset) -> u64 {
    match reached.generation.cmp(&persisted.generation) {
        Ordering::Less => 0,
        Ordering::Equal => reached.number.saturating_sub(persisted.number),
        Ordering::Greater => reached.number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_are_those_after_the_persisted_offset_in_its_generation() {
        let persisted = Offset::new(7, 40);
        assert_eq!(lost_between(persisted, Offset::new(7, 42)), 2);
        assert_eq!(lost_between(persisted, Offset::new(7, 39)), 0);
        assert_eq!(lost_between(persisted, Offset::new(6, 90)), 0);
        assert_eq!(lost_between(persisted, Offset::new(8, 3)), 3);
    }
}
