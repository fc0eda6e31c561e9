//! What executed operations and events: counts by plan and by engine. A plan that panics is given up.

use std::{panic::AssertUnwindSafe, sync::LazyLock};

use futures_util::FutureExt;
use metrics::{Counter, counter};

use crate::{
    errors::{ApiError, log_causes},
    guard::Document,
    plan::{self, Answered, Plans},
    request::parameters::DocumentHash,
};

/// Answers and events by what executed them. Looked up once, because a look-up by labels allocates.
static BY_PLAN: LazyLock<Counter> = LazyLock::new(|| executions("plan"));
static BY_ENGINE: LazyLock<Counter> = LazyLock::new(|| executions("engine"));

fn executions(by: &'static str) -> Counter {
    counter!("plaudit_executions_total", "by" => by)
}

/// Both counts from 0.
pub(super) fn register() {
    BY_PLAN.increment(0);
    BY_ENGINE.increment(0);
}

pub(super) fn count_by_engine() {
    BY_ENGINE.increment(1);
}

/// The answer of a plan of this document, or the event.
pub(super) async fn by_plan(document: &Document, answer: impl Future<Output = Answered>) -> Answered {
    let answered = AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| {
        give_up(document);
        plan::failed(ApiError::internal())
    });
    log_causes(&answered.errors);
    BY_PLAN.increment(1);
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
