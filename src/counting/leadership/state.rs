//! The state of one leadership.

use tokio::sync::{Notify, watch};

use super::context::Context;
use plaudit_catalogue::primitives::Offset;
use plaudit_store::{
    StoreError,
    redis::{Redis, RedisIdentity, log::recovery, nodes::identity},
    sql::{
        Db,
        ownership::shards::{Lease, PersistedState},
    },
};

/// One shard's leadership, from its recovery to its end.
pub struct Leadership {
    pub context: Context,
    /// The lease with its fencing token: a store refuses writes under a lower one.
    pub lease: Lease,
    /// The Redis in which the shard was recovered.
    pub redis_identity: RedisIdentity,
    /// PostgreSQL's state of all shards at the end of the recovery.
    pub recovered: PersistedState,
    pub progress: LogProgress,
    /// Signalled when both stores answer again after an outage, so that long pauses between retries end.
    pub stores_back: Notify,
}

/// How far the shard's log has come; parts of the pipeline wait for each other by it.
pub struct LogProgress {
    /// Folded into every target shard.
    pub folded: watch::Sender<Offset>,
    pub persisted: watch::Sender<Offset>,
    /// No flip up to there is in the pending overlay.
    pub retired: watch::Sender<Offset>,
}

impl Default for LogProgress {
    fn default() -> Self {
        let start = || watch::Sender::new(Offset::default());
        Self { folded: start(), persisted: start(), retired: start() }
    }
}

impl Leadership {
    pub fn redis(&self) -> &Redis {
        &self.context.redis
    }

    pub fn db(&self) -> &Db {
        &self.context.db
    }

    /// Whether this leadership does the work that is done once per process, for all shards that it leads.
    pub fn is_first_of_process(&self) -> bool {
        self.context.led.first() == Some(self.lease.shard)
    }

    /// Whether Redis still has the replication id under which this shard was recovered, with the shard's state.
    /// While Redis is unreachable the answer is yes.
    pub async fn has_same_redis(&self) -> bool {
        let same_state = async {
            let meta = recovery::shard_meta(self.redis(), self.lease.shard).await?;
            let identity = identity::identity(self.redis(), self.lease.shard).await?;
            let is_same = identity.id == self.redis_identity.id;
            Ok::<_, StoreError>(is_same && meta.is_some_and(|meta| meta.replication_id == Some(identity.id)))
        };
        same_state.await.unwrap_or(true)
    }
}
