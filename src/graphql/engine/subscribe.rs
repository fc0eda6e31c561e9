//! Starts subscriptions.

use async_graphql::{Request, Response, ServerError};
use bytes::Bytes;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use plaudit_token_auth::Subject;

use super::{
    execute::Engine,
    prepare::{Prepared, PreparedOperation},
    responses::with_code,
};
use crate::{
    errors::{ApiError, Code},
    live::{
        key::SubscriptionKey,
        topic::{Since, TopicList, Topics},
    },
    plan,
    reading::{reader::FactsReader, scope::Scope},
    request::{
        error::{Rejection, first_errors},
        operation::operation_of,
    },
    schema::{EngineOutcome, with_canonical_variables},
};
use plaudit_domain::{Work, people::accounts};

/// The events of a subscription: encoded execution results, one JSON object each.
pub type Events = BoxStream<'static, Bytes>;

impl Engine {
    /// Starts a subscription: checks its arguments now, then joins the shared subscription of each topic.
    ///
    /// # Errors
    /// The document does not fit the schema, or the root field refuses its arguments.
    pub async fn subscribe(&self, prepared: Prepared) -> Result<Events, Rejection> {
        let Prepared { request, operation, caller, known, reading, .. } = prepared;
        let scope = Scope::new(FactsReader::new(self.plaudit.clone(), caller.viewer.clone()));
        let variables = request.variables.clone();
        let plan = self.plan(&request, &operation).await?;
        drop(reading);
        let TopicList { topics, inbox_to_come, after } = match &plan {
            Some(plan) => {
                plan::topics(plan, &variables, &scope).await.map_err(|error| Rejection(vec![error]))?
            }
            None => self.topics_by_engine(request, &operation, scope.clone()).await?,
        };
        if topics.is_empty() && inbox_to_come.is_none() {
            let message =
                "The subscription watches nothing: select a field of Subscription that is not skipped.";
            return Err(Rejection(vec![ApiError::new(Code::BadUserInput, message).into()]));
        }
        let opened = Work { topics: topics.len() as u64, ..known };
        self.costs.charge(&self.plaudit, &caller, &known, &opened);
        let account = self.plaudit.rates().push_account(caller.source());
        let subject = caller.viewer.subject().map(Subject::to_string).unwrap_or_default();
        let is_same_for_all = plan.as_ref().is_some_and(|plan| plan.is_same_for_all);
        let viewer = (!is_same_for_all).then_some(caller.viewer);
        let PreparedOperation { document, name, .. } = operation;
        let definitions = operation_of(document.parsed(), name.as_deref())
            .map_or(&[][..], |operation| &operation.variable_definitions);
        let variables = with_canonical_variables(definitions, variables, &scope)
            .await
            .map_err(|error| Rejection(vec![error.into()]))?;
        let key = SubscriptionKey::new(document, name, variables, viewer);
        let engine = self.clone();
        let join = move |topics| {
            let executor = |key: &_, topic: &_| engine.event_executor(key, topic, plan.as_ref());
            engine.fanout.join(key, (topics, Since::Joined(after)), account, executor)
        };
        let Some(inbox) = inbox_to_come else {
            let events = join(topics).map_err(|error| Rejection(vec![error.into()]))?;
            return Ok(events.boxed());
        };
        let plaudit = self.plaudit.clone();
        let joined = async move {
            match join(vec![inbox.of(accounts::user_to_come(&plaudit, &subject).await)]) {
                Ok(events) => events.boxed(),
                Err(error) => stream::iter([plan::failed(error).body]).boxed(),
            }
        };
        Ok(stream::once(joined).flatten().boxed())
    }

    /// Validates a subscription that cannot be planned, and resolves its root fields. The engine ignores those in
    /// fragments.
    async fn topics_by_engine(
        &self,
        request: Request,
        operation: &PreparedOperation,
        scope: Scope,
    ) -> Result<TopicList, Rejection> {
        let topics = Topics::default();
        let mut request = request.data(scope).data(topics.clone()).data(EngineOutcome::new(self.max_event));
        request.set_parsed_query(operation.parsed().clone());
        let responses: Vec<Response> = self.schema.execute_stream(request).collect().await;
        let errors: Vec<ServerError> = responses.into_iter().flat_map(|response| response.errors).collect();
        if errors.is_empty() {
            self.preparer.keep(&operation.document);
            return Ok(topics.take());
        }
        Err(first_errors(errors.into_iter().map(with_code).collect()))
    }
}
