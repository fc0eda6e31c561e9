//! What the root fields of subscriptions watch.

use std::time::Duration;

use crate::{
    catalogue::Entity,
    graphql::errors::{ApiError, ApiResult},
};

/// What a root field of a subscription watches, and how often at most it sends each object.
pub struct Watched {
    pub objects: WatchedObjects,
    pub rate: Rate,
}

pub enum WatchedObjects {
    Entities(Vec<Entity>),
    /// The inbox of a viewer who has no user yet: there is none before the viewer's first action.
    InboxToCome,
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
