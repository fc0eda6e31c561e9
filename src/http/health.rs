//! Probes and metrics for operators.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::future::BoxFuture;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::{Value, json};

/// Whether this process can do its work.
pub trait Readiness: Send + Sync {
    /// Checks every dependency that this process can check.
    fn check(&self) -> BoxFuture<'_, Vec<Dependency>>;
}

/// A dependency of this process.
pub struct Dependency {
    pub name: &'static str,
    /// Why it is not ready, in one line for people; `None` if it is.
    pub reason: Option<String>,
}

impl Dependency {
    fn to_json(&self) -> Value {
        json!({ "name": self.name, "ok": self.reason.is_none(), "reason": self.reason })
    }
}

/// `/healthz`, `/readyz` and `/metrics` alone, for a process that serves nothing else.
pub fn router(readiness: Arc<dyn Readiness>, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .with_state(readiness)
        .route("/metrics", get(async move || measured(&metrics)))
}

/// The process is alive.
async fn alive() -> &'static str {
    "ok"
}

/// The process can do its work; else 503 with the reasons.
async fn ready(State(readiness): State<Arc<dyn Readiness>>) -> (StatusCode, Json<Value>) {
    let dependencies = readiness.check().await;
    let reasons: Vec<&String> = dependencies.iter().filter_map(|one| one.reason.as_ref()).collect();
    let ready = reasons.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let told: Vec<Value> = dependencies.iter().map(Dependency::to_json).collect();
    (status, Json(json!({ "ready": ready, "reasons": reasons, "dependencies": told })))
}

/// Metrics in the text format of Prometheus.
pub fn measured(metrics: &PrometheusHandle) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.render()).into_response()
}
