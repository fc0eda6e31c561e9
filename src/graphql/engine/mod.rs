//! Executes requests: they are prepared first, then executed or subscribed to.

mod prepare;
#[cfg(test)]
mod tests;

use std::{panic::AssertUnwindSafe, sync::Arc};

use async_graphql::{Response, Value, parser::types::ExecutableDocument};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream, stream::BoxStream};

use super::{
    errors::{ApiError, code_of_engine_error, give_code, log_causes},
    fanout::{Answer, Asked, Event, Fanout, Told, Topic, Topics, needs_viewer},
    guard::{Guard, RequestLimits},
    nulls::Nulls,
    schema::{self, Schema},
    scope::Scope,
};
use crate::{domain::Plaudit, hub::Counted};
pub use prepare::{Prepared, Rejected};
use prepare::{Source, first_errors};

/// Executes requests, each in a scope of its own. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    schema: Schema,
    nulls: Arc<Nulls>,
    guard: Arc<Guard>,
    plaudit: Plaudit,
    fanout: Arc<Fanout>,
}

/// What a subscription tells: encoded execution results, one JSON object each.
pub type Events = BoxStream<'static, Bytes>;

impl Engine {
    pub fn new(plaudit: Plaudit, limits: RequestLimits) -> Self {
        let schema = schema::build(limits.introspection);
        let sdl = schema.sdl();
        let (nulls, guard) = (Arc::new(Nulls::of(&sdl)), Arc::new(Guard::new(&sdl, limits)));
        let fanout = Fanout::new(plaudit.hub().clone());
        Self { schema, nulls, guard, plaudit, fanout }
    }

    /// Executes a query or a mutation.
    ///
    /// # Errors
    /// A document that does not fit the schema.
    pub async fn execute(&self, prepared: Prepared) -> Result<Response, Rejected> {
        let Prepared { request, source, .. } = prepared;
        let response = self.schema.execute(request).await;
        let executed = executed(self.mend(response, source.document.parsed(), source.operation.as_deref()))?;
        self.guard.keep(&source.document);
        Ok(executed)
    }

    /// Begins a subscription: its arguments are checked now, its events are those of the questions that it asks.
    ///
    /// # Errors
    /// A document that does not fit the schema, and whatever keeps the subscription from beginning.
    pub async fn subscribe(&self, prepared: Prepared) -> Result<Events, Rejected> {
        let Prepared { request, source, viewer, .. } = prepared;
        let (variables, topics) = (request.variables.clone(), Topics::default());
        let responses = self.schema.execute_stream(request.data(topics.clone()));
        let told: Vec<Response> = responses
            .map(|response| self.mend(response, source.document.parsed(), source.operation.as_deref()))
            .collect()
            .await;
        let (told, topics) = (begun(told)?, topics.take());
        self.guard.keep(&source.document);
        if topics.is_empty() {
            return Ok(stream::iter(told).boxed());
        }
        let Source { document, operation } = source;
        let viewer = needs_viewer(document.parsed(), operation.as_deref(), &self.nulls).then_some(viewer);
        let asked = Asked::new(document, operation, variables, viewer);
        let events = self.fanout.listen(asked, topics, |asked, topic| self.answer(asked, topic));
        Ok(stream::iter(told).chain(events).boxed())
    }

    /// How a question is executed, once for all who asked it.
    fn answer(&self, asked: &Arc<Asked>, topic: &Topic) -> Answer {
        let (engine, asked, topic) = (self.clone(), Arc::clone(asked), topic.clone());
        Box::new(move |counted| {
            let (engine, asked, topic) = (engine.clone(), Arc::clone(&asked), topic.clone());
            let told = async move { engine.tell(&asked, topic, counted).await };
            // A field that panics must not silence the question.
            AssertUnwindSafe(told).catch_unwind().map(|told| told.unwrap_or_else(|_| panicked())).boxed()
        })
    }

    /// Executes and encodes one event, in a scope of its own.
    async fn tell(&self, asked: &Asked, topic: Topic, counted: Counted) -> Told {
        let scope = match asked.viewer() {
            Some(viewer) => Scope::new(self.plaudit.clone(), viewer.clone()),
            None => Scope::shared(self.plaudit.clone()),
        };
        let event = Event { field: topic.field, entity: topic.entity, counted };
        let request = asked.request(topic.entity).data(scope).data(event);
        let response = self.schema.execute_stream(request).next().await.unwrap_or_default();
        told(&self.mend(response, asked.document(), asked.operation()))
    }

    /// Gives every error a code, and the data its nulls.
    fn mend(
        &self,
        mut response: Response,
        document: &ExecutableDocument,
        operation: Option<&str>,
    ) -> Response {
        if response.errors.is_empty() {
            return response;
        }
        log_causes(&response.errors);
        for error in &mut response.errors {
            let code = code_of_engine_error(error);
            give_code(error, code);
        }
        self.nulls.put(&mut response, document, operation);
        response
    }
}

/// An execution that failed as a whole before its first field has no data, and errors without a path.
fn executed(response: Response) -> Result<Response, Rejected> {
    let is_rejected = response.data == Value::Null
        && !response.errors.is_empty()
        && response.errors.iter().all(|error| error.path.is_empty());
    if is_rejected { Err(first_errors(response.errors)) } else { Ok(response) }
}

/// A subscription whose only field refuses its arguments has not begun: that is a request error too, although the
/// error has a path (GraphQL, 6.2.3.1).
fn begun(responses: Vec<Response>) -> Result<Vec<Bytes>, Rejected> {
    match <[Response; 1]>::try_from(responses) {
        Ok([only]) => {
            let is_rejected = only.data == Value::Null
                && !only.errors.is_empty()
                && only.errors.iter().all(|error| error.path.len() <= 1);
            if is_rejected { Err(first_errors(only.errors)) } else { Ok(vec![encoded(&only)]) }
        }
        Err(several) => Ok(several.iter().map(encoded).collect()),
    }
}

fn told(response: &Response) -> Told {
    Told { bytes: encoded(response), is_whole: response.errors.is_empty() }
}

/// The panic itself is logged by the process.
fn panicked() -> Told {
    told(&Response::from_errors(vec![ApiError::internal().into()]))
}

fn encoded(response: &Response) -> Bytes {
    serde_json::to_vec(response).unwrap_or_default().into()
}
