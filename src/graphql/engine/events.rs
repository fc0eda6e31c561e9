//! Executes the events of subscriptions.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;

use super::{bill::with_stores, execute::Engine, executions};
use crate::{
    errors::ApiError,
    live::{
        changes::{ReadEvent, event_object},
        event::{EncodedEvent, ExecuteEvent, ExecutedEvent, FollowedBy, Next},
        key::SubscriptionKey,
        signals::Signal,
        topic::{Since, Topic},
    },
    plan::{self, Answered, Plan},
    reading::{reader::FactsReader, scope::Scope},
};
use plaudit_domain::Work;
use plaudit_store::tally::{Tally, limited};

impl Engine {
    /// Executes the events of a shared subscription: by the plan that its topics were found by.
    pub(super) fn event_executor(
        &self,
        key: &Arc<SubscriptionKey>,
        topic: &Topic,
        plan: &Arc<Plan>,
    ) -> ExecuteEvent {
        let (engine, key, topic, plan) = (self.clone(), Arc::clone(key), topic.clone(), Arc::clone(plan));
        Box::new(move |signal, since| {
            let (engine, key, topic, plan) =
                (engine.clone(), Arc::clone(&key), topic.clone(), Arc::clone(&plan));
            let (costs, permits) = (Arc::clone(&engine.costs), Arc::clone(&engine.event_statements));
            let stores = Arc::new(Tally::default());
            let event = async move { engine.execute_event(&key, topic, &plan, signal, since).await };
            // The statements of events take a part of the connections: others need the rest to answer requests.
            let event = limited(permits, Arc::clone(&stores).observe(event));
            // A field that panics must not end the shared subscription.
            let event = AssertUnwindSafe(event).catch_unwind();
            event
                .map(move |event| {
                    let event =
                        event.unwrap_or_else(|_| executed_event(Answered::failed(ApiError::internal())));
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
        plan: &Plan,
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
        let event = plan::event(plan, key.variables(), &scope, (&topic.field, object), self.max_event);
        let answered = executions::counted(key.document(), event).await;
        let executed = executed_event(answered);
        let event = executed.event.map(|event| EncodedEvent { position, followed_by, ..event });
        ExecutedEvent { event, next, ..executed }
    }
}

fn executed_event(Answered { body: bytes, errors, fields, .. }: Answered) -> ExecutedEvent {
    let work = Work { fields, bytes: bytes.len() as u64, ..Work::default() };
    let is_whole = errors.is_empty();
    let event = Some(EncodedEvent { bytes, is_whole, position: None, followed_by: FollowedBy::default() });
    ExecutedEvent { event, next: Next::AtSignal, work }
}
