//! Executions: counts of answers and events, and of plans that panicked.

use std::{panic::AssertUnwindSafe, sync::LazyLock};

use futures_util::FutureExt;
use metrics::{Counter, counter};

use crate::{
    errors::{ApiError, log_causes},
    guard::Document,
    plan::Answered,
    request::parameters::DocumentHash,
};

/// Answers and events. Looked up once, because a look-up by labels allocates.
static ANSWERED: LazyLock<Counter> = LazyLock::new(|| executions("answered"));
static PANICKED: LazyLock<Counter> = LazyLock::new(|| executions("panicked"));

fn executions(end: &'static str) -> Counter {
    counter!("plaudit_executions_total", "end" => end)
}

/// Both counts from 0.
pub(super) fn register() {
    ANSWERED.increment(0);
    PANICKED.increment(0);
}

/// The answer of a plan of this document, or the event. After a panic, which the process logs, it is
/// [`Code::Internal`](crate::Code::Internal), and nobody else is harmed.
pub(super) async fn counted(document: &Document, answer: impl Future<Output = Answered>) -> Answered {
    let Ok(answered) = AssertUnwindSafe(answer).catch_unwind().await else {
        let hash = DocumentHash::of(document.text()).to_string();
        tracing::error!(document = hash, "the plan of a document panicked");
        PANICKED.increment(1);
        return Answered::failed(ApiError::internal());
    };
    log_causes(&answered.errors);
    ANSWERED.increment(1);
    answered
}
