//! Topics and topic events: the data that the engine and the root fields of a subscription exchange.
//!
//! A subscription is executed in two phases. At the start, the root fields check their arguments and register
//! [`Topic`]s. Then, for each [`TopicEvent`], the field of that topic returns one object.

use std::{mem, sync::Arc, time::Duration};

use async_graphql::{Context, Name};
use futures_util::stream;
use parking_lot::Mutex;

use crate::{
    catalogue::Entity,
    graphql::{
        errors::{ApiError, ApiResult},
        reading::scope::{Prefetched, Scope},
    },
    hub::CountsAt,
};

/// The entity and root field of a shared subscription.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topic {
    /// The response key of the root field.
    pub field: Name,
    pub entity: Entity,
    pub rate: Rate,
}

/// Most events per second of one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate(u32);

impl Rate {
    const MAX: i32 = 60;
    /// 50 ms between two events: people perceive that as immediate.
    pub const DEFAULT: i32 = 20;

    /// # Errors
    /// [`Code::BadUserInput`](crate::graphql::Code::BadUserInput) beyond 1 to 60.
    pub fn parse(argument: &'static str, per_second: Option<i32>) -> ApiResult<Self> {
        let per_second = per_second.unwrap_or(Self::DEFAULT);
        match u32::try_from(per_second) {
            Ok(rate @ 1..) if per_second <= Self::MAX => Ok(Self(rate)),
            _ => {
                let message = format!("{argument}: 1 to {} events per second, not {per_second}", Self::MAX);
                Err(ApiError::bad_input(argument, message))
            }
        }
    }

    pub fn interval(self) -> Duration {
        Duration::from_secs(1) / self.0
    }
}

/// Where root fields register their topics. Clones share one list.
#[derive(Clone, Default)]
pub struct Topics(Arc<Mutex<Vec<Topic>>>);

impl Topics {
    /// Removes and returns all topics.
    pub fn take(&self) -> Vec<Topic> {
        mem::take(&mut self.0.lock())
    }

    fn add(&self, topics: impl Iterator<Item = Topic>) {
        let mut all = self.0.lock();
        for topic in topics {
            if !all.contains(&topic) {
                all.push(topic);
            }
        }
    }
}

/// New counts of a topic.
#[derive(Clone)]
pub struct TopicEvent {
    pub field: Name,
    pub entity: Entity,
    pub counted: CountsAt,
}

/// The stream that a root field returns: in the first phase empty, in the second at most one object.
pub type EventItems<N> = stream::Iter<std::option::IntoIter<N>>;

impl TopicEvent {
    /// The event that is executed; `None` in the first phase.
    pub fn of<'a>(ctx: &Context<'a>) -> Option<&'a Self> {
        ctx.data_opt()
    }

    /// The object of this event, if it is an event of the field that is being resolved. Its counts are those of the
    /// event; its other fields are read now.
    pub fn object<N>(&self, ctx: &Context<'_>, object: impl FnOnce(Entity, Scope) -> N) -> EventItems<N> {
        let is_of_field = self.field == *response_key(ctx);
        let counts = [(self.entity, Some(self.counted))].into();
        let scope = || Scope::of(ctx).with_prefetched(Prefetched { counts, ..Prefetched::default() });
        stream::iter(is_of_field.then(|| object(self.entity, scope())))
    }
}

impl Topics {
    /// Registers topics of the field that is being resolved.
    pub fn register<N>(
        ctx: &Context<'_>,
        entities: impl IntoIterator<Item = Entity>,
        rate: Rate,
    ) -> EventItems<N> {
        let field = response_key(ctx);
        let topic = |entity| Topic { field: field.clone(), entity, rate };
        ctx.data_unchecked::<Self>().add(entities.into_iter().map(topic));
        stream::iter(None)
    }
}

fn response_key<'a>(ctx: &Context<'a>) -> &'a Name {
    &ctx.item.node.response_key().node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_from_1_to_60_and_20_by_default() {
        let interval = |rate| Rate::parse("maxRate", rate).map(Rate::interval);
        assert_eq!(interval(None), Ok(Duration::from_millis(50)));
        assert_eq!(interval(Some(1)), Ok(Duration::from_secs(1)));
        assert!(interval(Some(60)).is_ok());
        for refused in [i32::MIN, -1, 0, 61, i32::MAX] {
            let error = async_graphql::Error::from(interval(Some(refused)).unwrap_err());
            assert_eq!(error.message, format!("maxRate: 1 to 60 events per second, not {refused}"));
        }
    }
}
