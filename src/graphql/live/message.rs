//! Messages: executed and encoded as JSON.

use async_graphql::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::{signals::Signal, topic::Since};
use crate::{definition::watch::ListPosition, errors::ApiError};
use plaudit_domain::Work;

/// One message, executed and encoded as JSON.
pub struct EncodedMessage {
    pub bytes: Bytes,
    /// Without errors.
    pub is_whole: bool,
    /// Of a list: where members are once they have received it.
    pub position: Option<ListPosition>,
    pub followed_by: FollowedBy,
}

/// What comes after a message.
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

/// What came of executing a message.
pub struct ExecutedMessage {
    /// `None` if there is nothing new, or if the store is away that has it.
    pub message: Option<EncodedMessage>,
    pub next: Next,
    pub work: Work,
}

/// When to look for the next message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Next {
    /// At the next signal.
    #[default]
    AtSignal,
    /// Soon: there are changes that cannot be read yet.
    Soon,
    /// Soon, also for those that asked for this message: it could not be read.
    AgainSoon,
}

impl EncodedMessage {
    /// The message with an error in place of its data.
    #[must_use]
    pub fn failed(self, error: ApiError) -> Self {
        let response = Response::from_errors(vec![error.into()]);
        let bytes = serde_json::to_vec(&response).unwrap_or_default().into();
        Self { bytes, is_whole: false, ..self }
    }
}

/// Executes a message of a topic at a signal, for members that have the same.
pub type ExecuteMessage = Box<dyn Fn(Signal, Since) -> BoxFuture<'static, ExecutedMessage> + Send + Sync>;
