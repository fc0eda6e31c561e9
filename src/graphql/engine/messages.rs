//! Executes the messages of subscriptions.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;

use super::{bill::with_stores, execute::Engine, executions};
use crate::{
    errors::ApiError,
    live::{
        changes::{ReadMessage, message_object},
        key::SubscriptionKey,
        message::{EncodedMessage, ExecuteMessage, ExecutedMessage, FollowedBy, Next},
        signals::Signal,
        topic::{Since, Topic},
    },
    plan::{self, Answered, Plan},
    reading::{reader::FactsReader, scope::Scope},
};
use plaudit_domain::Work;
use plaudit_store::tally::{Tally, limited};

impl Engine {
    /// Executes the messages of a shared subscription: by the plan that its topics were found by.
    pub(super) fn event_executor(
        &self,
        key: &Arc<SubscriptionKey>,
        topic: &Topic,
        plan: &Arc<Plan>,
    ) -> ExecuteMessage {
        let (engine, key, topic, plan) = (self.clone(), Arc::clone(key), topic.clone(), Arc::clone(plan));
        Box::new(move |signal, since| {
            let (engine, key, topic, plan) =
                (engine.clone(), Arc::clone(&key), topic.clone(), Arc::clone(&plan));
            let (costs, permits) = (Arc::clone(&engine.costs), Arc::clone(&engine.message_statements));
            let stores = Arc::new(Tally::default());
            let message = async move { engine.execute_message(&key, topic, &plan, signal, since).await };
            // The statements of messages take a part of the connections: others need the rest to answer requests.
            let message = limited(permits, Arc::clone(&stores).observe(message));
            // A field that panics must not end the shared subscription.
            let message = AssertUnwindSafe(message).catch_unwind();
            message
                .map(move |message| {
                    let message =
                        message.unwrap_or_else(|_| executed_message(Answered::failed(ApiError::internal())));
                    let work = with_stores(message.work, Some(&stores));
                    costs.of_events.add(&work);
                    ExecutedMessage { work, ..message }
                })
                .boxed()
        })
    }

    /// Executes and encodes one message, in a scope of its own.
    async fn execute_message(
        &self,
        key: &SubscriptionKey,
        topic: Topic,
        plan: &Plan,
        signal: Signal,
        since: Since,
    ) -> ExecutedMessage {
        let reader = match key.viewer() {
            Some(viewer) => FactsReader::new(self.plaudit.clone(), viewer.clone()),
            None => FactsReader::shared(self.plaudit.clone()),
        };
        let scope = match topic.subject.entity().zip(signal.counted) {
            Some((entity, counted)) => Scope::of_message(reader, entity, counted),
            None => Scope::new(reader),
        };
        let ReadMessage { object, position, followed_by, next } =
            message_object(topic.subject, since, &scope).await;
        let Some(object) = object else {
            return ExecutedMessage { message: None, next, work: Work::default() };
        };
        let message = plan::message(plan, key.variables(), &scope, (&topic.field, object), self.max_event);
        let answered = executions::counted(key.document(), message).await;
        let executed = executed_message(answered);
        let message = executed.message.map(|message| EncodedMessage { position, followed_by, ..message });
        ExecutedMessage { message, next, ..executed }
    }
}

fn executed_message(Answered { body: bytes, errors, fields, .. }: Answered) -> ExecutedMessage {
    let work = Work { fields, bytes: bytes.len() as u64, ..Work::default() };
    let is_whole = errors.is_empty();
    let message =
        Some(EncodedMessage { bytes, is_whole, position: None, followed_by: FollowedBy::default() });
    ExecutedMessage { message, next: Next::AtSignal, work }
}
