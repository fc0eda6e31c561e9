//! Readiness: whether clients may be sent to this process, and the check of what it depends on.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use futures_util::future::{BoxFuture, FutureExt};

use tokio_util::sync::CancellationToken;

use crate::http::{Dependency, HealthReport, Owner, Readiness};
use plaudit_counting::{PipelineStatus, hub::Hub};
use plaudit_store::{
    redis::Redis,
    sql::{
        Db,
        ownership::sharing::{self, ShardOwner},
    },
};

/// Whether clients may be sent to this process: from the first moment at which all was right until it begins to
/// stop. An outage changes nothing: the other processes have it, too, and what goes on without a store goes on
/// here.
#[derive(Clone)]
pub struct Latch {
    was_right: Arc<AtomicBool>,
    /// Cancelled when this process begins to stop; not when the number of shards has changed.
    signal: CancellationToken,
}

impl Latch {
    pub fn new(signal: CancellationToken) -> Self {
        Self { was_right: Arc::default(), signal }
    }

    /// Whether all was right once since the start.
    pub fn was_right(&self) -> bool {
        self.was_right.load(Relaxed)
    }

    /// All is right now.
    pub fn set(&self) {
        self.was_right.store(true, Relaxed);
    }
}

/// The dependencies of this process's roles.
pub struct Checks {
    /// Patient, like `db`: a probe reaches the store even while the breaker is open.
    pub redis: Redis,
    pub db: Db,
    /// With the role `api`.
    pub hub: Option<Hub>,
    /// With the role `pipeline`: the name under which this process owns shards, and the shards that it serves.
    pub pipeline: Option<(String, PipelineStatus)>,
    /// Cancelled when this process begins to stop, and when the number of shards has changed.
    pub stop: CancellationToken,
    pub latch: Latch,
}

impl From<ShardOwner> for Owner {
    fn from(owner: ShardOwner) -> Self {
        Self { process: owner.process, since: owner.since }
    }
}

const fn dependency(name: &'static str, reason: Option<String>) -> Dependency {
    Dependency { name, reason }
}

impl Readiness for Checks {
    fn is_ready(&self) -> bool {
        self.latch.was_right() && !self.latch.signal.is_cancelled()
    }

    fn check(&self) -> BoxFuture<'_, HealthReport> {
        self.run().boxed()
    }
}

impl Checks {
    pub async fn all_is_right(&self) -> bool {
        self.run().await.dependencies.iter().all(|dependency| dependency.reason.is_none())
    }

    async fn run(&self) -> HealthReport {
        let (redis, owners) = tokio::join!(self.redis.ping(), sharing::shard_owners(&self.db));
        let mut dependencies = vec![dependency("Redis", redis.err().map(|error| error.to_string()))];
        let mut known = Vec::new();
        match owners {
            Ok(owners) => {
                dependencies.push(dependency("PostgreSQL", None));
                dependencies.push(dependency("shards", self.without_owner(&owners)));
                known = owners.into_iter().map(|owner| owner.map(Owner::from)).collect();
            }
            // Without PostgreSQL the owners of shards are unknown.
            Err(error) => dependencies.push(dependency("PostgreSQL", Some(error.to_string()))),
        }
        if let Some(hub) = &self.hub {
            let interrupted = "changes do not arrive: the connection to Redis is being established";
            dependencies.push(dependency("changes", (!hub.is_receiving()).then(|| interrupted.into())));
        }
        if self.stop.is_cancelled() {
            dependencies.push(dependency("process", Some("it stops: clients go to another one".into())));
        }
        HealthReport { dependencies, owners: known }
    }

    /// Names the shards without an owner, and those that this process owns and does not serve yet.
    fn without_owner(&self, owners: &[Option<ShardOwner>]) -> Option<String> {
        let served = |(shard, owner): (usize, &Option<ShardOwner>)| match (&self.pipeline, owner) {
            (Some((own_name, status)), Some(owner)) if owner.owner == *own_name => status.is_serving(shard),
            (_, owner) => owner.is_some(),
        };
        let waiting: Vec<usize> =
            owners.iter().enumerate().filter(|shard| !served(*shard)).map(|(shard, _)| shard).collect();
        (!waiting.is_empty())
            .then(|| format!("shards {waiting:?} have no owner, or are being verified by it"))
    }
}
