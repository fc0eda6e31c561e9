//! The readiness check: whether this process can do its work now.

use futures_util::future::{BoxFuture, FutureExt};

use crate::{
    http::{Dependency, Readiness},
    hub::Hub,
    pipeline::PipelineStatus,
    store::{redis::Redis, sql::Db},
};

/// The dependencies of this process's roles.
pub struct Checks {
    /// Patient, like `db`: a probe really asks the stores.
    pub redis: Redis,
    pub db: Db,
    /// With the role `api`.
    pub hub: Option<Hub>,
    /// With the role `pipeline`: under which name this process owns shards, and which of them it serves.
    pub pipeline: Option<(String, PipelineStatus)>,
}

const fn dependency(name: &'static str, reason: Option<String>) -> Dependency {
    Dependency { name, reason }
}

impl Readiness for Checks {
    fn check(&self) -> BoxFuture<'_, Vec<Dependency>> {
        self.run().boxed()
    }
}

impl Checks {
    pub async fn is_ready(&self) -> bool {
        self.run().await.iter().all(|dependency| dependency.reason.is_none())
    }

    async fn run(&self) -> Vec<Dependency> {
        let (redis, owners) = tokio::join!(self.redis.run_id(), self.db.shard_owners());
        let mut found = vec![dependency("Redis", redis.err().map(|error| error.to_string()))];
        match owners {
            Ok(owners) => {
                found.push(dependency("PostgreSQL", None));
                found.push(dependency("shards", self.without_owner(&owners)));
            }
            // The owners of shards are in PostgreSQL.
            Err(error) => found.push(dependency("PostgreSQL", Some(error.to_string()))),
        }
        if let Some(hub) = &self.hub {
            let interrupted = "changes do not arrive: the connection to Redis is being established";
            found.push(dependency("changes", (!hub.is_receiving()).then(|| interrupted.into())));
        }
        found
    }

    /// Names the shards without an owner that serves them, as far as this process can know.
    fn without_owner(&self, owners: &[Option<String>]) -> Option<String> {
        let served = |(shard, owner): (usize, &Option<String>)| match (&self.pipeline, owner) {
            (Some((own_name, status)), Some(owner)) if owner == own_name => status.is_serving(shard),
            (_, owner) => owner.is_some(),
        };
        let waiting: Vec<usize> =
            owners.iter().enumerate().filter(|shard| !served(*shard)).map(|(shard, _)| shard).collect();
        (!waiting.is_empty())
            .then(|| format!("shards {waiting:?} have no owner, or are being verified by it"))
    }
}
