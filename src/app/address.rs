//! Addresses of stores in messages, and patience with stores that are starting.

use std::time::Duration;

use backon::{ConstantBuilder, Retryable};
use url::Url;

use plaudit_store::{StoreError, StoreResult};

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
    // A URL with several hosts is none by the standard, and one whose login is not encoded is another.
    if let Some((scheme, rest)) = url.split_once("://")
        && (scheme.contains('+') && rest.contains(',') || has_ambiguous_login(url))
    {
        let hosts = rest.rsplit_once('@').map_or(rest, |(_, hosts)| hosts);
        return format!("{scheme}://{}", hosts.split('?').next().unwrap_or_default());
    }
    let Ok(mut url) = Url::parse(url) else { return "a URL that cannot be read".to_owned() };
    let _ = url.set_username(""); // fails without a host, where there is none
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

/// What may be wrong with the URL of a store that cannot be reached, or refuses the login.
pub fn advice_on_login(url: &str, error: &StoreError) -> &'static str {
    let may_be_it = error.is_transient() || matches!(error, StoreError::Misconfigured(_));
    if may_be_it && has_ambiguous_login(url) {
        "; in the user and the password of a URL these are percent-encoded: @ %40, : %3A, / %2F, ? %3F, # %23, % %25"
    } else {
        ""
    }
}

/// Whether user or password have a character that ends them, or begins something else.
fn has_ambiguous_login(url: &str) -> bool {
    let login =
        url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')).map_or("", |(login, _)| login);
    // A path, such as a socket's, or parameters, which may have passwords.
    if login.starts_with('/') || login.split_once('?').is_some_and(|(_, parameters)| parameters.contains('='))
    {
        return false;
    }
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    [user, password].iter().any(|part| part.contains(['@', ':', '/', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_that_is_not_encoded_is_told_and_no_part_of_it_is_shown() {
        let away = StoreError::SqlUnreachable("no".into());
        for password in ["p@ss", "p:ss", "p/ss", "p?ss", "p#ss", "@", "p#s/@s"] {
            let url = format!("postgres://plaudit:{password}@db:5432/app?sslmode=require");
            assert!(advice_on_login(&url, &away).contains("%40"), "{url}");
            assert_eq!(address(&url), "postgres://db:5432/app");
        }
        for fine in [
            "postgres://plaudit:p%40ss@db/app",
            "postgres://plaudit@db/app?password=p@ss",
            "postgres://db/app",
            "redis+unix:///run/redis.sock?user=plaudit&pass=p@ss",
            "redis://:word@cache:6379/0",
            "redis+cluster://me:secret@a:1,b:2",
        ] {
            assert_eq!(advice_on_login(fine, &away), "", "{fine}");
        }
        assert_eq!(advice_on_login("postgres://u:p@ss@db/app", &StoreError::Fenced), "");
    }

    #[test]
    fn an_address_in_a_message_has_no_password() {
        assert_eq!(address("postgres://app:secret@db:5432/app"), "postgres://db:5432/app");
        assert_eq!(address("redis+unix:///run/redis.sock"), "redis+unix:///run/redis.sock");
        assert_eq!(address("redis+cluster://me:sec@ret@a:1,b:2"), "redis+cluster://a:1,b:2");
        assert_eq!(address("unix:///run/redis.sock?pass=secret"), "unix:///run/redis.sock");
        assert_eq!(address("postgres:///app?password=secr@et"), "postgres:///app");
    }
}
