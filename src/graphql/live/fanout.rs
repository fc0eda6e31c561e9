//! Fan-out: an event is executed and encoded once per distinct question, and its bytes go to all who asked it.
//!
//! A [`question`] is what is asked ([`Asked`]: document, variables but the ids, and, if the document needs
//! one, the viewer) of one [`Topic`]: a root field, one entity, a rate. Subscriptions with other lists of ids
//! share the questions that they have in common.
//!
//! - [`topic`]: what the engine and the root fields tell each other
//! - [`question`]: which questions are the same
//! - [`viewers`]: whether a document shows each viewer something else
//! - [`running`]: a question while somebody listens; [`pace`]: how often it may speak
//! - [`subscriber`]: one subscription: which of its topics have news, and the stream of it

use std::{collections::HashMap, sync::Arc};

use metrics::{Counter, Gauge, counter, gauge};
use parking_lot::Mutex;

use super::{
    key::Asked,
    ready_set::Inbox,
    shared::{Answer, Place, Running},
    subscriber::{Leaving, Listening, Subscriber},
    topic::Topic,
};
use crate::hub::Hub;

/// All questions that are listened to in this process.
pub struct Fanout {
    hub: Hub,
    /// By what is asked, then of which topic. Held only for moments, never across an await.
    questions: Mutex<Questions>,
    meters: Meters,
}

type Questions = HashMap<Arc<Asked>, HashMap<Topic, Arc<Running>>>;

struct Meters {
    executions: Counter,
    deliveries: Counter,
    questions: Gauge,
}

impl Fanout {
    pub fn new(hub: Hub) -> Arc<Self> {
        let meters = Meters {
            executions: counter!("plaudit_fanout_executions_total"),
            deliveries: counter!("plaudit_fanout_deliveries_total"),
            questions: gauge!("plaudit_fanout_questions"),
        };
        meters.executions.increment(0);
        meters.deliveries.increment(0);
        meters.questions.set(0);
        Arc::new(Self { hub, questions: Mutex::default(), meters })
    }

    /// Listens to a question of each topic: to one that is running, else to a new one, which `answer` executes.
    /// At least one topic.
    pub fn listen(
        self: &Arc<Self>,
        asked: Asked,
        topics: Vec<Topic>,
        answer: impl Fn(&Arc<Asked>, &Topic) -> Answer,
    ) -> Subscriber {
        let inbox = Arc::new(Inbox::default());
        let mut all = self.questions.lock();
        let asked = all.get_key_value(&asked).map_or_else(|| Arc::new(asked), |(same, _)| Arc::clone(same));
        let questions = all.entry(Arc::clone(&asked)).or_default();
        let listen = |(index, topic)| {
            let running = questions.entry(topic).or_insert_with_key(|topic| {
                self.meters.questions.increment(1);
                Running::start(&self.hub, topic, answer(&asked, topic), self.meters.executions.clone())
            });
            Listening::to(running, &inbox, index)
        };
        let listening = topics.into_iter().enumerate().map(listen).collect();
        drop(all);
        let fanout = Arc::downgrade(self);
        let leave: Leaving = Box::new(move |places| {
            if let Some(fanout) = fanout.upgrade() {
                fanout.leave(&asked, places);
            }
        });
        Subscriber::new(inbox, listening, self.meters.deliveries.clone(), leave)
    }

    /// The last listener's leaving ends a question.
    fn leave(&self, asked: &Arc<Asked>, places: Vec<(Arc<Running>, Place)>) {
        let mut all = self.questions.lock();
        for (running, place) in places {
            if !running.leave(place) {
                continue;
            }
            running.end();
            self.meters.questions.decrement(1);
            if let Some(questions) = all.get_mut(asked) {
                questions.remove(running.topic());
            }
        }
        if all.get(asked).is_some_and(HashMap::is_empty) {
            all.remove(asked);
        }
    }
}
