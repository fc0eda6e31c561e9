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
    sockets::Subscribed,
};
use crate::graphql::{Caller, Code, Engine, Events, Parameters, Prepared, Rejected};

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
}

impl Operation {
    /// Finds the document, and what it means.
    ///
    /// # Errors
    /// A document that is not known, and as [`Engine::prepare`].
    pub fn prepare(shared: &Arc<Shared>, parameters: Parameters, caller: Caller) -> Result<Self, Rejected> {
        let prepared = prepare(shared, parameters.clone(), caller.clone())?;
        Ok(Self { shared: Arc::clone(shared), parameters, caller, prepared })
    }

    pub const fn kind(&self) -> OperationType {
        self.prepared.kind()
    }

    pub fn run(self) -> Steps {
        self.begin().boxed().map(steps).flatten_stream().boxed()
    }

    async fn begin(self) -> Result<Events, Rejected> {
        if self.kind() != OperationType::Subscription {
            return answer(&self.shared.engine, self.prepared).await;
        }
        let subscribed = Subscribed::begin();
        let events = self.subscribe().await?;
        let counted = move |event| {
            let _ = &subscribed;
            event
        };
        Ok(events.map(counted).boxed())
    }

    /// Clients of a server that has just been started again come back before it has what they watch, and
    /// would take a refusal for the end. So it is tried again for a while.
    async fn subscribe(self) -> Result<Events, Rejected> {
        let Self { shared, parameters, caller, prepared } = self;
        let mut first = Some(prepared);
        let attempt = || {
            let prepared =
                first.take().map_or_else(|| prepare(&shared, parameters.clone(), caller.clone()), Ok);
            let engine = shared.engine.clone();
            async move { engine.subscribe(prepared?).await }
        };
        attempt.retry(tries()).when(is_to_be_retried).await
    }
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

/// The one result of a query or a mutation.
async fn answer(engine: &Engine, prepared: Prepared) -> Result<Events, Rejected> {
    let execution = tokio::time::timeout(LONGEST, engine.execute(prepared));
    let answer = execution.await.unwrap_or_else(|_| Ok(took_too_long()))?;
    let encoded = serde_json::to_vec(&answer).unwrap_or_default();
    Ok(stream::iter([Bytes::from(encoded)]).boxed())
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
