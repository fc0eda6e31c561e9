//! Executes the events of subscriptions.

use std::{panic::AssertUnwindSafe, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};

use super::{
    bill::with_stores,
    execute::Engine,
    executions,
    prepare::may_be_planned,
    responses::{encoded, mended},
};
use crate::{
    definition::values::Object,
    errors::{ApiError, ApiResult},
    live::{
        changes::{ReadEvent, event_object},
        event::{EncodedEvent, ExecuteEvent, ExecutedEvent, FollowedBy, Next},
        key::SubscriptionKey,
        signals::Signal,
        topic::{Since, Topic, TopicEvent},
    },
    plan::{self, Plan},
    reading::{reader::FactsReader, scope::Scope},
    request::operation::operation_of,
    schema::EngineOutcome,
};
use plaudit_domain::Work;
use plaudit_store::tally::{Tally, limited};

impl Engine {
    /// Executes the events of a shared subscription: by the plan that its topics were found by.
    pub(super) fn event_executor(
        &self,
        key: &Arc<SubscriptionKey>,
        topic: &Topic,
        plan: Option<&Arc<Plan>>,
    ) -> ExecuteEvent {
        let (engine, key, topic, plan) = (self.clone(), Arc::clone(key), topic.clone(), plan.cloned());
        Box::new(move |signal, since| {
            let (engine, key, topic, plan) = (engine.clone(), Arc::clone(&key), topic.clone(), plan.clone());
            let (costs, permits) = (Arc::clone(&engine.costs), Arc::clone(&engine.event_statements));
            let stores = Arc::new(Tally::default());
            let event =
                async move { engine.execute_event(&key, topic, plan.as_deref(), signal, since).await };
            // The statements of events take a part of the connections: others need the rest to answer requests.
            let event = limited(permits, Arc::clone(&stores).observe(event));
            // A field that panics must not end the shared subscription.
            let event = AssertUnwindSafe(event).catch_unwind();
            event
                .map(move |event| {
                    let event = event.unwrap_or_else(|_| panicked());
                    let work = with_stores(event.work, Some(&stores));
                    costs.of_events.add(&work);
                    ExecutedEvent { work, ..event }
                })
                .boxed()
        })
    }

    /// Executes and encodes one event, in a scope of its own.
    async fn execute_event(
        &self,
        key: &SubscriptionKey,
        topic: Topic,
        plan: Option<&Plan>,
        signal: Signal,
        since: Since,
    ) -> ExecutedEvent {
        let reader = match key.viewer() {
            Some(viewer) => FactsReader::new(self.plaudit.clone(), viewer.clone()),
            None => FactsReader::shared(self.plaudit.clone()),
        };
        let scope = match topic.subject.entity().zip(signal.counted) {
            Some((entity, counted)) => Scope::of_event(reader, entity, counted),
            None => Scope::new(reader),
        };
        let ReadEvent { object, position, followed_by, next } =
            event_object(topic.subject, since, &scope).await;
        let Some(object) = object else {
            return ExecutedEvent { event: None, next, work: Work::default() };
        };
        let executed = match plan.filter(|_| may_be_planned(key.document())) {
            Some(plan) => {
                let event =
                    plan::event(plan, key.variables(), &scope, (&topic.field, object), self.max_event);
                let answered = executions::by_plan(key.document(), event).await;
                executed_event(answered.body, answered.errors.is_empty(), answered.fields)
            }
            None => self.execute_event_by_engine(key, topic, object, scope).await,
        };
        let event = executed.event.map(|event| EncodedEvent { position, followed_by, ..event });
        ExecutedEvent { event, next, ..executed }
    }

    async fn execute_event_by_engine(
        &self,
        key: &SubscriptionKey,
        topic: Topic,
        object: ApiResult<Object>,
        scope: Scope,
    ) -> ExecutedEvent {
        let outcome = EngineOutcome::new(self.max_event);
        let event = TopicEvent { field: topic.field, object };
        let request = key.request(topic.subject).data(scope).data(event).data(outcome.clone());
        let response = self.schema.execute_stream(request).next().await.unwrap_or_default();
        let operation = operation_of(key.document().parsed(), key.operation());
        let parsed = key.document().parsed();
        let plan = operation.and_then(|operation| Plan::whole(parsed, operation, key.variables()).ok());
        let response = mended(response, &outcome, plan.as_ref());
        executions::count_by_engine();
        executed_event(encoded(&response), response.errors.is_empty(), 0)
    }
}

fn executed_event(bytes: Bytes, is_whole: bool, fields: u64) -> ExecutedEvent {
    let work = Work { fields, bytes: bytes.len() as u64, ..Work::default() };
    let event = Some(EncodedEvent { bytes, is_whole, position: None, followed_by: FollowedBy::default() });
    ExecutedEvent { event, next: Next::AtSignal, work }
}

/// The event after a panic, which the process logs.
fn panicked() -> ExecutedEvent {
    executed_event(plan::failed(ApiError::internal()).body, false, 0)
}
