//! HTTP client of the endpoint: one call, with a bounded response.

use std::{error::Error, time::Duration};

use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap},
    redirect::Policy,
};

use super::{request, retry_after::retry_after, verdict};
use crate::{Failure, HttpSettings, Judgement, ModeratorError, Submission};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest response body, in bytes; a verdict has some hundred.
const MAX_ANSWER: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Service {
    client: Client,
    url: Url,
    model: String,
    instructions: String,
}

impl Service {
    pub fn new(settings: &HttpSettings) -> Result<Self, ModeratorError> {
        Ok(Self {
            client: client(settings).map_err(|error| ModeratorError::Client(root_cause(error)))?,
            url: settings.endpoint.url(),
            model: settings.model.clone(),
            instructions: request::instructions(settings.prompt.as_deref()),
        })
    }

    /// Has no timeout of its own: the caller bounds it.
    pub async fn call(&self, comment: &Submission) -> Result<Judgement, Failure> {
        let body = request::body(&self.model, &self.instructions, comment);
        let response = self.client.post(self.url.clone()).json(&body).send().await.map_err(broken)?;
        check_status(&response)?;
        verdict::read(&read_body(response).await?)
    }
}

fn client(settings: &HttpSettings) -> reqwest::Result<Client> {
    // Fails only if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = settings.api_key.iter().map(|key| (AUTHORIZATION, key.bearer()));
    let client = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(Policy::none()) // the comment and the key must not reach another host
        .default_headers(HeaderMap::from_iter(key));
    if settings.endpoint.is_encrypted() {
        client.build()
    } else {
        client.tls_certs_only([]).build() // otherwise the system would need certificates that are never used
    }
}

fn check_status(response: &Response) -> Result<(), Failure> {
    let status = response.status();
    let why = format!("the moderator answers {status}");
    match status {
        _ if status.is_success() => Ok(()),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(later(why, response)),
        _ if status.is_server_error() => Err(later(why, response)),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => refusal(why, "moderator_api_key"),
        StatusCode::NOT_FOUND => refusal(why, "moderator_url and moderator_model"),
        _ => refusal(why, "moderator_url, and whether the model can answer by a JSON schema"),
    }
}

fn later(why: String, response: &Response) -> Failure {
    Failure::Transient { why, retry_after: retry_after(response.headers()) }
}

fn refusal(why: String, hint: &str) -> Result<(), Failure> {
    Err(Failure::Permanent { why: format!("{why}; check {hint}") })
}

/// Reads in chunks, so that an endless response cannot fill the memory.
async fn read_body(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_ANSWER {
            return Err(Failure::transient("the moderator's answer is too long"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn broken(error: reqwest::Error) -> Failure {
    Failure::transient(format!("cannot talk to the moderator: {}", root_cause(error)))
}

/// Without the URL, which may contain a password.
fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
