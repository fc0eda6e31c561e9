//! Topics: what a subscription watches.
//!
//! A subscription is executed in two phases. At the start, the root fields check their arguments and say what they
//! watch. Then, for each message of a topic, its field is one object.

use async_graphql::Name;

use crate::definition::watch::{ListPosition, MessageRate, Subject, Watched, WatchedSubjects};
use plaudit_catalogue::primitives::UserId;

/// The subject and root field of a shared subscription.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topic {
    /// The response key of the root field.
    pub field: Name,
    pub subject: Subject,
    pub rate: MessageRate,
}

/// What a member of a shared subscription has received of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Since {
    /// Nothing yet. The position of a list that the client has from an earlier subscription, if it named one.
    Joined(Option<ListPosition>),
    /// The message of a list with this position.
    Message(ListPosition),
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
    rate: MessageRate,
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
