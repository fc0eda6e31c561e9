//! An endpoint for webhooks whose answers the test chooses.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    http::{HeaderMap, StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A delivery, as it arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub body: String,
}

impl Delivery {
    pub fn events(&self) -> Vec<Value> {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["data"]["events"].as_array().unwrap().clone()
    }
}

/// Answer to a delivery.
#[derive(Clone, Debug)]
pub enum Reply {
    Status(u16),
    /// A status with this body.
    Text(u16, &'static str),
    /// A redirect to this URL.
    Redirect(String),
    /// Success, with so many bytes.
    Bytes(usize),
    /// Never responds.
    Silence,
    /// Responds with 503 once this is cancelled.
    Late(CancellationToken),
}

/// Runs until the test ends.
pub struct WebhookEndpoint {
    pub url: String,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
}

impl WebhookEndpoint {
    /// Chooses the answer by the number of deliveries before, and the delivery.
    pub async fn start(answer: impl Fn(usize, &Delivery) -> Reply + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let endpoint = Self { url, deliveries: Arc::default() };
        let deliveries = Arc::clone(&endpoint.deliveries);
        let handler = async move |headers: HeaderMap, body: String| {
            let header = |name: &str| headers[name].to_str().unwrap().to_owned();
            let delivery = Delivery {
                id: header("webhook-id"),
                timestamp: header("webhook-timestamp"),
                signature: header("webhook-signature"),
                body,
            };
            let reply = {
                let mut deliveries = deliveries.lock();
                let reply = answer(deliveries.len(), &delivery);
                deliveries.push(delivery);
                reply
            };
            respond(reply).await
        };
        tokio::spawn(async { axum::serve(listener, Router::new().fallback(handler)).await });
        endpoint
    }

    pub fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries.lock().clone()
    }

    /// Each batch once, in the order in which they arrived first. Panics if a repeated one differs from its first.
    pub fn batches(&self) -> Vec<Delivery> {
        let mut batches = Vec::<Delivery>::new();
        let mut known = BTreeMap::new();
        for delivery in self.deliveries() {
            let first = known.entry(delivery.id.clone()).or_insert_with(|| {
                batches.push(delivery.clone());
                delivery.body.clone()
            });
            assert_eq!(*first, delivery.body, "a repeated batch is the same");
        }
        batches
    }
}

async fn respond(reply: Reply) -> Response {
    match reply {
        Reply::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Reply::Text(status, body) => (StatusCode::from_u16(status).unwrap(), body).into_response(),
        Reply::Redirect(to) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response(),
        Reply::Bytes(bytes) => "x".repeat(bytes).into_response(),
        Reply::Silence => std::future::pending().await,
        Reply::Late(until) => {
            until.cancelled().await;
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
    }
}
