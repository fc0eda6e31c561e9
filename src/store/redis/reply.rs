//! Replies of scripts: the name of a result, then values.

use redis::{FromRedisValue, Value};

use super::results::ReadMetaResult;
use crate::{
    primitives::Offset,
    store::{StoreError, StoreResult},
};

/// A script's reply: the name of its result, and the values that come with it.
pub struct Reply {
    /// Name of the result; see [`super::results`].
    pub(super) code: String,
    values: std::vec::IntoIter<Value>,
}

impl Reply {
    pub fn read(value: Value) -> StoreResult<Self> {
        let Value::Array(values) = value else {
            return Err(unexpected(&value));
        };
        let mut values = values.into_iter();
        let code = read(values.next().unwrap_or(Value::Nil))?;
        Ok(Self { code, values })
    }

    /// The next value.
    pub fn next<T: FromRedisValue>(&mut self) -> StoreResult<T> {
        read(self.values.next().unwrap_or(Value::Nil))
    }

    /// All values that are left.
    pub fn rest<T: FromRedisValue>(&mut self) -> StoreResult<Vec<T>> {
        self.values.by_ref().map(read).collect()
    }
}

/// State of a shard's log that a set loaded from SQL is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogState {
    /// Of the shard's log.
    pub generation: u64,
    /// The log is retired up to there.
    pub retired: Offset,
    /// Number of sets that were invalidated on the shard, because their rows were changed by something other than the
    /// log.
    pub sets_invalidated: u64,
}

/// Generation of a shard's log, and up to where it is retired, as `lua/read_meta.lua` returns them.
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

/// A value as a Rust type.
pub fn read<T: FromRedisValue>(value: Value) -> StoreResult<T> {
    T::from_redis_value(value).map_err(|error| StoreError::Unexpected(error.to_string()))
}

/// Text that must parse.
pub fn parse<T: std::str::FromStr>(text: &str) -> StoreResult<T> {
    text.parse().map_err(|_| StoreError::Unexpected(format!("cannot read {text:?}")))
}

pub fn unexpected(value: &Value) -> StoreError {
    StoreError::Unexpected(format!("reply {value:?}"))
}
