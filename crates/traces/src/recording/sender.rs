//! Sends spans in batches: a bounded queue, which drops what it has no room for, and a thread of
//! OpenTelemetry's SDK that empties it. Nothing waits for the collector.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use metrics::{Counter, counter};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter, SpanProcessor},
};
use plaudit_outgoing_http::{PrivateAddresses, builder, read_body};
use tokio::runtime::Handle;

use super::span::Span;
use crate::Collector;

/// Spans that wait or are being sent; more are dropped. About 2 MiB.
const MOST_WAITING: usize = 4_096;
/// Spans of one call.
const MOST_SENT: usize = 512;
/// How long spans wait for others.
const EVERY: Duration = Duration::from_secs(1);
/// How long a call may take.
const TIMEOUT: Duration = Duration::from_secs(3);
const MOST_ANSWER: usize = 64 * 1024;

pub struct Sender {
    processor: Arc<BatchSpanProcessor>,
    scope: InstrumentationScope,
    waiting: Arc<AtomicUsize>,
    dropped: Counter,
}

impl Sender {
    pub fn new(collector: &Collector) -> Result<Self, String> {
        let counted = |outcome: &'static str| counter!("plaudit_trace_spans_total", "outcome" => outcome);
        let waiting = Arc::new(AtomicUsize::new(0));
        let exporter = Exporter {
            inner: exporter(collector)?,
            waiting: Arc::clone(&waiting),
            sent: counted("sent"),
            failed: counted("failed"),
            is_away: AtomicBool::new(false),
        };
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(MOST_WAITING)
            .with_max_export_batch_size(MOST_SENT)
            .with_scheduled_delay(EVERY)
            .build();
        let mut processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let service = Resource::builder().with_service_name("plaudit");
        let version = KeyValue::new("service.version", collector.version);
        processor.set_resource(&service.with_attribute(version).build());
        let scope = InstrumentationScope::builder("plaudit").build();
        Ok(Self { processor: Arc::new(processor), scope, waiting, dropped: counted("dropped") })
    }

    /// Never waits.
    pub fn send(&self, span: Span) {
        if self.waiting.fetch_add(1, Relaxed) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Relaxed);
            return self.dropped.increment(1);
        }
        self.processor.on_end(span.into_data(self.scope.clone()));
    }

    /// Sends what waits.
    pub async fn finish(&self, bound: Duration) {
        let processor = Arc::clone(&self.processor);
        let finishing = tokio::task::spawn_blocking(move || processor.shutdown_with_timeout(bound));
        // The exporter has logged a failure.
        let _ = finishing.await;
    }
}

fn exporter(collector: &Collector) -> Result<opentelemetry_otlp::SpanExporter, String> {
    let is_encrypted = collector.endpoint.scheme() == "https";
    let mut client = builder(is_encrypted).timeout(TIMEOUT);
    if !is_encrypted {
        client = client.dns_resolver(Arc::new(PrivateAddresses));
    }
    let client = client.build().map_err(|error| error.to_string())?;
    let endpoint = format!("{}/v1/traces", collector.endpoint.as_str().trim_end_matches('/'));
    opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(Client { client, runtime: Handle::current() })
        .with_endpoint(endpoint)
        .with_timeout(TIMEOUT)
        .build()
        .map_err(|error| error.to_string())
}

/// Calls the collector in the server's runtime, while the SDK's thread waits.
#[derive(Debug)]
struct Client {
    client: reqwest::Client,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, HttpError> {
        let request: reqwest::Request = request.try_into()?;
        let client = self.client.clone();
        let answer = self.runtime.spawn(async move {
            let response = client.execute(request).await.map_err(plaudit_outgoing_http::root_cause)?;
            let answer = http::Response::builder().status(response.status());
            let body = read_body(response, MOST_ANSWER).await?;
            Ok::<_, HttpError>(answer.body(Bytes::from(body))?)
        });
        answer.await?
    }
}

/// Counts spans, and logs when the collector goes away and comes back.
struct Exporter {
    inner: opentelemetry_otlp::SpanExporter,
    waiting: Arc<AtomicUsize>,
    sent: Counter,
    failed: Counter,
    is_away: AtomicBool,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exporter")
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.inner.export(batch).await;
        self.waiting.fetch_sub(spans, Relaxed);
        let was_away = self.is_away.swap(sent.is_err(), Relaxed);
        match &sent {
            Ok(()) => {
                self.sent.increment(spans as u64);
                if was_away {
                    tracing::info!("the collector of otlp_endpoint takes traces again");
                }
            }
            Err(error) => {
                self.failed.increment(spans as u64);
                if !was_away {
                    tracing::warn!(%error, "the collector of otlp_endpoint takes no traces; they are dropped meanwhile");
                }
            }
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::{super::span::Place, *};

    #[test]
    fn a_full_queue_drops_spans_and_keeps_nobody_waiting() {
        // Nothing runs this runtime, so no call to the collector ends.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let endpoint = "http://127.0.0.1:1".parse().unwrap();
        let collector = Collector { endpoint, sample: 1.0, version: "of a test" };
        let recorder = PrometheusBuilder::new().build_recorder();
        let sender = metrics::with_local_recorder(&recorder, || Sender::new(&collector)).unwrap();
        for _ in 0..MOST_WAITING + 7 {
            sender.send(Span::of_request(Place::new_trace(), "query".to_owned(), Instant::now(), Vec::new()));
        }
        assert_eq!(sender.waiting.load(Relaxed), MOST_WAITING);
        let shown = recorder.handle().render();
        assert!(shown.contains("plaudit_trace_spans_total{outcome=\"dropped\"} 7\n"), "{shown}");
    }
}
