//! Events: executed and encoded as JSON.

use async_graphql::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::{signals::Signal, topic::Since};
use crate::{definition::watch::ListPosition, errors::ApiError};
use plaudit_domain::Work;

/// One event, executed and encoded as JSON.
pub struct EncodedEvent {
    pub bytes: Bytes,
    /// Without errors.
    pub is_whole: bool,
    /// Of a list: where members are once they have received it.
    pub position: Option<ListPosition>,
    pub followed_by: FollowedBy,
}

/// What comes after an event.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FollowedBy {
    /// What changes later.
    #[default]
    Changes,
    /// The next page of a list, as soon as this one was taken.
    NextPage,
    /// Nothing: the subscription ends.
    Nothing,
}

/// What came of executing an event.
pub struct ExecutedEvent {
    /// `None` if there is nothing new, or if the store is away that has it.
    pub event: Option<EncodedEvent>,
    pub next: Next,
    pub work: Work,
}

/// When to look for the next event.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Next {
    /// At the next signal.
    #[default]
    AtSignal,
    /// Soon: there are changes that cannot be read yet.
    Soon,
    /// Soon, also for those that asked for this event: it could not be read.
    AgainSoon,
}

impl EncodedEvent {
    /// The event with an error in place of its data.
    #[must_use]
    pub fn failed(self, error: ApiError) -> Self {
        let response = Response::from_errors(vec![error.into()]);
        let bytes = serde_json::to_vec(&response).unwrap_or_default().into();
        Self { bytes, is_whole: false, ..self }
    }
}

/// Executes an event of a topic at a signal, for members that have the same.
pub type ExecuteEvent = Box<dyn Fn(Signal, Since) -> BoxFuture<'static, ExecutedEvent> + Send + Sync>;
