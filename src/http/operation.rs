//! One operation on a connection that stays open: what a WebSocket or an event stream tells of it.

use std::{sync::Arc, time::Duration};

use async_graphql::{ServerError, Value, parser::types::OperationType};
use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};

use super::{
    Shared,
    graphql::{LONGEST, took_too_long},
    observe::Observed,
    refusal::Refusal,
    sockets::Subscribed,
};
use crate::graphql::{Caller, Code, Engine, Events, Parameters, Prepared, Rejected, outcome};

/// What there is to tell next.
pub enum Step {
    /// An execution result: one JSON object, encoded.
    Next(Bytes),
    /// Nothing was executed. Nothing follows.
    Rejected(Vec<ServerError>),
    /// All has been told.
    Complete,
}

/// Ends after [`Step::Rejected`] or [`Step::Complete`]. Work is done only while it is polled, and ends when it
/// is dropped: what changes meanwhile waits inside, and only the latest of it.
pub type Steps = BoxStream<'static, Step>;

/// An operation that may be executed.
pub struct Operation {
    shared: Arc<Shared>,
    parameters: Parameters,
    caller: Caller,
    prepared: Prepared,
    observed: Observed,
}

impl Operation {
    /// Finds the document, and what it means.
    ///
    /// # Errors
    /// A document that is not known, and as [`Engine::prepare`].
    pub fn prepare(
        shared: &Arc<Shared>,
        parameters: Parameters,
        caller: Caller,
        mut observed: Observed,
    ) -> Result<Self, Rejected> {
        observed.parameters_are(&parameters);
        match prepare(shared, parameters.clone(), caller.clone()) {
            Ok(prepared) => {
                observed.operation_is(prepared.label());
                Ok(Self { shared: Arc::clone(shared), parameters, caller, prepared, observed })
            }
            Err(rejected) => {
                observed.end(outcome(rejected.0.first()), None);
                Err(rejected)
            }
        }
    }

    /// It is not run, for this reason.
    pub fn refuse(self, refusal: Refusal) -> Refusal {
        self.observed.end(refusal.code(), None);
        refusal
    }

    pub const fn kind(&self) -> OperationType {
        self.prepared.kind()
    }

    pub fn run(self) -> Steps {
        self.begin().boxed().map(steps).flatten_stream().boxed()
    }

    /// A query or a mutation is told of when it is answered, a subscription when it began or was refused.
    async fn begin(self) -> Result<Events, Rejected> {
        let Self { shared, parameters, caller, prepared, observed } = self;
        let begun = match prepared.kind() {
            OperationType::Subscription => {
                subscribed(shared, parameters, caller, prepared).await.map(|events| (events, outcome(None)))
            }
            OperationType::Query | OperationType::Mutation => answer(&shared.engine, prepared).await,
        };
        let told = begun.as_ref().map_or_else(|Rejected(errors)| outcome(errors.first()), |(_, told)| told);
        observed.end(told, None);
        begun.map(|(events, _)| events)
    }
}

/// Counted while it runs.
async fn subscribed(
    shared: Arc<Shared>,
    parameters: Parameters,
    caller: Caller,
    prepared: Prepared,
) -> Result<Events, Rejected> {
    let subscribed = Subscribed::begin();
    let events = subscribe(shared, parameters, caller, prepared).await?;
    let counted = move |event| {
        let _ = &subscribed;
        event
    };
    Ok(events.map(counted).boxed())
}

/// Clients of a server that has just been started again come back before it has what they watch, and
/// would take a refusal for the end. So it is tried again for a while.
async fn subscribe(
    shared: Arc<Shared>,
    parameters: Parameters,
    caller: Caller,
    prepared: Prepared,
) -> Result<Events, Rejected> {
    let mut first = Some(prepared);
    let attempt = || {
        let prepared = first.take().map_or_else(|| prepare(&shared, parameters.clone(), caller.clone()), Ok);
        let engine = shared.engine.clone();
        async move { engine.subscribe(prepared?).await }
    };
    attempt.retry(tries()).when(is_to_be_retried).await
}

/// For about 10 seconds.
fn tries() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(1))
        .with_max_times(13)
}

fn is_to_be_retried(Rejected(errors): &Rejected) -> bool {
    let retry_later = Value::from(Code::RetryLater.name());
    let code = |error: &ServerError| error.extensions.as_ref()?.get("code").cloned();
    errors.iter().all(|error| code(error).as_ref() == Some(&retry_later))
}

fn prepare(shared: &Shared, parameters: Parameters, caller: Caller) -> Result<Prepared, Rejected> {
    shared.engine.prepare(shared.api.documents.resolve(parameters)?, caller)
}

/// The one result of a query or a mutation, and what the metrics call it.
async fn answer(engine: &Engine, prepared: Prepared) -> Result<(Events, &'static str), Rejected> {
    let execution = tokio::time::timeout(LONGEST, engine.execute(prepared));
    let answer = execution.await.unwrap_or_else(|_| Ok(took_too_long()))?;
    let encoded = serde_json::to_vec(&answer).unwrap_or_default();
    Ok((stream::iter([Bytes::from(encoded)]).boxed(), outcome(answer.errors.first())))
}

fn steps(begun: Result<Events, Rejected>) -> Steps {
    match begun {
        Ok(events) => events.map(Step::Next).chain(stream::iter([Step::Complete])).boxed(),
        Err(why) => rejected(why),
    }
}

pub fn rejected(Rejected(errors): Rejected) -> Steps {
    stream::iter([Step::Rejected(errors)]).boxed()
}
