//! Operations of all transports: how they are prepared; and of WebSockets and event streams: the messages of
//! one operation, in order.

use std::{sync::Arc, time::Duration};

use async_graphql::{ServerError, Value, parser::types::OperationType};
use backon::{ExponentialBuilder, Retryable};
use bytes::Bytes;
use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument;

use super::{
    ApiState, connections::sockets::RunningSubscription, operators::observe::Observation,
    requests::request_error::RequestError,
};
use plaudit_graphql::{
    ApiError, Caller, Code, Engine, Executed, Messages, Parameters, Prepared, Rejection, outcome,
};
use plaudit_store::tally::Tally;

/// Time limit of a request, after which the answer is `RETRY_LATER`. Each call to a store has its own limit, but a
/// request may make many calls in a row.
pub const LONGEST: Duration = Duration::from_millis(1_900);

/// The next message of an operation.
pub enum OperationStep {
    /// An execution result: one JSON object, encoded.
    Next(Bytes),
    /// Nothing was executed. Nothing follows.
    Rejected(Vec<ServerError>),
    /// The operation is complete.
    Complete,
}

/// The steps of an operation. Ends after [`OperationStep::Rejected`] or [`OperationStep::Complete`]. Runs only while it
/// is polled, and keeps only the latest change between two polls. Dropping it ends the operation.
pub type OperationSteps = BoxStream<'static, OperationStep>;

/// A prepared operation.
pub struct StreamedOperation {
    shared: Arc<ApiState>,
    parameters: Parameters,
    caller: Caller,
    prepared: Prepared,
    observed: Observation,
}

impl StreamedOperation {
    /// Finds the document and prepares it.
    ///
    /// # Errors
    /// An unknown document, and as [`Engine::prepare`].
    pub async fn prepare(
        shared: Arc<ApiState>,
        parameters: Parameters,
        caller: Caller,
        mut observed: Observation,
    ) -> Result<Self, Rejection> {
        observed.parameters_are(&parameters, &caller);
        match prepare(&shared, parameters.clone(), caller.clone()).await {
            Ok(prepared) => {
                observed.operation_is(prepared.label());
                Ok(Self { shared, parameters, caller, prepared, observed })
            }
            Err(rejected) => {
                observed.end(outcome(rejected.0.first()), None);
                Err(rejected)
            }
        }
    }

    /// Ends the operation without executing it.
    pub fn refuse(self, refusal: RequestError) -> RequestError {
        self.observed.end(refusal.code(), None);
        refusal
    }

    pub const fn kind(&self) -> OperationType {
        self.prepared.kind()
    }

    pub fn run(self) -> OperationSteps {
        let span = self.observed.span();
        self.begin().instrument(span).boxed().map(steps).flatten_stream().boxed()
    }

    /// Ends the observation of a query or a mutation with its answer, of a subscription when it begins or is refused.
    async fn begin(self) -> Result<Messages, Rejection> {
        let Self { shared, parameters, caller, prepared, observed } = self;
        let begun = match prepared.kind() {
            OperationType::Subscription => {
                subscribed(shared, parameters, caller, prepared).await.map(|events| (events, outcome(None)))
            }
            OperationType::Query | OperationType::Mutation => {
                answer(&shared.engine, prepared, observed.tally()).await
            }
        };
        let outcome_code =
            begun.as_ref().map_or_else(|Rejection(errors)| outcome(errors.first()), |(_, outcome)| outcome);
        observed.end(outcome_code, None);
        begun.map(|(events, _)| events)
    }
}

/// Counts the subscription while it runs.
async fn subscribed(
    shared: Arc<ApiState>,
    parameters: Parameters,
    caller: Caller,
    prepared: Prepared,
) -> Result<Messages, Rejection> {
    let subscribed = RunningSubscription::begin();
    let events = subscribe(shared, parameters, caller, prepared).await?;
    let counted = move |event| {
        let _ = &subscribed;
        event
    };
    Ok(events.map(counted).boxed())
}

/// Retries for a while: after a restart clients reconnect before this server can load what they watch, and they do not
/// retry after an error.
async fn subscribe(
    shared: Arc<ApiState>,
    parameters: Parameters,
    caller: Caller,
    prepared: Prepared,
) -> Result<Messages, Rejection> {
    let mut first = Some(prepared);
    let attempt = || {
        let (shared, first) = (Arc::clone(&shared), first.take());
        let again = first.is_none().then(|| (parameters.clone(), caller.clone()));
        async move {
            let prepared = match (first, again) {
                (None, Some((parameters, caller))) => prepare(&shared, parameters, caller).await?,
                (first, _) => first.ok_or_else(|| Rejection(vec![ApiError::internal().into()]))?,
            };
            shared.engine.subscribe(prepared).await
        }
    };
    attempt.retry(backoff()).when(is_retryable).await
}

/// Retries for about 10 seconds.
fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(Duration::from_secs(1))
        .with_max_times(13)
}

fn is_retryable(Rejection(errors): &Rejection) -> bool {
    let retry_later = Value::from(Code::RetryLater.name());
    let code = |error: &ServerError| error.extensions.as_ref()?.get("code").cloned();
    errors.iter().all(|error| code(error).as_ref() == Some(&retry_later))
}

/// Finds the document and prepares it: within the time of a request, if it has to wait for others.
///
/// # Errors
/// As [`Engine::prepare`], and an unknown document.
pub async fn prepare(
    shared: &ApiState,
    parameters: Parameters,
    caller: Caller,
) -> Result<Prepared, Rejection> {
    let request = match shared.api.documents.resolve(parameters, &caller) {
        Ok(request) => request,
        Err(refusal) => return Err(shared.engine.count_refused(&caller, refusal)),
    };
    let prepared = tokio::time::timeout(LONGEST, shared.engine.prepare(request, caller)).await;
    prepared.unwrap_or_else(|_| Err(Rejection(vec![waited_too_long().into()])))
}

/// The action may or may not have taken effect; see [`Code::meaning`] for when repeating is safe.
pub fn took_too_long() -> Executed {
    let message = format!("the stores did not answer within {LONGEST:?}; try again");
    Executed::failed(ApiError::new(Code::RetryLater, message))
}

/// Nothing was executed.
fn waited_too_long() -> ApiError {
    ApiError::new(Code::RetryLater, "this server is busy with documents that it does not know; try again")
}

/// The result of a query or a mutation, and its outcome for the metrics.
async fn answer(
    engine: &Engine,
    prepared: Prepared,
    tally: Arc<Tally>,
) -> Result<(Messages, &'static str), Rejection> {
    let engine = engine.clone();
    // In a task of its own: while the connection waits for a slow reader, others wait for what the execution holds.
    let execution = tokio::spawn(
        async move {
            let execution = tally.observe(engine.execute(prepared));
            tokio::time::timeout(LONGEST, execution).await.unwrap_or_else(|_| Ok(took_too_long()))
        }
        .in_current_span(),
    );
    let answer = AbortOnDropHandle::new(execution).await;
    let answer = answer.unwrap_or_else(|_| Ok(Executed::failed(ApiError::internal())))?;
    let outcome_code = outcome(answer.errors().first());
    Ok((stream::iter([answer.into_bytes()]).boxed(), outcome_code))
}

fn steps(begun: Result<Messages, Rejection>) -> OperationSteps {
    match begun {
        Ok(events) => events.map(OperationStep::Next).chain(stream::iter([OperationStep::Complete])).boxed(),
        Err(why) => rejected(why),
    }
}

pub fn rejected(Rejection(errors): Rejection) -> OperationSteps {
    stream::iter([OperationStep::Rejected(errors)]).boxed()
}
