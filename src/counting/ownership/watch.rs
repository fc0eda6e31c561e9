//! Renews the lease, and ends the leadership when Redis or PostgreSQL lost state that the leadership relies on.
//! An outage of PostgreSQL alone does not end it: only a higher fencing token does.

use std::{sync::Arc, time::Duration};

use super::{
    recovery::is_another,
    reset::{reset_reason, verified},
};
use crate::leadership::{Leadership, ticks};
use plaudit_catalogue::primitives::{Offset, ShardId};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{
        RedisIdentity,
        log::{reading, recovery},
        node_of,
        nodes::{identity, shards_of_nodes},
    },
    sql::ownership::shards::{self, Lease, PersistedState},
};

/// Longest pause between two checks, for any lease: owners of other shards may wait for what this one must detect.
const MAX_INTERVAL: Duration = Duration::from_secs(2);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    let every = (leadership.context.settings.lease / 5).min(MAX_INTERVAL);
    let (mut is_outage, mut known) = (false, Vec::new());
    let mut nodes = shards_of_nodes::watch(leadership.redis());
    loop {
        tokio::select! {
            () = ticks::tick(every) => {}
            // A shard that has moved to another node is checked at once: that node may lack something.
            () = nodes.change() => {}
        }
        match check(&leadership, &mut known).await {
            Ok(None) if is_outage => {
                is_outage = false;
                leadership.stores_back.notify_waiters();
            }
            Ok(None) => {}
            Ok(Some(reason)) => {
                tracing::warn!(shard = leadership.lease.shard.0, reason, "the shard is recovered again");
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
    let meta = recovery::shard_meta(leadership.redis(), shard).await?;
    let identity = identity(leadership).await?;
    // Read before PostgreSQL's state, which is not older unless commits were lost.
    let persisted_before = *leadership.progress.persisted.borrow();
    let state = renew(leadership).await?;
    let status = &leadership.context.status;
    let verified = meta.as_ref().and_then(|meta| verified(shard, meta, status));
    let is_known = verified.is_some_and(|verified| identity.continues(&verified));
    if let Some(reason) = reset_reason(shard, meta.as_ref(), &state, known, is_known) {
        return Ok(Some(reason));
    }
    if meta.is_some_and(|meta| meta.replication_id.as_ref() != Some(&identity.id)) {
        return Ok(Some("Redis has another replication id"));
    }
    status.record_still_verified(shard, &identity.id);
    let (persisted, digest) = (state.offsets[shard.index()], state.digests[shard.index()]);
    known.clone_from(&state.offsets);
    if persisted < persisted_before {
        return Ok(Some("PostgreSQL lost events that it had persisted"));
    }
    // Read last: unless Redis lost it, the log only grows.
    match reading::first_at_or_after(leadership.redis(), shard, persisted).await? {
        Some(entry) if is_another(&entry, persisted, digest) => {
            Ok(Some("the log has another entry at the persisted offset"))
        }
        Some(_) => Ok(None),
        None => {
            let end = reading::log_end(leadership.redis(), shard).await?;
            Ok((end < Some(persisted)).then_some("the log ends before the persisted offset"))
        }
    }
}

/// The identity of the Redis that has the shard: asked once for all shards of its node.
async fn identity(leadership: &Leadership) -> StoreResult<RedisIdentity> {
    let (context, shard) = (&leadership.context, leadership.lease.shard);
    let node = node_of(shard, &shards_of_nodes::shards_by_node(&context.redis).await?);
    let redis = context.redis.clone();
    let work = |shards: Vec<ShardId>| async move {
        let identity = identity::identity(&redis, shards[0]).await;
        vec![identity; shards.len()]
    };
    match context.identities.together(&context.background, node, shard, work).await {
        Some(identity) => identity,
        None => identity::identity(&context.redis, shard).await,
    }
}

/// Renews the lease, in one statement with the leases of the process's other shards. Returns PostgreSQL's state when
/// the statement began.
async fn renew(leadership: &Leadership) -> StoreResult<Arc<PersistedState>> {
    let (context, lease) = (&leadership.context, leadership.lease);
    let (db, life) = (context.db.clone(), context.settings.lease);
    let work = move |leases: Vec<Lease>| async move {
        match shards::renew_leases(&db, &leases, life).await {
            Ok((state, renewed)) => {
                let state = Arc::new(state);
                renewed.into_iter().map(|is_renewed| Ok(is_renewed.then(|| Arc::clone(&state)))).collect()
            }
            Err(error) => vec![Err(error); leases.len()],
        }
    };
    match context.renewals.together(&context.background, (), lease, work).await.transpose()?.flatten() {
        Some(state) => Ok(state),
        // It has a newer owner, or a transaction holds it.
        None => shards::renew_lease(leadership.db(), lease, life).await.map(Arc::new),
    }
}
