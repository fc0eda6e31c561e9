//! Sends spans in batches: a bounded queue, which drops and counts what it has no room for, and a thread of
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
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{
        BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, Span, SpanData, SpanExporter,
        SpanProcessor,
    },
};
use plaudit_outgoing_http::{PrivateAddresses, builder, read_body};
use tokio::runtime::Handle;

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

/// Gives the spans that end to the queue. Also returns how many wait or are being sent.
pub fn provider(collector: &Collector) -> Result<(SdkTracerProvider, Arc<AtomicUsize>), String> {
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
    let batches = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
    let queue = Queue { batches, waiting: Arc::clone(&waiting), dropped: counted("dropped") };
    let service = Resource::builder().with_service_name("plaudit");
    let version = KeyValue::new("service.version", collector.version);
    let provider = SdkTracerProvider::builder()
        // What is not sampled has no span at all.
        .with_sampler(Sampler::AlwaysOn)
        .with_resource(service.with_attribute(version).build())
        .with_span_processor(queue)
        .build();
    Ok((provider, waiting))
}

/// Counts what the SDK's queue has no room for, which it only drops.
#[derive(Debug)]
struct Queue {
    batches: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
    dropped: Counter,
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    /// Never waits.
    fn on_end(&self, span: SpanData) {
        if self.waiting.fetch_add(1, Relaxed) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Relaxed);
            return self.dropped.increment(1);
        }
        self.batches.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
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
    use metrics_exporter_prometheus::PrometheusBuilder;

    use opentelemetry::trace::{Tracer, TracerProvider};

    use super::*;

    #[test]
    fn a_full_queue_drops_spans_and_keeps_nobody_waiting() {
        // Nothing runs this runtime, so no call to the collector ends.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let endpoint = "http://127.0.0.1:1".parse().unwrap();
        let collector = Collector { endpoint, sample: 1.0, version: "of a test" };
        let recorder = PrometheusBuilder::new().build_recorder();
        let (provider, waiting) = metrics::with_local_recorder(&recorder, || provider(&collector)).unwrap();
        let tracer = provider.tracer("of a test");
        for _ in 0..MOST_WAITING + 7 {
            drop(tracer.start("query"));
        }
        assert_eq!(waiting.load(Relaxed), MOST_WAITING);
        let shown = recorder.handle().render();
        assert!(shown.contains("plaudit_trace_spans_total{outcome=\"dropped\"} 7\n"), "{shown}");
    }
}
