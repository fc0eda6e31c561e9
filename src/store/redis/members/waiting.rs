//! Calls that Redis refuses because a shard is not ready wait for it, for a moment, and are repeated: after an
//! atomic move of its slot or a planned failover its owner needs some tenths of a second to verify it. What is
//! refused has done nothing.

use std::{collections::HashMap, time::Duration};

use tokio::time::{Instant, timeout_at};

use crate::{
    StoreResult,
    redis::{Redis, log::state},
};
use plaudit_catalogue::primitives::ShardId;

/// How long an action waits, from the first refusal by its shard on.
pub(crate) const ACTIONS_WAIT: Duration = Duration::from_secs(2);
/// The same for a read, which can be answered from PostgreSQL.
pub(crate) const READS_WAIT: Duration = Duration::from_millis(500);
/// Between two questions, and before a call is repeated first; before each later repetition twice as long, up to
/// [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(15);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Makes a call of one shard, and makes it again when the shard is ready.
///
/// # Errors
/// The refusal, if the shard has refused calls for longer than `wait`: so in a long outage at once.
pub(crate) async fn when_ready<T, F>(
    redis: &Redis,
    shard: ShardId,
    wait: Duration,
    call: impl Fn() -> F,
) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    let (refusals, mut until, mut pause) = (redis.refusals(), None, PAUSE);
    loop {
        match call().await {
            Err(refusal) if refusal.is_redis_not_ready() => {
                let since = refusals.refused(shard);
                let until = *until.get_or_insert(since + wait);
                if Instant::now() >= until {
                    return Err(refusal);
                }
                let waiting = async {
                    tokio::time::sleep(pause).await;
                    is_ready(redis, shard).await
                };
                timeout_at(until, waiting).await.unwrap_or(Err(refusal))?;
                pause = LONGEST_PAUSE.min(2 * pause);
            }
            result => {
                refusals.ended(shard);
                return result;
            }
        }
    }
}

/// Waits until the shard is verified where it is. All calls that wait for it ask together.
async fn is_ready(redis: &Redis, shard: ShardId) -> StoreResult<()> {
    let asked = redis.clone();
    let asking = move |_| async move {
        let until = Instant::now() + ACTIONS_WAIT;
        loop {
            match state::log_state_now(&asked, shard).await {
                Err(error) if error.is_redis_not_ready() && Instant::now() < until => {
                    tokio::time::sleep(PAUSE).await;
                }
                state => return state.map(|_| HashMap::from([(shard, ())])),
            }
        }
    };
    redis.refusals().waiting.get(&[shard], asking).await.map(drop)
}
