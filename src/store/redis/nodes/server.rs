//! Where Redis is: its URL, and the certificates for TLS.

use std::{fs, path::Path};

use redis::{Client, ClientTlsConfig, TlsCertificates};

use crate::{StoreError, StoreResult};

/// Files in PEM format.
#[derive(Clone, Copy, Default)]
pub struct CertificateFiles<'a> {
    /// The CAs that are trusted; `None`: those that this machine trusts.
    pub ca: Option<&'a Path>,
    pub client_certificate: Option<&'a Path>,
    pub client_key: Option<&'a Path>,
}

/// A client of the server at `url`. It does not connect yet.
///
/// # Errors
/// [`StoreError::Misconfigured`] if the URL or a file cannot be used.
pub fn client(url: &str, files: CertificateFiles<'_>) -> StoreResult<Client> {
    let unusable = |error: redis::RedisError| StoreError::Misconfigured(error.to_string());
    let Some(certificates) = certificates(files)? else {
        return Client::open(url).map_err(unusable);
    };
    if !url.starts_with("rediss://") {
        return Err(StoreError::Misconfigured(
            "certificates are set, and the URL says no TLS: write rediss:// in redis_url, or leave out redis_ca, \
             redis_client_certificate and redis_client_key"
                .to_owned(),
        ));
    }
    Client::build_with_tls(url, certificates).map_err(unusable)
}

fn certificates(files: CertificateFiles<'_>) -> StoreResult<Option<TlsCertificates>> {
    let root_cert = files.ca.map(|path| read("redis_ca", path)).transpose()?;
    let client_tls = match (files.client_certificate, files.client_key) {
        (Some(certificate), Some(key)) => Some(ClientTlsConfig {
            client_cert: read("redis_client_certificate", certificate)?,
            client_key: read("redis_client_key", key)?,
        }),
        (None, None) => None,
        _ => {
            let text = "redis_client_certificate and redis_client_key go together: set both";
            return Err(StoreError::Misconfigured(text.to_owned()));
        }
    };
    Ok((root_cert.is_some() || client_tls.is_some()).then_some(TlsCertificates { client_tls, root_cert }))
}

fn read(setting: &str, path: &Path) -> StoreResult<Vec<u8>> {
    fs::read(path).map_err(|error| {
        StoreError::Misconfigured(format!("cannot read {}: {error} (setting {setting})", path.display()))
    })
}
