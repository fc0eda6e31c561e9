//! A client that follows no redirects, and answers that are read only up to a limit.

use std::{error::Error, time::Duration};

use reqwest::{Client, ClientBuilder, Response, redirect::Policy};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, thiserror::Error)]
pub enum BadAnswer {
    #[error("{0}")]
    Broken(String),
    #[error("the answer is too long: more than {0} bytes")]
    TooLong(usize),
}

/// A client for one endpoint, to which it connects within 3 s. It has no time limit for answers.
/// `is_encrypted`: whether the endpoint's URL is https.
pub fn builder(is_encrypted: bool) -> ClientBuilder {
    // Fails only if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // What is sent, and credentials, must not reach another host.
    let builder = Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(Policy::none());
    // Without encryption the system would need certificates that are never used.
    if is_encrypted { builder } else { builder.tls_certs_only([]) }
}

/// Reads in chunks, so that an endless answer cannot fill the memory.
///
/// # Errors
/// [`BadAnswer`] if it ends early, or is longer than `most` bytes.
pub async fn read_body(response: Response, most: usize) -> Result<Vec<u8>, BadAnswer> {
    let mut body = Vec::new();
    read_into(&mut body, response, most).await.map(|()| body)
}

/// The same for a caller who wants what was read also if it fails: `body` has at most `most` bytes.
///
/// # Errors
/// As [`read_body`].
pub async fn read_into(body: &mut Vec<u8>, mut response: Response, most: usize) -> Result<(), BadAnswer> {
    while let Some(chunk) = response.chunk().await.map_err(|error| BadAnswer::Broken(root_cause(error)))? {
        let left = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(left)]);
        if chunk.len() > left {
            return Err(BadAnswer::TooLong(most));
        }
    }
    Ok(())
}

/// The cause without the URL, which may contain a password.
pub fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
