//! The metrics in the text format of Prometheus, rendered at most once a second for all who ask: a rendering
//! takes about half a millisecond of a core.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use metrics_exporter_prometheus::PrometheusHandle;
use parking_lot::Mutex;

use plaudit_catalogue::primitives::fault;

/// How long a text is given to all who ask.
const KEPT: Duration = Duration::from_secs(1);

/// Cheap to clone; clones share the text.
#[derive(Clone)]
pub struct Exposition {
    metrics: PrometheusHandle,
    last: Arc<Mutex<Option<Rendered>>>,
}

struct Rendered {
    at: Instant,
    text: Bytes,
}

impl Exposition {
    pub fn new(metrics: PrometheusHandle) -> Self {
        Self { metrics, last: Arc::default() }
    }

    /// The answer, with `more` lines. One with the header `Age` has a text that was rendered for an earlier request.
    pub fn answer(&self, more: &str) -> Response {
        let (text, is_new) = self.text();
        let text = if more.is_empty() { text } else { [&text, more.as_bytes()].concat().into() };
        let headers = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
        let age = (!is_new).then_some([(header::AGE, "0")]);
        (headers, age, text).into_response()
    }

    /// The text, and whether it was rendered now. Those who ask meanwhile wait for the rendering.
    fn text(&self) -> (Bytes, bool) {
        let mut last = self.last.lock();
        if let Some(rendered) =
            last.as_ref().filter(|rendered| rendered.at.elapsed() < fault::period("metrics.kept", KEPT))
        {
            return (rendered.text.clone(), false);
        }
        let text = Bytes::from(self.metrics.render());
        *last = Some(Rendered { at: Instant::now(), text: text.clone() });
        (text, true)
    }
}
