//! Settings of each kind of moderator.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use reqwest::{Url, header::HeaderValue};

/// Which moderator is used.
#[derive(Clone, Debug)]
pub enum ModeratorSettings {
    AcceptAll,
    /// Path of the word list.
    Blocklist(PathBuf),
    Http(HttpSettings),
}

#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// URL of the chat completions, such as `https://api.openai.com/v1/chat/completions`.
    pub endpoint: Endpoint,
    pub model: String,
    /// The rules; `None` selects a short default. The format of the answer is appended to it.
    pub prompt: Option<String>,
    pub api_key: Option<ApiKey>,
    /// Longest wait for a permit, and then for an answer, retries included.
    pub timeout: Duration,
    /// Concurrent calls.
    pub concurrency: usize,
}

/// URL of a moderator. It may contain a password, so `Debug` hides it.
#[derive(Clone)]
pub struct Endpoint(Url);

#[derive(Clone, Debug, thiserror::Error)]
#[error("must be an http or https URL, such as https://api.openai.com/v1/chat/completions")]
pub struct BadEndpoint;

/// Credential for the endpoint; `Debug` hides it.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

#[derive(Clone, Debug, thiserror::Error)]
#[error("an API key must consist of visible ASCII characters")]
pub struct BadApiKey;

impl Endpoint {
    pub(super) fn url(&self) -> Url {
        self.0.clone()
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl FromStr for Endpoint {
    type Err = BadEndpoint;

    fn from_str(text: &str) -> Result<Self, BadEndpoint> {
        let url: Url = text.parse().map_err(|_| BadEndpoint)?;
        if ["http", "https"].contains(&url.scheme()) { Ok(Self(url)) } else { Err(BadEndpoint) }
    }
}

impl ApiKey {
    /// The value of the header `Authorization`.
    pub(super) fn bearer(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl FromStr for ApiKey {
    type Err = BadApiKey;

    fn from_str(text: &str) -> Result<Self, BadApiKey> {
        if text.is_empty() || !text.chars().all(|c| c.is_ascii_graphic()) {
            return Err(BadApiKey);
        }
        let mut bearer = HeaderValue::try_from(format!("Bearer {text}")).map_err(|_| BadApiKey)?;
        bearer.set_sensitive(true);
        Ok(Self(bearer))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint(hidden)")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_must_be_an_http_url_and_debug_hides_it() {
        let endpoint: Endpoint = "https://app:hunter2@llm/v1/chat/completions".parse().unwrap();
        assert!(endpoint.is_encrypted() && !format!("{endpoint:?}").contains("hunter2"));
        for bad in ["", "llm:8080", "localhost/v1", "ftp://llm/v1", "file:///etc/passwd"] {
            assert!(bad.parse::<Endpoint>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_api_key_must_fit_into_a_header_and_debug_hides_it() {
        let key: ApiKey = "sk-hunter2".parse().unwrap();
        assert_eq!(key.bearer(), "Bearer sk-hunter2");
        assert!(!format!("{key:?} {:?}", key.bearer()).contains("hunter2"));
        for bad in ["", "two words", "line\n", "schlüssel"] {
            assert!(bad.parse::<ApiKey>().is_err(), "{bad}");
        }
    }
}
