//! A moderation service whose responses the test chooses: an OpenAI-compatible endpoint.

use std::{io, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

/// Response of the service to a comment.
#[derive(Clone, Debug)]
pub enum Answer {
    Approve,
    /// For this reason.
    Reject(&'static str),
    /// The model's message, as is.
    Says(&'static str),
    /// The whole body of the response.
    Body(&'static str),
    Status(u16),
    /// Half an approval, then the connection closes.
    BreaksOff,
    /// Approves once the test calls `open`.
    Held,
    /// Never responds.
    Silence,
}

/// Runs until the test ends.
pub struct ModerationService {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
    is_open: watch::Sender<bool>,
}

impl ModerationService {
    /// Chooses the response by the text of the comment.
    pub async fn start(answer: impl Fn(&str) -> Answer + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/chat/completions", listener.local_addr().unwrap());
        let service = Self { url, requests: Arc::default(), is_open: watch::Sender::new(false) };
        let (requests, is_open) = (Arc::clone(&service.requests), service.is_open.clone());
        let handler = async move |Json(request): Json<Value>| {
            let answer = answer(&text_of(&request));
            requests.lock().push(request);
            respond(answer, is_open.subscribe()).await
        };
        tokio::spawn(async { axum::serve(listener, Router::new().fallback(handler)).await });
        service
    }

    /// Flags of a server that uses this service with this timeout.
    pub fn flags<'a>(&'a self, timeout: &'a str) -> Vec<&'a str> {
        let flags = ["--moderator", "http", "--moderator-url", &self.url, "--moderator-model", "judge"];
        [&flags[..], &["--moderator-timeout", timeout]].concat()
    }

    /// Approves the held comments and all later ones.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }

    /// The requests with this comment text.
    pub fn requests_with(&self, text: &str) -> Vec<Value> {
        self.requests.lock().iter().filter(|request| text_of(request) == text).cloned().collect()
    }

    pub fn request_count(&self) -> usize {
        self.requests.lock().len()
    }
}

/// The comment's text: the user's message is the comment as JSON.
fn text_of(request: &Value) -> String {
    let comment = request["messages"][1]["content"].as_str().unwrap();
    serde_json::from_str::<Value>(comment).unwrap()["text"].as_str().unwrap().to_owned()
}

async fn respond(answer: Answer, mut is_open: watch::Receiver<bool>) -> Response {
    match answer {
        Answer::Approve => verdict("approve", ""),
        Answer::Reject(reason) => verdict("reject", reason),
        Answer::Says(content) => completion(content).into_response(),
        Answer::Body(body) => body.into_response(),
        Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Answer::BreaksOff => {
            let whole = completion(&json!({ "verdict": "approve", "reason": "" }).to_string()).0.to_string();
            let half = Ok(whole[..whole.len() / 2].to_owned());
            let end = Err(io::Error::from(io::ErrorKind::ConnectionReset));
            Body::from_stream(stream::iter([half, end])).into_response()
        }
        Answer::Held => {
            let _ = is_open.wait_for(|is_open| *is_open).await;
            verdict("approve", "")
        }
        Answer::Silence => std::future::pending().await,
    }
}

fn verdict(verdict: &str, reason: &str) -> Response {
    completion(&json!({ "verdict": verdict, "reason": reason }).to_string()).into_response()
}

fn completion(content: &str) -> Json<Value> {
    let message = json!({ "role": "assistant", "content": content });
    Json(json!({ "object": "chat.completion", "choices": [{ "index": 0, "message": message }] }))
}
