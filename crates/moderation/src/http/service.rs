//! HTTP client of the endpoint: one call, with a bounded response.

use plaudit_outgoing_http::{builder, read_body, retry_after, root_cause};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, HeaderMap},
};

use super::{request, verdict};
use crate::{Failure, HttpSettings, Judgement, ModeratorError, Submission};

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
        let body = read_body(response, MAX_ANSWER).await;
        verdict::read(&body.map_err(|why| Failure::transient(format!("the moderator: {why}")))?)
    }
}

fn client(settings: &HttpSettings) -> reqwest::Result<Client> {
    let key = settings.api_key.iter().map(|key| (AUTHORIZATION, key.bearer()));
    builder(settings.endpoint.is_encrypted()).default_headers(HeaderMap::from_iter(key)).build()
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

fn broken(error: reqwest::Error) -> Failure {
    Failure::transient(format!("cannot talk to the moderator: {}", root_cause(error)))
}
