//! Executions: counts of answers and messages, and of plans that panicked.

use std::{panic::AssertUnwindSafe, sync::LazyLock};

use futures_util::FutureExt;
use metrics::{Counter, counter};

use crate::{
    errors::{ApiError, log_causes},
    guard::Document,
    plan::Answered,
    request::parameters::DocumentHash,
};

/// Answers and messages. Looked up once, because a look-up by labels allocates.
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

/// Counts an answer.
pub(super) fn count() {
    ANSWERED.increment(1);
}

/// The answer of a plan of this document, or the message. After a panic, which the process logs, it is
/// [`Code::Internal`](crate::Code::Internal), and nobody else is harmed.
pub(super) async fn counted(document: &Document, answer: impl Future<Output = Answered>) -> Answered {
    let Ok(answered) = AssertUnwindSafe(answer).catch_unwind().await else {
        let hash = DocumentHash::of(document.text()).to_string();
        tracing::error!(document = hash, "the plan of a document panicked");
        PANICKED.increment(1);
        return Answered::failed(ApiError::internal());
    };
    log_causes(&answered.errors);
    count();
    answered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{guard::Guard, schema};
    use plaudit_catalogue::settings::CostSettings;

    #[tokio::test]
    async fn a_plan_that_panics_answers_internal() {
        let guard = Guard::new(schema::get(), CostSettings::of_development());
        let document = guard.read("{ __typename }").unwrap();
        let answered = counted(&document, async { panic!("a resolver fails") }).await;
        let answer: serde_json::Value = serde_json::from_slice(&answered.body).unwrap();
        assert_eq!(answer["data"], serde_json::Value::Null);
        assert_eq!(answer["errors"][0]["extensions"]["code"], "INTERNAL");
    }
}
