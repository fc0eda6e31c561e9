//! Fan-out: a message is executed and encoded once per shared subscription, and its bytes go to all members.
//!
//! A shared subscription is a [`SubscriptionKey`] (document, variables without the ids, and the viewer if the response
//! depends on it) and a [`Topic`] (root field, one entity, rate). Subscriptions with different lists of ids share the
//! topics that they have in common.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::Mutex;

use super::{
    key::SubscriptionKey,
    memory::too_much,
    message::ExecuteMessage,
    message_task,
    ready_set::ReadySet,
    shared::SharedSubscription,
    stream::{LeaveAll, TopicMember, TopicMemberships, TopicStream},
    topic::{Since, Topic},
};
use crate::errors::ApiError;
use plaudit_domain::{Held, Payer, Plaudit};

/// Bytes that a shared subscription takes for each topic, without its latest message; and that a member of it takes.
const TOPIC: usize = 7 * 1024;
const MEMBER: usize = 192;

/// All shared subscriptions of this process.
pub struct Fanout {
    plaudit: Plaudit,
    /// Locked only for moments, never across an await.
    questions: Mutex<Questions>,
    meters: FanoutMeters,
}

#[derive(Default)]
struct Questions {
    by_key: HashMap<Arc<SubscriptionKey>, Question>,
    /// Memory of the documents, by their texts.
    documents: HashMap<Arc<str>, Weak<Held>>,
}

/// The shared subscriptions with one key.
struct Question {
    by_topic: HashMap<Topic, Arc<SharedSubscription>>,
    _variables: Held,
    _document: Arc<Held>,
}

struct FanoutMeters {
    executions: Counter,
    deliveries: Counter,
    shared: Gauge,
}

impl Fanout {
    pub fn new(plaudit: Plaudit) -> Arc<Self> {
        let meters = FanoutMeters {
            executions: counter!("plaudit_fanout_executions_total"),
            deliveries: counter!("plaudit_fanout_deliveries_total"),
            shared: gauge!("plaudit_fanout_questions"),
        };
        meters.executions.increment(0);
        meters.deliveries.increment(0);
        meters.shared.set(0);
        Arc::new(Self { plaudit, questions: Mutex::default(), meters })
    }

    /// Joins the shared subscription of each topic, and starts those that do not run yet; `execute` makes their
    /// executor, and `payer` pays for its part of their messages and for what is kept. `since`: what the client has. At
    /// least one topic.
    ///
    /// # Errors
    /// [`Code::LimitExceeded`](crate::Code::LimitExceeded): too much would be kept.
    pub fn join(
        self: &Arc<Self>,
        key: SubscriptionKey,
        (topics, since): (Vec<Topic>, Since),
        payer: Payer,
        execute: impl Fn(&Arc<SubscriptionKey>, &Topic) -> ExecuteMessage,
    ) -> Result<TopicStream, ApiError> {
        let (ready, payer) = (Arc::new(ReadySet::default()), Arc::new(payer));
        let mut questions = self.questions.lock();
        let (key, kept) = questions.keep(key, &topics, &payer).ok_or_else(|| too_much(&payer))?;
        let Some(question) = questions.by_key.get_mut(&key) else { return Err(ApiError::internal()) };
        let join = |(index, topic)| {
            let shared = question.by_topic.entry(topic).or_insert_with_key(|topic| {
                self.meters.shared.increment(1);
                let executions = self.meters.executions.clone();
                message_task::start(&self.plaudit, topic, execute(&key, topic), executions)
            });
            TopicMember::join(shared, &ready, (index, since), &payer)
        };
        let members = topics.into_iter().enumerate().map(join).collect();
        drop(questions);
        let fanout = Arc::downgrade(self);
        let leave: LeaveAll = Box::new(move |memberships| {
            if let Some(fanout) = fanout.upgrade() {
                fanout.leave(&key, memberships);
            }
        });
        Ok(TopicStream::new(ready, members, self.meters.deliveries.clone(), kept, leave))
    }

    /// A shared subscription ends when its last member leaves.
    fn leave(&self, key: &Arc<SubscriptionKey>, memberships: TopicMemberships) {
        let mut questions = self.questions.lock();
        for (shared, member) in memberships {
            if !shared.leave(member) {
                continue;
            }
            shared.end();
            self.meters.shared.decrement(1);
            if let Some(question) = questions.by_key.get_mut(key) {
                question.by_topic.remove(shared.topic());
            }
        }
        questions.forget(key);
    }
}

impl Questions {
    /// Counts what the topics, and the question if it is new, take. Returns the key that is used, and the memory of the
    /// topics; `None`, and nothing is kept, if there is no room.
    fn keep(
        &mut self,
        key: SubscriptionKey,
        topics: &[Topic],
        payer: &Arc<Payer>,
    ) -> Option<(Arc<SubscriptionKey>, Held)> {
        let equal = self.by_key.get_key_value(&key);
        let is_new =
            |topic: &&Topic| equal.is_none_or(|(_, question)| !question.by_topic.contains_key(topic));
        let new = topics.iter().filter(is_new).count();
        let kept = payer.keep(new * TOPIC + topics.len() * MEMBER)?;
        if let Some((equal, _)) = equal {
            return Some((Arc::clone(equal), kept));
        }
        let text = key.document().text();
        let known = self.documents.get(text).and_then(Weak::upgrade);
        let document = match known {
            Some(known) => known,
            None => Arc::new(payer.keep(key.document().size() as usize)?),
        };
        let variables = payer.keep(key.variables_size())?;
        self.documents.insert(Arc::clone(text), Arc::downgrade(&document));
        let key = Arc::new(key);
        let question = Question { by_topic: HashMap::new(), _variables: variables, _document: document };
        self.by_key.insert(Arc::clone(&key), question);
        Some((key, kept))
    }

    /// Removes a question that has no topics, and the document if it was the last one with it.
    fn forget(&mut self, key: &Arc<SubscriptionKey>) {
        if !self.by_key.get(key).is_some_and(|question| question.by_topic.is_empty()) {
            return;
        }
        self.by_key.remove(key);
        let text = key.document().text();
        if self.documents.get(text).is_some_and(|document| document.strong_count() == 0) {
            self.documents.remove(text);
        }
    }
}
