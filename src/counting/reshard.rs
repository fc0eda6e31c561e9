//! Reshard: changes the number of shards. docs/internals/resharding.md has the steps and why each may be interrupted.

use std::time::Duration;

use super::{PipelineSetup, PipelineStatus, leadership::Context, pipeline::persist};
use plaudit_catalogue::primitives::{
    Offset, ShardCount,
    fault::{self, Point},
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{
        Redis,
        log::{self, reading},
        nodes,
    },
    sql::{
        Db,
        ownership::{
            self,
            reshard::{Highest, ReshardState},
            shards::{self, Lease},
        },
    },
};

/// Pause before a step that a silent store has interrupted is repeated.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is repeated.
const ATTEMPTS: u32 = 20;

/// A step that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReshardProgress {
    /// This many of all shards are closed.
    Closed(usize, usize),
    /// The logs of this many of all shards are persisted.
    Persisted(usize, usize),
    /// This many idempotency keys are copied.
    Copied(u64),
    Opened,
    /// This many keys of the former layout are deleted.
    Deleted(u64),
}

/// Both layouts.
pub struct Reshard {
    /// In the present layout.
    pub redis: Redis,
    /// The same Redis in the next layout.
    pub next: Redis,
    pub db: Db,
}

impl Reshard {
    /// Begins the next layout. Running it again after any interruption goes on.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] if another reshard has taken over.
    pub async fn run(&self, setup: PipelineSetup, progress: impl Fn(ReshardProgress)) -> StoreResult<()> {
        let (from, to) = (self.redis.shards(), self.next.shards());
        let leases = ownership::reshard::begin_reshard(&self.db, from, to).await?;
        fault::reached(Point::ReshardBegun)?;
        let epoch = self.seal(&leases, &progress).await?;
        self.persist(setup, &leases, &progress).await?;
        progress(ReshardProgress::Copied(
            patiently(|| log::reshard::copy_idempotency_keys(&self.redis, &self.next)).await?,
        ));
        fault::reached(Point::ReshardCopied)?;
        // As a start does: the next layout is this installation's before a server uses it.
        let installation = ownership::installation::installation_id(&self.db).await?;
        patiently(|| nodes::installation::claim_shards(&self.next, to.all(), &installation)).await?;
        let ends = patiently(|| reading::log_ends(&self.redis)).await?;
        let generation = ends.iter().flatten().map(|end| end.generation).max().unwrap_or_default();
        ownership::reshard::finish_reshard(
            &self.db,
            &leases,
            &ends,
            (from, to),
            Highest { generation, epoch },
        )
        .await?;
        progress(ReshardProgress::Opened);
        fault::reached(Point::ReshardOpened)?;
        Ok(())
    }

    /// Closes all shards. Returns the highest epoch of their counters.
    async fn seal(&self, leases: &[Lease], progress: &impl Fn(ReshardProgress)) -> StoreResult<u64> {
        let fences: Vec<u64> = leases.iter().map(|lease| lease.fence).collect();
        let mut highest = 0;
        for (done, lease) in (1..).zip(leases) {
            let epoch = patiently(|| log::reshard::seal_shard(&self.redis, lease.shard, &fences)).await?;
            highest = highest.max(epoch.unwrap_or_default());
            progress(ReshardProgress::Closed(done, leases.len()));
            fault::reached(Point::ReshardSealed)?;
        }
        Ok(highest)
    }

    /// Persists what the closed logs still have.
    async fn persist(
        &self,
        setup: PipelineSetup,
        leases: &[Lease],
        progress: &impl Fn(ReshardProgress),
    ) -> StoreResult<()> {
        let status = PipelineStatus::new(self.redis.shards());
        let context = Context::new(self.redis.clone(), self.db.clone(), setup, status);
        for (done, lease) in (1..).zip(leases) {
            patiently(|| async {
                let persisted: Offset =
                    shards::persisted_state(&context.db).await?.offsets[lease.shard.index()];
                persist::persist_survivors(&context, *lease, persisted).await
            })
            .await?;
            progress(ReshardProgress::Persisted(done, leases.len()));
            fault::reached(Point::ReshardPersisted)?;
        }
        context.background.end().await;
        Ok(())
    }
}

/// Deletes what the layout before `present` left in Redis. `former`: the same Redis in that layout.
pub async fn delete_former_layout(
    former: &Redis,
    db: &Db,
    present: ShardCount,
    progress: impl Fn(ReshardProgress),
) -> StoreResult<()> {
    progress(ReshardProgress::Deleted(patiently(|| log::reshard::delete_layout(former)).await?));
    fault::reached(Point::ReshardDeleted)?;
    ownership::reshard::forget_former_layout(db, present).await
}

/// What a reshard to `to` has to do first, as PostgreSQL says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReshardDue {
    /// Keys of the former layout, of this many shards, are left in Redis.
    Deletion(u16),
    Reshard,
    Nothing,
    /// A reshard to another number is under way.
    Another(u16),
}

impl ReshardDue {
    pub fn of(state: ReshardState, to: ShardCount) -> Self {
        match (state.to, state.from) {
            (Some(other), _) if usize::from(other) != to.get() => Self::Another(other),
            (_, Some(from)) => Self::Deletion(from),
            (None, None) if state.shards.get() == to.get() => Self::Nothing,
            _ => Self::Reshard,
        }
    }
}

/// Repeats a step that may be repeated while a store is silent.
async fn patiently<T, F>(mut step: impl FnMut() -> F) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    for _ in 1..ATTEMPTS {
        match step().await {
            Err(error) if error.is_transient() && !matches!(error, StoreError::NotRecovered) => {
                tracing::debug!(%error, "a step of the reshard is repeated");
                tokio::time::sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
    step().await
}
