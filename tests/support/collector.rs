//! A collector of OTLP over HTTP that keeps the spans that it gets.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use axum::{Router, body::Bytes, extract::State, http::StatusCode, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
};
use parking_lot::Mutex;
use prost::Message;
use tokio::net::TcpListener;

use super::{SOON, eventually};

/// A span as it arrived; ids in hexadecimal digits.
#[derive(Clone, Debug)]
pub struct Span {
    pub trace: String,
    pub id: String,
    pub parent: String,
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    /// Unix time in nanoseconds.
    pub began: u64,
    pub ended: u64,
    /// Of the process that sent it.
    pub service: String,
}

/// What a collector does with spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    All,
    /// Accepts connections, and never answers.
    Nothing,
}

/// Runs until the test ends.
pub struct Collector {
    pub url: String,
    spans: Spans,
}

type Spans = Arc<Mutex<Vec<Span>>>;

impl Collector {
    pub async fn start(takes: Takes) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), takes)
    }

    /// Takes all.
    pub async fn start_on(port: u16) -> Self {
        Self::on(TcpListener::bind(("127.0.0.1", port)).await.unwrap(), Takes::All)
    }

    fn on(listener: TcpListener, takes: Takes) -> Self {
        let (url, spans) = (format!("http://{}", listener.local_addr().unwrap()), Spans::default());
        let handler = async move |State(spans): State<Spans>, body: Bytes| match takes {
            Takes::All => keep(&spans, body),
            Takes::Nothing => std::future::pending().await,
        };
        let router = Router::new().route("/v1/traces", post(handler)).with_state(Arc::clone(&spans));
        tokio::spawn(async { axum::serve(listener, router).await });
        Self { url, spans }
    }

    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().clone()
    }

    /// The spans of a trace, once it has spans with all of these names.
    pub async fn trace(&self, trace: &str, names: &[&str]) -> Vec<Span> {
        eventually(&format!("{trace} has {names:?}"), SOON, || async {
            let of_trace: Vec<Span> = self.spans().into_iter().filter(|span| span.trace == trace).collect();
            names.iter().all(|name| of_trace.iter().any(|span| span.name == *name)).then_some(of_trace)
        })
        .await
    }
}

fn keep(spans: &Spans, body: Bytes) -> StatusCode {
    let Ok(request) = ExportTraceServiceRequest::decode(body) else { return StatusCode::BAD_REQUEST };
    for of_resource in request.resource_spans {
        let resource = texts(of_resource.resource.unwrap_or_default().attributes);
        for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.lock().push(Span {
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                name: span.name,
                attributes: texts(span.attributes),
                began: span.start_time_unix_nano,
                ended: span.end_time_unix_nano,
                service: resource["service.name"].clone(),
            });
        }
    }
    StatusCode::OK
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    attributes.into_iter().map(|attribute| (attribute.key, text(attribute.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}
