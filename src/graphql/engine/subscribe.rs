//! Starts subscriptions.

use bytes::Bytes;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use plaudit_token_auth::Subject;

use super::{
    execute::{Engine, Planned},
    prepare::{Prepared, PreparedOperation},
};
use crate::{
    errors::{ApiError, Code, Rejection},
    live::{
        key::SubscriptionKey,
        topic::{Since, TopicList},
    },
    plan::{self, Answered},
    reading::{reader::FactsReader, scope::Scope},
    schema::{self, with_canonical_variables},
};
use plaudit_domain::{Work, people::accounts};

/// The messages of a subscription: encoded execution results, one JSON object each.
pub type Messages = BoxStream<'static, Bytes>;

impl Engine {
    /// Starts a subscription: checks its arguments now, then joins the shared subscription of each topic.
    ///
    /// # Errors
    /// The document does not fit the schema, or the root field refuses its arguments.
    pub async fn subscribe(&self, prepared: Prepared) -> Result<Messages, Rejection> {
        let Prepared { request, operation, caller, payer, known, reading, .. } = prepared;
        let scope = Scope::new(FactsReader::new(self.plaudit.clone(), caller.viewer.clone()));
        let variables = request.variables.clone();
        let Planned { plan, .. } = self.plan(&request, &operation).await?;
        drop(reading);
        let TopicList { topics, inbox_to_come, after } =
            plan::topics(&plan, &variables, &scope).await.map_err(|error| Rejection(vec![error]))?;
        if topics.is_empty() && inbox_to_come.is_none() {
            let message =
                "The subscription watches nothing: select a field of Subscription that is not skipped.";
            return Err(Rejection(vec![ApiError::new(Code::BadUserInput, message).into()]));
        }
        let opened = Work { topics: topics.len() as u64, ..known };
        self.costs.charge(&self.plaudit, &payer, &known, &opened);
        let subject = caller.viewer.subject().map(Subject::to_string).unwrap_or_default();
        let viewer = (!plan.is_same_for_all).then_some(caller.viewer);
        let PreparedOperation { document, name, .. } = operation;
        let definitions = document
            .definition_named(name.as_deref())
            .map_or(&[][..], |operation| &operation.variable_definitions);
        let variables = with_canonical_variables(definitions, variables, &scope)
            .await
            .map_err(|error| Rejection(vec![error.into()]))?;
        let key = SubscriptionKey::new(document, name, variables, viewer, schema::get());
        let engine = self.clone();
        let join = move |topics| {
            let executor = |key: &_, topic: &_| engine.event_executor(key, topic, &plan);
            engine.fanout.join(key, (topics, Since::Joined(after)), payer, executor)
        };
        let Some(inbox) = inbox_to_come else {
            let messages = join(topics).map_err(|error| Rejection(vec![error.into()]))?;
            return Ok(messages.boxed());
        };
        let plaudit = self.plaudit.clone();
        let joined = async move {
            match join(vec![inbox.of(accounts::user_to_come(&plaudit, &subject).await)]) {
                Ok(messages) => messages.boxed(),
                Err(error) => stream::iter([Answered::failed(error).body]).boxed(),
            }
        };
        Ok(stream::once(joined).flatten().boxed())
    }
}
