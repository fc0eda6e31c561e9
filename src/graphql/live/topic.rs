//! Topics and topic events: the data that the root fields of a subscription exchange with what executes them.
//!
//! A subscription is executed in two phases. At the start, the root fields check their arguments and register
//! [`Topic`]s. Then, for each [`TopicEvent`], the field of that topic is one object.

use std::{mem, sync::Arc};

use async_graphql::Name;
use parking_lot::Mutex;

use crate::{
    definition::{
        values::Object,
        watch::{EventRate, ListPosition, Subject, Watched, WatchedSubjects},
    },
    errors::ApiResult,
};
use plaudit_catalogue::primitives::UserId;

/// The subject and root field of a shared subscription.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topic {
    /// The response key of the root field.
    pub field: Name,
    pub subject: Subject,
    pub rate: EventRate,
}

/// What a member of a shared subscription has received of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Since {
    /// Nothing yet. The position of a list that the client has from an earlier subscription, if it named one.
    Joined(Option<ListPosition>),
    /// The event of a list with this position.
    Event(ListPosition),
}

/// What the root fields of a subscription watch.
#[derive(Default)]
pub struct TopicList {
    /// Without repetitions.
    pub topics: Vec<Topic>,
    pub inbox_to_come: Option<InboxToCome>,
    /// The position that the client named.
    pub after: Option<ListPosition>,
}

/// The topic of an inbox whose owner has no user yet.
pub struct InboxToCome {
    field: Name,
    subject: fn(UserId) -> Subject,
    rate: EventRate,
}

impl TopicList {
    /// Adds what the root field with this response key watches.
    pub fn add(&mut self, field: &Name, Watched { subjects, rate, after }: Watched) {
        self.after = self.after.or(after);
        match subjects {
            WatchedSubjects::Known(subjects) => {
                for subject in subjects {
                    let topic = Topic { field: field.clone(), subject, rate };
                    if !self.topics.contains(&topic) {
                        self.topics.push(topic);
                    }
                }
            }
            WatchedSubjects::InboxToCome(subject) => {
                self.inbox_to_come = Some(InboxToCome { field: field.clone(), subject, rate });
            }
        }
    }
}

impl InboxToCome {
    /// The topic, once the owner has a user.
    pub fn of(self, owner: UserId) -> Topic {
        Topic { field: self.field, subject: (self.subject)(owner), rate: self.rate }
    }
}

/// Where root fields of a subscription register what they watch, if the engine resolves them. Clones share one list.
#[derive(Clone, Default)]
pub struct Topics(Arc<Mutex<TopicList>>);

impl Topics {
    /// Removes and returns all.
    pub fn take(&self) -> TopicList {
        mem::take(&mut self.0.lock())
    }

    pub fn add(&self, field: &Name, watched: Watched) {
        self.0.lock().add(field, watched);
    }
}

/// The event that a subscription is executed for: the response key of the root field, and its object.
#[derive(Clone)]
pub struct TopicEvent {
    pub field: Name,
    pub object: ApiResult<Object>,
}
