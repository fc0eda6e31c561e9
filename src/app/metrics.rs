//! Every metric of `/metrics`, with its unit and meaning. docs/reference/metrics.md lists them for operators.

use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::process;
use crate::domain::ErrorClass;

/// Upper bounds of the buckets of durations, in seconds.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// The same for calls of the stores, most of which take less than any of those.
const STORE_SECONDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];
/// How often samples of histograms are summed up, also when nobody asks for them, and the process measured.
const UPKEEP: Duration = Duration::from_secs(5);

/// Begins to collect metrics, for the life of the process. Before it nothing is counted.
pub fn install() -> Result<PrometheusHandle, BuildError> {
    let mut builder =
        PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)?;
    for of_store in ["plaudit_redis_seconds", "plaudit_database_seconds"] {
        builder = builder.set_buckets_for_metric(Matcher::Full(of_store.into()), &STORE_SECONDS)?;
    }
    let handle = builder.install_recorder()?;
    describe();
    for class in ErrorClass::ALL {
        counter!("plaudit_refusals_total", "class" => class.name()).increment(0);
    }
    tokio::spawn(keep_up(handle.clone()));
    Ok(handle)
}

async fn keep_up(handle: PrometheusHandle) {
    loop {
        let handle = handle.clone();
        let work = move || {
            handle.run_upkeep();
            process::measure()
        };
        // It reads a line per open file.
        if let Ok(Err(error)) = tokio::task::spawn_blocking(work).await {
            tracing::debug!(%error, "cannot measure this process");
        }
        tokio::time::sleep(UPKEEP).await;
    }
}

enum Kind {
    Counter,
    Gauge,
    Histogram,
}
use Kind::{Counter, Gauge, Histogram};

const METRICS: &[(Kind, &str, Unit, &str)] = &[
    (
        Counter,
        "plaudit_requests_total",
        Unit::Count,
        "GraphQL operations, by transport, kind, root field and code of the first error",
    ),
    (Histogram, "plaudit_request_seconds", Unit::Seconds, "How long they took until they were answered"),
    (Counter, "plaudit_actions_total", Unit::Count, "Actions that changed something, by kind"),
    (Counter, "plaudit_refusals_total", Unit::Count, "Answers with an error, by its class"),
    (
        Counter,
        "plaudit_rate_limited_total",
        Unit::Count,
        "Requests that were refused because of a rate limit",
    ),
    (
        Counter,
        "plaudit_documents_total",
        Unit::Count,
        "Documents of requests, by where they came from: cache or text",
    ),
    (
        Counter,
        "plaudit_guard_steps_total",
        Unit::Count,
        "Tokens and selections gone through to measure documents",
    ),
    (Counter, "plaudit_guard_refusals_total", Unit::Count, "Requests that would cost too much, by reason"),
    (Counter, "plaudit_store_errors_total", Unit::Count, "Calls of a store that failed, by class"),
    (Histogram, "plaudit_redis_seconds", Unit::Seconds, "How long round trips to Redis took"),
    (Histogram, "plaudit_database_seconds", Unit::Seconds, "How long statements took in PostgreSQL"),
    (Gauge, "plaudit_breaker_open", Unit::Count, "1 while requests leave a store alone that does not answer"),
    (Gauge, "plaudit_sockets", Unit::Count, "WebSockets and event streams that are open"),
    (Gauge, "plaudit_subscriptions", Unit::Count, "Subscriptions that run on them"),
    (Counter, "plaudit_socket_closes_total", Unit::Count, "WebSockets that were closed, by code"),
    (Gauge, "plaudit_hub_hearing", Unit::Count, "1 while this process hears the changes of all shards"),
    (
        Counter,
        "plaudit_hub_interruptions_total",
        Unit::Count,
        "Times that the connection by which they are heard ended",
    ),
    (Counter, "plaudit_fanout_executions_total", Unit::Count, "Subscription events that were executed"),
    (Counter, "plaudit_fanout_deliveries_total", Unit::Count, "Subscription events that subscribers took"),
    (Gauge, "plaudit_fanout_questions", Unit::Count, "Different questions that subscribers ask"),
    (Gauge, "plaudit_log_entries", Unit::Count, "Entries in the shard's log"),
    (Gauge, "plaudit_log_limit_entries", Unit::Count, "Entries that the shard's log may have"),
    (Gauge, "plaudit_log_bytes", Unit::Bytes, "Memory that the shard's log takes in Redis"),
    (Gauge, "plaudit_fold_lag_events", Unit::Count, "Events in the log that are not folded yet"),
    (Gauge, "plaudit_persist_lag_events", Unit::Count, "Events in the log that are not persisted yet"),
    (
        Gauge,
        "plaudit_persist_lag_seconds",
        Unit::Seconds,
        "Age of the oldest event that is not persisted yet",
    ),
    (Counter, "plaudit_persisted_events_total", Unit::Count, "Events that were persisted"),
    (Histogram, "plaudit_persist_batch_seconds", Unit::Seconds, "How long a batch took in PostgreSQL"),
    (Counter, "plaudit_persist_retries_total", Unit::Count, "Times that a batch was tried again"),
    (Counter, "plaudit_dead_events_total", Unit::Count, "Events that PostgreSQL refused for good"),
    (Gauge, "plaudit_dead_events", Unit::Count, "Those of them that nobody has decided"),
    (Gauge, "plaudit_comments_pending", Unit::Count, "Comments that wait for a decision"),
    (Counter, "plaudit_reconcile_checked_total", Unit::Count, "Entities that were recounted"),
    (Counter, "plaudit_reconcile_skipped_total", Unit::Count, "Entities that moved too much to be judged"),
    (Counter, "plaudit_reconcile_drift_total", Unit::Count, "Numbers and sets that were found wrong"),
    (Counter, "plaudit_reconcile_repaired_total", Unit::Count, "Those of them that were repaired"),
    (Counter, "plaudit_lost_events_total", Unit::Count, "Events that Redis lost before they were persisted"),
    (Counter, "process_cpu_seconds_total", Unit::Seconds, "CPU time of this process"),
    (Gauge, "process_resident_memory_bytes", Unit::Bytes, "Memory of this process"),
    (Gauge, "process_open_fds", Unit::Count, "Files and connections that it has open"),
    (Gauge, "process_max_fds", Unit::Count, "As many as it may have open"),
];

fn describe() {
    for (kind, name, unit, meaning) in METRICS {
        match kind {
            Counter => describe_counter!(*name, *unit, *meaning),
            Gauge => describe_gauge!(*name, *unit, *meaning),
            Histogram => describe_histogram!(*name, *unit, *meaning),
        }
    }
}
