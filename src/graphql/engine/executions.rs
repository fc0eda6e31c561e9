//! What executed operations and events: counts by plan and by engine. A plan that panics is given up.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use metrics::counter;

use crate::graphql::{
    errors::{ApiError, log_causes},
    guard::Document,
    plan::{self, Answered, Plans},
    request::parameters::DocumentHash,
};

/// Answers and events by what executed them: `plan` or `engine`.
const EXECUTIONS: &str = "plaudit_executions_total";

/// Both counts from 0.
pub(super) fn register() {
    for by in ["plan", "engine"] {
        counter!(EXECUTIONS, "by" => by).increment(0);
    }
}

pub(super) fn count_by_engine() {
    counter!(EXECUTIONS, "by" => "engine").increment(1);
}

/// The answer of a plan of this document, or the event.
pub(super) async fn by_plan(document: &Document, answer: impl Future<Output = Answered>) -> Answered {
    let answered = AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| {
        give_up(document);
        plan::failed(ApiError::internal())
    });
    log_causes(&answered.errors);
    counter!(EXECUTIONS, "by" => "plan").increment(1);
    answered
}

/// After a panic, which the process logs: the engine executes the document from now on.
fn give_up(document: &Document) {
    let hash = DocumentHash::of(document.text()).to_string();
    tracing::error!(document = hash, "a plan panicked; the engine executes the document from now on");
    if let Some(plans) = document.attached::<Plans>() {
        plans.give_up();
    }
}
