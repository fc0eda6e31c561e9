//! What the root fields of subscriptions watch.

use std::time::Duration;

use crate::errors::{ApiError, ApiResult};
use plaudit_catalogue::{
    Entity,
    primitives::{ChangePosition, EventCursor, NoteId, UserId},
};
use plaudit_domain::inbox_of;

/// What a root field of a subscription watches, and how often at most it sends each subject.
pub struct Watched {
    pub subjects: WatchedSubjects,
    pub rate: MessageRate,
    /// Of a list: the position that the client has.
    pub after: Option<ListPosition>,
}

/// Where a client is in a list that changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ListPosition {
    Change(ChangePosition),
    Event(EventCursor),
}

impl ListPosition {
    pub const fn change(self) -> Option<ChangePosition> {
        match self {
            Self::Change(position) => Some(position),
            Self::Event(_) => None,
        }
    }

    pub const fn event(self) -> Option<EventCursor> {
        match self {
            Self::Event(cursor) => Some(cursor),
            Self::Change(_) => None,
        }
    }
}

pub enum WatchedSubjects {
    Known(Vec<Subject>),
    /// Something of the viewer's inbox. The viewer has no user before the first action.
    InboxToCome(fn(UserId) -> Subject),
}

/// What is watched: the counts of an entity, a list that changes, or a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Subject {
    Counts(Entity),
    CommentsOf(NoteId),
    Feed,
    EntriesOf(UserId),
    ReviewQueue,
    /// The stream of events, in pages of at most so many.
    Events(usize),
}

impl Subject {
    /// Whether its messages have only what is new since the last one. Other messages are whole.
    pub const fn is_list(self) -> bool {
        !matches!(self, Self::Counts(_))
    }

    /// The entity whose counts change with it.
    pub fn entity(self) -> Option<Entity> {
        match self {
            Self::Counts(entity) => Some(entity),
            Self::CommentsOf(note) => Some(note.into()),
            Self::EntriesOf(owner) => Some(inbox_of(owner)),
            Self::Feed | Self::ReviewQueue | Self::Events(_) => None,
        }
    }

    /// Whether a message that failed is the last one. It may hide what a client cannot read anywhere else.
    pub const fn ends_with_error(self) -> bool {
        matches!(self, Self::Events(_))
    }
}

/// Most messages per second of one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageRate(u32);

impl MessageRate {
    const MAX: i32 = 60;
    /// 50 ms between two messages: people perceive that as immediate.
    pub const DEFAULT: i32 = 20;
    /// Of lists that one object has.
    pub const OF_LIST: Self = Self(5);
    /// Of lists and states that all share.
    pub const OF_ALL: Self = Self(1);

    /// # Errors
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) beyond 1 to 60.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_from_1_to_60_and_20_by_default() {
        let interval = |rate| MessageRate::parse("maxRate", rate).map(MessageRate::interval);
        assert_eq!(interval(None), Ok(Duration::from_millis(50)));
        assert_eq!(interval(Some(1)), Ok(Duration::from_secs(1)));
        assert!(interval(Some(60)).is_ok());
        for refused in [i32::MIN, -1, 0, 61, i32::MAX] {
            let error = async_graphql::ServerError::from(interval(Some(refused)).unwrap_err());
            assert_eq!(error.message, format!("maxRate: 1 to 60 events per second, not {refused}"));
        }
    }
}
