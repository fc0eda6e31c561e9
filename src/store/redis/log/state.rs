//! State of a shard's log, as `lua/read_meta.lua` returns it.

use crate::{
    StoreResult,
    redis::{
        Redis,
        counts::counters,
        reply::{Reply, parse},
        results::ReadMetaResult,
    },
};
use plaudit_catalogue::primitives::{Offset, ShardId};

/// State of a shard's log, compared before and after a set is loaded from PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogState {
    /// Generation of the shard's log.
    pub generation: u64,
    /// The log is retired up to this offset.
    pub retired: Offset,
    /// Number of invalidations of sets on the shard: changes of rows that did not come from the log.
    pub sets_invalidated: u64,
}

impl LogState {
    /// A log to which nothing has happened.
    pub fn empty() -> Self {
        Self { generation: 1, retired: Offset::default(), sets_invalidated: 0 }
    }
}

/// Generation and retired offset of a shard's log, as `lua/read_meta.lua` returns them.
pub fn generation_and_retired(reply: Reply) -> StoreResult<(u64, Offset)> {
    log_state(reply).map(|state| (state.generation, state.retired))
}

/// State of a shard's log, as `lua/read_meta.lua` returns it.
pub fn log_state(mut reply: Reply) -> StoreResult<LogState> {
    let ReadMetaResult::Done = reply.result()?;
    let _epoch: u64 = reply.next()?;
    let generation = reply.next()?;
    let retired: String = reply.next()?;
    let retired = parse(&retired)?;
    Ok(LogState { generation, retired, sets_invalidated: reply.next()? })
}

/// State of the log as it is.
///
/// # Errors
/// At once if the shard is not ready.
pub(crate) async fn log_state_now(redis: &Redis, shard: ShardId) -> StoreResult<LogState> {
    log_state(Reply::read(redis.command(&counters::read_meta(shard)).await?)?)
}
