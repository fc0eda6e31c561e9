//! Replies of scripts: the name of the result, then its values.

use redis::{FromRedisValue, Value};

use crate::{StoreError, StoreResult};

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

    /// All remaining values.
    pub fn rest<T: FromRedisValue>(&mut self) -> StoreResult<Vec<T>> {
        self.values.by_ref().map(read).collect()
    }
}

/// Reads the reply of a pipelined script.
pub fn script_reply(result: StoreResult<Value>) -> StoreResult<Reply> {
    Reply::read(result?)
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

/// The value of one line of the output of `INFO`.
pub fn info_line(info: &str, field: &str) -> StoreResult<String> {
    info.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .map(str::to_owned)
        .ok_or_else(|| StoreError::Unexpected(format!("INFO has no {field}")))
}
