//! Calls that a shard refuses because it is not recovered wait for its recovery, for a moment, and are repeated: after an
//! atomic move of its slot or a planned failover its owner needs some tenths of a second. What is refused has done nothing.

use std::{collections::HashMap, time::Duration};

use tokio::time::{Instant, timeout_at};

use super::connection::Redis;
use crate::{
    primitives::ShardId,
    store::{StoreError, StoreResult},
};

/// How long an action waits, from the first refusal by its shard on.
pub(super) const ACTIONS_WAIT: Duration = Duration::from_secs(2);
/// The same for a read, which can be answered from PostgreSQL.
pub(super) const READS_WAIT: Duration = Duration::from_millis(500);
const ASK_EVERY: Duration = Duration::from_millis(15);

impl Redis {
    /// Makes a call of one shard, and makes it again when the shard is recovered.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`] if the shard has refused calls for longer than `wait`, so in a long outage at once.
    pub(super) async fn when_recovered<T, F>(
        &self,
        shard: ShardId,
        wait: Duration,
        call: impl Fn() -> F,
    ) -> StoreResult<T>
    where
        F: Future<Output = StoreResult<T>>,
    {
        let refusals = self.refusals();
        let mut until = None;
        loop {
            match call().await {
                Err(StoreError::NotRecovered) => {
                    let until = *until.get_or_insert_with(|| refusals.since(shard) + wait);
                    if Instant::now() >= until {
                        return Err(StoreError::NotRecovered);
                    }
                    let recovery = timeout_at(until, self.recovery_of(shard)).await;
                    recovery.unwrap_or(Err(StoreError::NotRecovered))?;
                }
                result => {
                    refusals.ended(shard);
                    return result;
                }
            }
        }
    }

    /// Waits until the shard is recovered. All calls that wait for it ask together.
    async fn recovery_of(&self, shard: ShardId) -> StoreResult<()> {
        let redis = self.clone();
        let asking = |_| async move {
            let until = redis.refusals().since(shard) + ACTIONS_WAIT;
            loop {
                tokio::time::sleep(ASK_EVERY).await;
                match redis.log_state(shard).await {
                    Err(StoreError::NotRecovered) if Instant::now() < until => {}
                    state => return state.map(|_| HashMap::from([(shard, ())])),
                }
            }
        };
        self.refusals().waiting.get(&[shard], asking).await.map(drop)
    }
}
