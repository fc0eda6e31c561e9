//! Mock endpoint on loopback that can misbehave.

use std::sync::Arc;

use axum::{
    Router,
    extract::Json,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Requests that an endpoint has received.
#[derive(Clone, Default)]
pub struct Received(Arc<Mutex<Vec<(HeaderMap, Value)>>>);

impl Received {
    pub fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Removes and returns the last request.
    pub fn take(&self) -> (HeaderMap, Value) {
        self.0.lock().pop().unwrap()
    }

    fn add(&self, headers: HeaderMap, body: Value) -> usize {
        let mut received = self.0.lock();
        received.push((headers, body));
        received.len()
    }
}

/// Answers its first request by `answer(1)`, its second by `answer(2)` and so on.
pub async fn endpoint(
    answer: impl Fn(usize) -> Response + Clone + Send + Sync + 'static,
) -> (String, Received) {
    endpoint_that_reads(move |number, _| answer(number)).await
}

pub async fn endpoint_that_reads(
    answer: impl Fn(usize, &Value) -> Response + Clone + Send + Sync + 'static,
) -> (String, Received) {
    let received = Received::default();
    let all = received.clone();
    let handler = async move |headers: HeaderMap, Json(body): Json<Value>| {
        answer(all.add(headers, body.clone()), &body)
    };
    let (listener, url) = silent_endpoint().await;
    tokio::spawn(async { axum::serve(listener, Router::new().fallback(handler)).await });
    (url, received)
}

/// Accepts connections and never responds. Refuses them once the listener is dropped.
pub async fn silent_endpoint() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/chat/completions", listener.local_addr().unwrap());
    (listener, url)
}

pub fn completion(content: &Value) -> Response {
    let message = json!({ "role": "assistant", "content": content });
    Json(json!({ "object": "chat.completion", "choices": [{ "index": 0, "message": message }] }))
        .into_response()
}

pub fn verdict_response(verdict: &str) -> Response {
    completion(&json!({ "verdict": verdict, "reason": "be kind" }).to_string().into())
}

pub fn error_status(status: u16) -> Response {
    StatusCode::from_u16(status).unwrap().into_response()
}

pub fn retry_later(seconds: &'static str) -> Response {
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)]).into_response()
}
