//! An event of the stream, as a transaction collects it.

use crate::{
    catalogue::{EventKind, UnixMillis},
    primitives::{Id, UserId},
};

/// An event to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewEvent {
    pub kind: EventKind,
    pub at: UnixMillis,
    /// `None` if nobody did it.
    pub actor: Option<UserId>,
    pub target: Id,
    /// Whose inbox it is, of a notice.
    pub recipient: Option<UserId>,
    /// How many events a notice stands for; 1 for others.
    pub number: i32,
    /// Of an erasure.
    pub subject: Option<String>,
}

impl NewEvent {
    /// Something that `actor` does now.
    pub fn now(kind: EventKind, actor: Option<UserId>, target: Id) -> Self {
        let at = crate::primitives::now();
        Self { kind, at, actor, target, recipient: None, number: 1, subject: None }
    }

    /// An entry of an inbox.
    pub fn with_recipient(self, recipient: UserId) -> Self {
        Self { recipient: Some(recipient), ..self }
    }
}
