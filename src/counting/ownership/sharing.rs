//! Sharing: the processes that run the pipeline know each other by a table, and each leads its
//! [share](super::share) of the shards. One that comes gets its part from the others; what one releases is
//! taken at once; what a killed one had is taken when its leases have expired.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    time::Duration,
};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{
    owner::{self, Ends},
    share::{ShareDecision, decide},
};
use crate::leadership::Context;
use plaudit_catalogue::primitives::ShardId;
use plaudit_store::{
    StoreResult,
    redis::nodes::installation,
    sql::ownership::sharing::{self, Sharing},
};

/// Longest time between two looks at the table, for any lease.
const MAX_INTERVAL: Duration = Duration::from_secs(2);
/// How long a stop waits for PostgreSQL before it goes on.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause before a shard that was just lost is looked at again.
const SHORT_PAUSE: Duration = Duration::from_millis(10);

/// Leads this process's share of the shards until `stop`.
pub async fn run(context: Context, stop: CancellationToken) {
    context.redis.shards().all().for_each(owner::register_counters);
    let every = (context.settings.lease / 5).min(MAX_INTERVAL);
    let mut leaders = Leaders::default();
    while !stop.is_cancelled() {
        let mut changed = pin!(context.shards_announced.notified());
        changed.as_mut().enable(); // also what changes while it looks
        match look(&context).await {
            Ok(sharing) => leaders.follow(&context, &sharing, &stop),
            Err(error) => tracing::debug!(%error, "cannot read how the shards are shared"),
        }
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = changed => {}
            () = leaders.one_ended() => tokio::time::sleep(SHORT_PAUSE).await,
            () = stop.cancelled() => {}
        }
    }
    // First, so that the others take at once what is released.
    let left =
        tokio::time::timeout(LEAVE_TIMEOUT, sharing::leave_pipeline(&context.db, &context.process.owner))
            .await;
    if let Ok(Err(error)) = left {
        tracing::debug!(%error, "cannot say that this process ends");
    }
    leaders.tasks.join_all().await;
}

/// Only a process that reaches both stores is counted: one that could not recover its shards gets none. It
/// shows itself in Redis first, so that others can see whether they use the same one (`src/app/one_redis.rs`).
async fn look(context: &Context) -> StoreResult<Sharing> {
    let (process, life) = (&context.process, context.settings.lease);
    installation::show_process(&context.redis, &process.owner, life).await?;
    sharing::join_pipeline(&context.db, &process.owner, &process.name, life).await
}

/// Tasks that lead a shard each.
#[derive(Default)]
struct Leaders {
    tasks: JoinSet<ShardId>,
    /// By shard, what makes its leader release it.
    releases: BTreeMap<ShardId, CancellationToken>,
}

impl Leaders {
    fn follow(&mut self, context: &Context, sharing: &Sharing, stop: &CancellationToken) {
        let shards = |is_leaving: bool| -> BTreeSet<ShardId> {
            let these = self.releases.iter().filter(|(_, release)| release.is_cancelled() == is_leaving);
            these.map(|(shard, _)| *shard).collect()
        };
        let ShareDecision { take, give } =
            decide(&context.process.owner, context.redis.shards(), sharing, &shards(false), &shards(true));
        for shard in take {
            let release = CancellationToken::new();
            let led =
                owner::run(context.clone(), shard, Ends { stop: stop.clone(), release: release.clone() });
            self.releases.insert(shard, release);
            self.tasks.spawn(async move {
                led.await;
                shard
            });
        }
        if !give.is_empty() {
            let (numbers, processes) = (give.iter().map(|shard| shard.0), sharing.members.len());
            tracing::info!(shards = ?numbers.collect::<Vec<_>>(), processes, "this process gives up shards to another one");
        }
        for shard in give {
            if let Some(release) = self.releases.get(&shard) {
                release.cancel();
            }
        }
    }

    /// Waits until one of them has ended.
    async fn one_ended(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok(shard)) => drop(self.releases.remove(&shard)),
            Some(Err(error)) => tracing::error!(%error, "a leader ended"),
            None => std::future::pending().await,
        }
    }
}
