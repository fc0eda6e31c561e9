//! The metrics of `/metrics`. [`METRICS`] describes each once, for the exporter's HELP texts and for
//! docs/reference/metrics.md.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::process;
use plaudit_domain::ErrorClass;

/// Upper bounds of the buckets of durations, in seconds.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// The same for calls of the stores, most of which are shorter.
const STORE_SECONDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];
/// How often samples of histograms are summed up, also without a scrape, and the process is measured.
const UPKEEP: Duration = Duration::from_secs(5);

/// What a metric counts or measures.
pub struct Metric {
    pub kind: MetricKind,
    pub name: &'static str,
    /// The unit.
    pub counted: &'static str,
    /// In Markdown: `label`: `value`, `value`; `label`.
    pub labels: &'static str,
    pub meaning: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

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
    for outcome in ["confirmed", "missing"] {
        counter!("plaudit_replica_waits_total", "outcome" => outcome).increment(0);
    }
    for outcome in ["sent", "failed", "dropped"] {
        counter!("plaudit_trace_spans_total", "outcome" => outcome).increment(0);
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

fn describe() {
    for metric in METRICS {
        let help = metric.meaning.replace('`', "");
        match metric.kind {
            MetricKind::Counter => describe_counter!(metric.name, help),
            MetricKind::Gauge => describe_gauge!(metric.name, help),
            MetricKind::Histogram => describe_histogram!(metric.name, help),
        }
    }
}

impl MetricKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

const fn counter(
    name: &'static str,
    counted: &'static str,
    labels: &'static str,
    meaning: &'static str,
) -> Metric {
    Metric { kind: MetricKind::Counter, name, counted, labels, meaning }
}

const fn gauge(
    name: &'static str,
    counted: &'static str,
    labels: &'static str,
    meaning: &'static str,
) -> Metric {
    Metric { kind: MetricKind::Gauge, name, counted, labels, meaning }
}

const fn histogram(name: &'static str, labels: &'static str, meaning: &'static str) -> Metric {
    Metric { kind: MetricKind::Histogram, name, counted: "seconds", labels, meaning }
}

#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    counter("plaudit_requests_total", "operations",
        "`transport`: `http`, `websocket`, `sse`; `kind`: `query`, `mutation`, `subscription`, `unknown`; `operation`: the root field; `outcome`: `OK` or the first error's code",
        "Answered operations; subscriptions count when they begin or are refused. `operation` is `several` for several root fields, `unknown` for requests refused early"),
    histogram("plaudit_request_seconds", "`transport`; `kind`; `operation`",
        "Time from the arrival of the whole request to its answer"),
    counter("plaudit_actions_total", "actions",
        "`kind`: `like_note`, `follow`, `create_note` and so on, named like the mutations; `change`: `on`, `off`",
        "Actions that changed something, each once however often it is sent. `off` takes back. `record_views` counts requests with views"),
    counter("plaudit_refusals_total", "errors", "`class`: `caller`, `overload`, `transient`, `fault`",
        "Errors in answers, by whose fault they are: the caller's, too much load, an outage or takeover, ours. Refused tokens and documents are not included"),
    counter("plaudit_rate_limited_total", "requests", "`class`: `reads`, `writes`, `creations`",
        "Requests refused because of a rate limit"),
    counter("plaudit_cost_total", "thousandths of a unit", "`for`: `requests`, `events`; `work`: `tokens`, `fields`, `bytes`, `written`, `redis`, `sql`, `topics`",
        "What requests and events of subscriptions have cost, at the prices of `src/domain/rates/work.rs`. A unit is about a millisecond, and counts as a read for the rates"),
    counter("plaudit_documents_total", "documents", "`from`: `cache`, `text`",
        "Documents of requests, and whether they were parsed. Many `text` after some minutes: clients write values into documents, or `document_cache` is too small"),
    counter("plaudit_executions_total", "answers", "`end`: `answered`, `panicked`",
        "Answers to queries and mutations, and events of subscriptions. One that panicked is `INTERNAL`, and the log names its document"),
    counter("plaudit_guard_steps_total", "steps", "", "Tokens and selections visited to measure documents"),
    counter("plaudit_guard_refusals_total", "requests", "`reason`",
        "Requests refused because they would cost too much or their variables do not fit, by `extensions.reason`"),
    counter("plaudit_store_errors_total", "calls", "`dependency`: `Redis`, `PostgreSQL`; `class`",
        "Failed calls of a store. Calls refused by the circuit breaker are not included"),
    histogram("plaudit_redis_seconds", "`caller`: `request`, `pipeline`",
        "Round trips to Redis, also those without an answer. Probes count as `pipeline`; those on the connection for logs are not included"),
    histogram("plaudit_database_seconds", "`caller`: `request`, `pipeline`",
        "Statements in PostgreSQL with the wait for a connection, also those that failed"),
    gauge("plaudit_breaker_open", "0 or 1", "`dependency`",
        "1 while the store does not answer; requests that need it are refused at once"),
    gauge("plaudit_webhook_lag_seconds", "seconds", "",
        "Age of the oldest event that the webhook has not delivered; 0 when it has delivered all"),
    counter("plaudit_webhook_attempts_total", "attempts", "`outcome`: `delivered`, `failed`, `dead`, `skipped`",
        "Attempts to deliver a batch of events. `dead`: it was given up; see `plaudit webhooks`. `skipped`: no attempt, since events are not kept any more"),
    gauge("plaudit_connections", "connections", "", "Open connections of clients, sockets included"),
    counter(
        "plaudit_connections_refused_total",
        "connections",
        "`limit`: `connections`, `connections_per_address`",
        "Connections beyond these limits",
    ),
    counter("plaudit_connections_made_room_total", "connections", "",
        "Idle connections that were closed for a newcomer, because as many were open as may be"),
    gauge("plaudit_sockets", "connections", "`transport`: `websocket`, `sse`", "Open WebSockets and event streams"),
    gauge("plaudit_subscriptions", "subscriptions", "", "Running subscriptions"),
    counter("plaudit_socket_closes_total", "WebSockets", "`code`",
        "Closed WebSockets, by the code that this server sent. 1000: closed by the client. 1006: the network failed, or the client did not read or answer"),
    gauge("plaudit_hub_hearing", "0 or 1", "",
        "1 while this process receives the changes of all shards. At 0 its subscriptions stand still"),
    counter("plaudit_hub_interruptions_total", "interruptions", "",
        "How often changes may have been missed: their connection ended or was silent for 12 s, or a shard's changes came faster than they were taken in"),
    counter("plaudit_fanout_executions_total", "events", "",
        "Executed subscription events, each once for all members of a shared subscription"),
    counter("plaudit_fanout_deliveries_total", "events", "",
        "Subscription events handed to subscribers. Far more than executions when a note is popular; otherwise documents differ needlessly"),
    gauge("plaudit_fanout_questions", "shared subscriptions", "",
        "Shared subscriptions: different documents, variables, objects, and viewers where they matter"),
    gauge("plaudit_log_entries", "entries", "`shard`", "Entries in the shard's log: pending ones, and usually ten minutes more"),
    gauge("plaudit_log_limit_entries", "entries", "`shard`",
        "Entries that the shard's log may have (`redis_log_share`). From half of it on only pending entries are kept"),
    gauge("plaudit_log_bytes", "bytes", "`shard`", "Memory of the shard's log as Redis estimates it, without the pending overlay"),
    gauge("plaudit_fold_lag_events", "events", "`shard`", "Events in the log that are not folded into the counts yet"),
    gauge("plaudit_persist_lag_events", "events", "`shard`", "Events in the log that are not in PostgreSQL yet"),
    gauge("plaudit_persist_lag_seconds", "seconds", "`shard`", "Age of the oldest event that is not in PostgreSQL yet; 0 without one"),
    counter("plaudit_replica_waits_total", "waits", "`outcome`: `confirmed`, `missing`",
        "Waits for `redis_replicas` replicas. `missing`: a node of Redis has fewer, and actions of its shards answer `RETRY_LATER`"),
    counter("plaudit_persisted_events_total", "events", "`shard`", "Events written to PostgreSQL"),
    histogram("plaudit_persist_batch_seconds", "`shard`", "Duration of a batch in PostgreSQL"),
    counter("plaudit_persist_retries_total", "attempts", "`shard`", "Batches tried again after a failure"),
    counter("plaudit_persist_mismatches_total", "entities", "`cause`: `excluded`, `imported`, `unexplained`, `broken`",
        "Entities whose totals a batch moved differently than its events say: of hidden, erased or removed objects, after an import, or for no known reason. `broken` counts stopped shards. Both are logged"),
    counter("plaudit_dead_events_total", "events", "`shard`", "Events that PostgreSQL refused for good; `plaudit dead list` shows them"),
    gauge("plaudit_dead_events", "events", "",
        "Dead events that nobody has applied or dropped. Counted by the owner of shard 0, every 5 s"),
    gauge("plaudit_review_queue", "texts", "`state`: `waiting`, `undecided`",
        "Notes, comments and edits without a decision: `waiting` for the automatic moderator, `undecided` for a person. Counted by the owner of shard 0, every 5 s"),
    counter("plaudit_reconcile_checked_total", "entities", "",
        "Entities recounted in the background or at night, by the owner of shard 0; other processes do not have it"),
    counter("plaudit_reconcile_skipped_total", "entities", "", "Entities whose counts moved too much to be compared"),
    counter("plaudit_reconcile_drift_total", "findings",
        "`entity`: its kind; `counter`: the counter, the kind of edges or `all`; `what`: `total`, `totals missing`, `totals orphaned`, `redis`, `cached set`, `pending flips`",
        "Wrong numbers and cached sets, per counter. Not 0: look for `drifted; repaired` in the log"),
    counter("plaudit_reconcile_repaired_total", "findings", "", "Wrong numbers and cached sets that were repaired"),
    counter("plaudit_lost_events_total", "events", "`shard`",
        "Acknowledged actions that Redis lost before they were persisted. Not 0: look for the line in the log"),
    counter("plaudit_trace_spans_total", "spans", "`outcome`: `sent`, `failed`, `dropped`",
        "Spans of traces, with `otlp_endpoint`. `failed`: the collector did not take them. `dropped`: too many waited for it"),
    counter("process_cpu_seconds_total", "seconds", "", "CPU time of this process, read every 5 s"),
    gauge("process_resident_memory_bytes", "bytes", "", "Memory of this process, without embedded stores"),
    gauge("process_open_fds", "files", "", "Open files and connections of this process"),
    gauge("process_max_fds", "files", "", "Files and connections that this process may have open"),
];
