//! What connections to a Redis process have in common: protocol and time limits.

use std::time::Duration;

use crate::{StoreError, StoreResult};

pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// A client of the same server that uses RESP3, the protocol version with push messages.
pub fn resp3(client: &redis::Client) -> StoreResult<redis::Client> {
    let info = client.get_connection_info().clone();
    let redis = info.redis_settings().clone().set_protocol(redis::ProtocolVersion::RESP3);
    Ok(redis::Client::open(info.set_redis_settings(redis))?)
}

/// Adds a time limit to work on a dedicated connection, which has none.
pub async fn within<T>(bound: Duration, work: impl Future<Output = StoreResult<T>>) -> StoreResult<T> {
    tokio::time::timeout(bound, work).await.unwrap_or_else(|_| {
        Err(StoreError::RedisUnreachable(redis::RedisError::from(std::io::Error::from(
            std::io::ErrorKind::TimedOut,
        ))))
    })
}
