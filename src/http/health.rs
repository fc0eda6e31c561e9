//! Probes and metrics for whoever runs the service.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use futures_util::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::{Value, json};

/// Knows whether this process can do its work.
pub trait Readiness: Send + Sync {
    /// # Errors
    /// Everything that stands in the way, each in one line for people.
    fn check(&self) -> BoxFuture<'_, Result<(), Vec<String>>>;
}

/// `/healthz`, `/readyz` and `/metrics` alone, for a process that serves nothing else.
pub fn router(readiness: Arc<dyn Readiness>, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .with_state(readiness)
        .route("/metrics", get(measured))
        .with_state(metrics)
}

/// The process is alive.
async fn alive() -> &'static str {
    "ok"
}

/// The process can do its work; else 503 with the reasons.
async fn ready(State(readiness): State<Arc<dyn Readiness>>) -> (StatusCode, Json<Value>) {
    let reasons = readiness.check().await.err().unwrap_or_default();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": reasons.is_empty(), "reasons": reasons })))
}

/// Metrics in the text format of Prometheus.
async fn measured(State(metrics): State<PrometheusHandle>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.render())
}
