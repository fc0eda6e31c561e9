//! Addresses of stores in messages, and patience with stores that are starting.

use std::time::Duration;

use backon::{ConstantBuilder, Retryable};
use url::Url;

use crate::store::{StoreError, StoreResult};

/// Retries a few times, with pauses of up to a second, because the store may be starting.
pub async fn until_reachable<T, F>(call: impl FnMut() -> F) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    let pauses = ConstantBuilder::default().with_delay(Duration::from_millis(250)).with_max_times(3);
    call.retry(pauses).when(StoreError::is_transient).await
}

/// A URL without its user and password, and without its parameters, which may be passwords, too.
pub fn address(url: &str) -> String {
    // A URL with several hosts is none by the standard.
    if let Some((scheme, rest)) = url.split_once("://")
        && scheme.contains('+')
        && rest.contains(',')
    {
        return format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, hosts)| hosts));
    }
    let Ok(mut url) = Url::parse(url) else { return "a URL that cannot be read".to_owned() };
    let _ = url.set_username(""); // fails without a host, where there is none
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_a_message_has_no_password() {
        assert_eq!(address("postgres://app:secret@db:5432/app"), "postgres://db:5432/app");
        assert_eq!(address("redis+unix:///run/redis.sock"), "redis+unix:///run/redis.sock");
        assert_eq!(address("redis+cluster://me:sec@ret@a:1,b:2"), "redis+cluster://a:1,b:2");
        assert_eq!(address("unix:///run/redis.sock?pass=secret"), "unix:///run/redis.sock");
        assert_eq!(address("postgres:///app?password=secr@et"), "postgres:///app");
    }
}
