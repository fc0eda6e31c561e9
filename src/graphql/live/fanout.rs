//! Fan-out: an event is executed and encoded once per shared subscription, and its bytes go to all members.
//!
//! A shared subscription is a [`SubscriptionKey`] (document, variables without the ids, and the viewer if the response
//! depends on it) and a [`Topic`] (root field, one entity, rate). Subscriptions with different lists of ids share the
//! topics that they have in common.

use std::{collections::HashMap, sync::Arc};

use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::Mutex;

use super::{
    key::SubscriptionKey,
    ready_set::ReadySet,
    shared::{ExecuteEvent, SharedSubscription},
    stream::{LeaveAll, TopicMember, TopicMemberships, TopicStream},
    topic::Topic,
};
use crate::{domain::PushAccount, hub::Hub};

/// All shared subscriptions of this process.
pub struct Fanout {
    hub: Hub,
    /// Locked only for moments, never across an await.
    by_key: Mutex<HashMap<Arc<SubscriptionKey>, ByTopic>>,
    meters: FanoutMeters,
}

type ByTopic = HashMap<Topic, Arc<SharedSubscription>>;

struct FanoutMeters {
    executions: Counter,
    deliveries: Counter,
    shared: Gauge,
}

impl Fanout {
    pub fn new(hub: Hub) -> Arc<Self> {
        let meters = FanoutMeters {
            executions: counter!("plaudit_fanout_executions_total"),
            deliveries: counter!("plaudit_fanout_deliveries_total"),
            shared: gauge!("plaudit_fanout_questions"),
        };
        meters.executions.increment(0);
        meters.deliveries.increment(0);
        meters.shared.set(0);
        Arc::new(Self { hub, by_key: Mutex::default(), meters })
    }

    /// Joins the shared subscription of each topic, and starts those that do not run yet; `execute` makes their
    /// executor, and `account` pays for its part of their events. At least one topic.
    pub fn join(
        self: &Arc<Self>,
        key: SubscriptionKey,
        topics: Vec<Topic>,
        account: PushAccount,
        execute: impl Fn(&Arc<SubscriptionKey>, &Topic) -> ExecuteEvent,
    ) -> TopicStream {
        let (ready, account) = (Arc::new(ReadySet::default()), Arc::new(account));
        let mut by_key = self.by_key.lock();
        let key = by_key.get_key_value(&key).map_or_else(|| Arc::new(key), |(equal, _)| Arc::clone(equal));
        let by_topic = by_key.entry(Arc::clone(&key)).or_default();
        let join = |(index, topic)| {
            let shared = by_topic.entry(topic).or_insert_with_key(|topic| {
                self.meters.shared.increment(1);
                let executions = self.meters.executions.clone();
                SharedSubscription::start(&self.hub, topic, execute(&key, topic), executions)
            });
            TopicMember::join(shared, &ready, index, &account)
        };
        let members = topics.into_iter().enumerate().map(join).collect();
        drop(by_key);
        let fanout = Arc::downgrade(self);
        let leave: LeaveAll = Box::new(move |memberships| {
            if let Some(fanout) = fanout.upgrade() {
                fanout.leave(&key, memberships);
            }
        });
        TopicStream::new(ready, members, self.meters.deliveries.clone(), leave)
    }

    /// A shared subscription ends when its last member leaves.
    fn leave(&self, key: &Arc<SubscriptionKey>, memberships: TopicMemberships) {
        let mut by_key = self.by_key.lock();
        for (shared, member) in memberships {
            if !shared.leave(member) {
                continue;
            }
            shared.end();
            self.meters.shared.decrement(1);
            if let Some(by_topic) = by_key.get_mut(key) {
                by_topic.remove(shared.topic());
            }
        }
        if by_key.get(key).is_some_and(HashMap::is_empty) {
            by_key.remove(key);
        }
    }
}
