//! Source of public keys (JWKS): a file or a URL.

use std::{error::Error, fmt, path::PathBuf, str::FromStr, time::Duration};

use reqwest::{Client, Url, redirect};
use url::Host;

/// Largest key set, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// Timeout of a request for the key set.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Location of the keys.
#[derive(Clone, Debug)]
pub enum JwksLocation {
    File(PathBuf),
    Url(JwksUrl),
}

/// URL whose response cannot be altered in transit: https, or http on loopback.
#[derive(Clone, Debug)]
pub struct JwksUrl(Url);

#[derive(Clone, Debug, thiserror::Error)]
#[error("must be an https URL without user and password; http is allowed on a loopback address only")]
pub struct BadJwksUrl;

/// Reads the keys from their source.
pub(super) struct Reader {
    source: JwksLocation,
    client: Client,
}

impl Reader {
    /// # Errors
    /// The HTTP client cannot be created.
    pub fn new(source: JwksLocation) -> Result<Self, String> {
        // Fails only if a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // No redirects: one could lead to any host, also without encryption.
        let client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none()).build();
        Ok(Self { source, client: client.map_err(root_cause)? })
    }

    /// # Errors
    /// One line for the log.
    pub async fn read(&self) -> Result<Vec<u8>, String> {
        match &self.source {
            JwksLocation::File(path) => read_file(path.clone()).await,
            JwksLocation::Url(JwksUrl(url)) => self.fetch(url.clone()).await,
        }
    }

    async fn fetch(&self, url: Url) -> Result<Vec<u8>, String> {
        let mut response = self.client.get(url).send().await.map_err(root_cause)?;
        if !response.status().is_success() {
            return Err(format!("it answers {}", response.status()));
        }
        let mut body = Vec::new();
        // In chunks, so that an endless response cannot fill the memory.
        while let Some(chunk) = response.chunk().await.map_err(root_cause)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BYTES {
                return Err(too_long());
            }
        }
        Ok(body)
    }
}

async fn read_file(path: PathBuf) -> Result<Vec<u8>, String> {
    let meta = tokio::fs::metadata(&path).await.map_err(|error| error.to_string())?;
    if meta.len() > MAX_BYTES as u64 {
        return Err(too_long());
    }
    tokio::fs::read(&path).await.map_err(|error| error.to_string())
}

fn too_long() -> String {
    format!("it has more than {MAX_BYTES} bytes")
}

fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

impl FromStr for JwksUrl {
    type Err = BadJwksUrl;

    fn from_str(text: &str) -> Result<Self, BadJwksUrl> {
        let url: Url = text.parse().map_err(|_| BadJwksUrl)?;
        let is_loopback_host = match url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_loopback_host;
        let is_bare = url.username().is_empty() && url.password().is_none();
        if is_safe && is_bare { Ok(Self(url)) } else { Err(BadJwksUrl) }
    }
}

impl fmt::Display for JwksLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{} (setting jwks_file)", path.display()),
            Self::Url(JwksUrl(url)) => write!(f, "{url} (setting jwks_url)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jwks_url_uses_https_or_a_loopback_address() {
        for good in
            ["https://id.example/keys.json", "http://127.0.0.1:9/k", "http://[::1]/k", "http://localhost/k"]
        {
            assert!(good.parse::<JwksUrl>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "id.example/keys",
            "http://id.example/keys",
            "http://127.0.0.1.id.example/",
            "ftp://127.0.0.1/",
            "file:///etc/keys",
            "https://me:secret@id.example/",
        ] {
            let error = bad.parse::<JwksUrl>().unwrap_err().to_string();
            assert!(error.contains("https") && !error.contains("secret"), "{bad}");
        }
    }
}
