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
    pub redis: Redis,
    pub db: Db,
    /// With the role `api`.
    pub hub: Option<Hub>,
    /// With the role `pipeline`.
    pub pipeline: Option<Status>,
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
        let (redis, db) = tokio::join!(self.redis.run_id(), self.db.ping());
        reasons.extend(redis.err().map(|error| error.to_string()));
        reasons.extend(db.err().map(|error| error.to_string()));
        if self.hub.as_ref().is_some_and(|hub| !hub.is_hearing()) {
            reasons.push("changes are not heard: the connection to Redis is being made".into());
        }
        if let Some(status) = &self.pipeline {
            let missing = status.not_serving();
            if !missing.is_empty() {
                reasons.push(format!("shards {missing:?} are not owned by this process, or being verified"));
            }
        }
        if reasons.is_empty() { Ok(()) } else { Err(reasons) }
    }
}
