//! Topics and topic events: the data that the root fields of a subscription exchange with what executes them.
//!
//! A subscription is executed in two phases. At the start, the root fields check their arguments and register
//! [`Topic`]s. Then, for each [`TopicEvent`], the field of that topic is one object.

use std::{mem, sync::Arc};

use async_graphql::Name;
use parking_lot::Mutex;

use crate::{catalogue::Entity, graphql::definition::watch::Rate};

/// The entity and root field of a shared subscription.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topic {
    /// The response key of the root field.
    pub field: Name,
    pub entity: Entity,
    pub rate: Rate,
}

/// Where root fields of a subscription register their topics. Clones share one list.
#[derive(Clone, Default)]
pub struct Topics(Arc<Mutex<Vec<Topic>>>);

impl Topics {
    /// Removes and returns all topics.
    pub fn take(&self) -> Vec<Topic> {
        mem::take(&mut self.0.lock())
    }

    pub fn add(&self, topics: impl Iterator<Item = Topic>) {
        let mut all = self.0.lock();
        for topic in topics {
            if !all.contains(&topic) {
                all.push(topic);
            }
        }
    }
}

/// The event that a subscription is executed for: the response key of the root field, and what changed.
#[derive(Clone)]
pub struct TopicEvent {
    pub field: Name,
    pub entity: Entity,
}
