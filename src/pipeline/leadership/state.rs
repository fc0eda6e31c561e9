//! One owner's time with one shard: what all parts of the pipeline share.

use tokio::sync::{Notify, watch};

use super::context::Context;
use crate::{
    primitives::Offset,
    store::{
        StoreError,
        redis::Redis,
        sql::{Db, Lease},
    },
};

/// From a verification to its end.
pub struct Leadership {
    pub context: Context,
    pub lease: Lease,
    /// Redis process on which the shard was verified.
    pub run: String,
    pub progress: Progress,
    /// Rings when both stores answer again: nobody need wait out a long pause between two tries.
    pub back: Notify,
}

/// How far the shard's log has come; the parts of the pipeline wait for each other by it.
pub struct Progress {
    /// Folded into every target shard.
    pub folded: watch::Sender<Offset>,
    pub persisted: watch::Sender<Offset>,
    /// Nothing up to there is pending anywhere.
    pub cleaned: watch::Sender<Offset>,
}

impl Default for Progress {
    fn default() -> Self {
        let start = || watch::Sender::new(Offset::default());
        Self { folded: start(), persisted: start(), cleaned: start() }
    }
}

impl Leadership {
    pub fn redis(&self) -> &Redis {
        &self.context.redis
    }

    pub fn db(&self) -> &Db {
        &self.context.db
    }

    /// Whether Redis is still the process on which this shard was verified, and still has its state.
    /// While Redis is away, nothing speaks against it.
    pub async fn is_verified(&self) -> bool {
        let same_state = async {
            let meta = self.redis().shard_meta(self.lease.shard).await?;
            let run = self.redis().run_id().await?;
            Ok::<_, StoreError>(run == self.run && meta.is_some_and(|meta| meta.redis_run_id == Some(run)))
        };
        same_state.await.unwrap_or(true)
    }
}
