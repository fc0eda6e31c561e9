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

/// Readiness of this process: whether its dependencies work.
pub trait Readiness: Send + Sync {
    /// Checks every dependency that this process can check.
    fn check(&self) -> BoxFuture<'_, Report>;
}

/// What a check has found.
pub struct Report {
    pub dependencies: Vec<Dependency>,
    /// By shard; empty if that is not known.
    pub owners: Vec<Option<Owner>>,
}

/// The process that owns a shard.
pub struct Owner {
    /// Host and process id.
    pub process: String,
    /// When it took the shard, in UTC.
    pub since: String,
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

/// Routes `/healthz`, `/readyz` and `/metrics`.
pub fn router(readiness: Arc<dyn Readiness>, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .with_state(readiness)
        .route("/metrics", get(async move || metrics_text(metrics.render())))
}

/// The process is alive.
async fn alive() -> &'static str {
    "ok"
}

/// 200 if every dependency is ready, else 503 with the reasons.
async fn ready(State(readiness): State<Arc<dyn Readiness>>) -> (StatusCode, Json<Value>) {
    let Report { dependencies, owners } = readiness.check().await;
    let reasons: Vec<&String> =
        dependencies.iter().filter_map(|dependency| dependency.reason.as_ref()).collect();
    let ready = reasons.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let details: Vec<Value> = dependencies.iter().map(Dependency::to_json).collect();
    let shards: Vec<Value> = (0..).zip(&owners).map(|(shard, owner)| owned(shard, owner.as_ref())).collect();
    let report = json!({ "ready": ready, "reasons": reasons, "dependencies": details, "shards": shards });
    (status, Json(report))
}

fn owned(shard: u16, owner: Option<&Owner>) -> Value {
    let (process, since) = owner.map(|owner| (&owner.process, &owner.since)).unzip();
    json!({ "shard": shard, "process": process, "since": since })
}

/// Metrics in the text format of Prometheus.
pub fn metrics_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
