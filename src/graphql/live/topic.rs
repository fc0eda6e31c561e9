//! What the engine and the root fields of a subscription tell each other. Each document is executed in two
//! ways: first the root fields check their arguments and say which topics are meant, then, for each event,
//! one of them shows one object.

use std::{mem, sync::Arc, time::Duration};

use async_graphql::{Context, Name};
use futures_util::stream;
use parking_lot::Mutex;

use crate::{
    catalogue::Entity,
    graphql::{
        errors::{ApiError, ApiResult},
        reading::scope::{Known, Scope},
    },
    hub::CountsAt,
};

/// What a question is about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Topic {
    /// The root field, by the name under which it answers.
    pub field: Name,
    pub entity: Entity,
    pub rate: Rate,
}

/// The most events per second of one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate(u32);

impl Rate {
    const MAX: i32 = 60;
    /// 50 ms between two events: what an eye takes for "at once".
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

/// Where root fields say what is to be watched. Clones are the same list.
#[derive(Clone, Default)]
pub struct Topics(Arc<Mutex<Vec<Topic>>>);

impl Topics {
    /// All that were said.
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

/// New counts of a topic: what is shown this time.
#[derive(Clone)]
pub struct Event {
    pub field: Name,
    pub entity: Entity,
    pub counted: CountsAt,
}

/// What a root field gives: the object of an event, or nothing.
pub type Shown<N> = stream::Iter<std::option::IntoIter<N>>;

impl Event {
    /// The event that is shown, if this is not the time for arguments.
    pub fn of<'a>(ctx: &Context<'a>) -> Option<&'a Self> {
        ctx.data_opt()
    }

    /// The object, if it is this field's event. Its counts are those of the event; what its other fields show is
    /// read now.
    pub fn show<N>(&self, ctx: &Context<'_>, object: fn(Entity, Scope) -> N) -> Shown<N> {
        let is_meant = self.field == *response_key(ctx);
        let counts = [(self.entity, Some(self.counted))].into();
        let known = || Scope::of(ctx).knowing(Known { counts, ..Known::default() });
        stream::iter(is_meant.then(|| object(self.entity, known())))
    }
}

/// Says that these are watched by the field that is being resolved.
pub fn watch<N>(ctx: &Context<'_>, entities: impl IntoIterator<Item = Entity>, rate: Rate) -> Shown<N> {
    let field = response_key(ctx);
    let topic = |entity| Topic { field: field.clone(), entity, rate };
    ctx.data_unchecked::<Topics>().add(entities.into_iter().map(topic));
    stream::iter(None)
}

fn response_key<'a>(ctx: &Context<'a>) -> &'a Name {
    &ctx.item.node.response_key().node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_from_1_to_60_and_20_unless_it_is_said() {
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
