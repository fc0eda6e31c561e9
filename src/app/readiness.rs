//! Whether this process can do its work right now.

use futures_util::future::{BoxFuture, FutureExt};

use crate::{
    http::Readiness,
    hub::Hub,
    pipeline::Status,
    store::{redis::Redis, sql::Db},
};

/// What must be well for this process's roles.
pub struct Checks {
    /// Patient, like `db`: a probe really asks the stores.
    pub redis: Redis,
    pub db: Db,
    /// With the role `api`.
    pub hub: Option<Hub>,
    /// With the role `pipeline`: under which name this process owns shards, and which of them it serves.
    pub pipeline: Option<(String, Status)>,
}

impl Readiness for Checks {
    fn check(&self) -> BoxFuture<'_, Result<(), Vec<String>>> {
        self.run().boxed()
    }
}

impl Checks {
    /// # Errors
    /// One line per reason.
    pub async fn run(&self) -> Result<(), Vec<String>> {
        let mut reasons = Vec::new();
        let (redis, owners) = tokio::join!(self.redis.run_id(), self.db.shard_owners());
        reasons.extend(redis.err().map(|error| error.to_string()));
        match owners {
            Ok(owners) => reasons.extend(self.without_owner(&owners)),
            Err(error) => reasons.push(error.to_string()),
        }
        if self.hub.as_ref().is_some_and(|hub| !hub.is_hearing()) {
            reasons.push("changes are not heard: the connection to Redis is being made".into());
        }
        if reasons.is_empty() { Ok(()) } else { Err(reasons) }
    }

    /// Says which shards nobody serves, as far as this process can know.
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
