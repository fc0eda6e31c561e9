//! Probes for balancers and service managers, and the state of this process for operators.

use std::sync::Arc;

use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::exposition::Exposition;

/// Readiness of this process, and what it depends on.
pub trait Readiness: Send + Sync {
    /// Whether clients may be sent here. From memory.
    fn is_ready(&self) -> bool;

    /// Checks every dependency that this process can check.
    fn check(&self) -> BoxFuture<'_, HealthReport>;
}

/// What a check has found.
pub struct HealthReport {
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

/// `/livez` and `/readyz`.
pub fn probes(readiness: Arc<dyn Readiness>) -> Router {
    Router::new().route("/livez", get(live)).route("/readyz", get(ready)).with_state(readiness)
}

/// `/status` and `/metrics`.
pub fn details(readiness: Arc<dyn Readiness>, metrics: Exposition) -> Router {
    Router::new()
        .route("/status", get(status))
        .with_state(readiness)
        .route("/metrics", get(async move || metrics.answer("")))
}

/// The process runs its loop.
async fn live() -> &'static str {
    "ok\n"
}

async fn ready(State(readiness): State<Arc<dyn Readiness>>) -> (StatusCode, &'static str) {
    if readiness.is_ready() {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready since its start, or it stops: /status has the reasons\n")
    }
}

/// 200 if every dependency is right now, else 503 with the reasons.
async fn status(State(readiness): State<Arc<dyn Readiness>>) -> (StatusCode, Json<Value>) {
    let HealthReport { dependencies, owners } = readiness.check().await;
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
