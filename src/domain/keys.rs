//! Idempotency keys: the same key within 24 hours gives the first result again, whatever way the action goes.
//!
//! A key of an edge stands in Redis, written by the action script; a key of anything else in PostgreSQL, in
//! the transaction of the action. So that one key cannot stand for two things, the latter is claimed in
//! Redis too, before the transaction.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{DomainError, DomainResult, Plaudit, Reason};
use crate::{primitives::UserId, store::redis::KeyClaim};

/// A client's key for one action; at most 64 bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    const MAX_BYTES: usize = 64;

    /// # Errors
    /// [`DomainError::BadInput`] for an empty or too long key, and for one with a NUL character.
    pub fn parse(text: String) -> DomainResult<Self> {
        if !(1..=Self::MAX_BYTES).contains(&text.len()) {
            let message =
                format!("an idempotency key has 1 to {} bytes, not {}", Self::MAX_BYTES, text.len());
            return Err(DomainError::bad_input("idempotencyKey", message));
        }
        if text.contains('\0') {
            let message = "an idempotency key has no NUL character";
            return Err(DomainError::bad_input("idempotencyKey", message));
        }
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a key stands for: an action and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    action: &'static str,
    text: String,
}

impl Operation {
    /// Arguments may be long, so only a digest of them is kept.
    pub fn new(action: &'static str, arguments: &impl Serialize) -> Self {
        let arguments = serde_json::to_vec(arguments).unwrap_or_default();
        let digest: String = Sha256::digest(arguments).iter().take(16).map(|b| format!("{b:02x}")).collect();
        Self { action, text: format!("{action} {digest}") }
    }

    pub const fn action(&self) -> &'static str {
        self.action
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Plaudit {
    /// Keeps a key for an operation, so that it cannot stand for another one. Returns whether it is new.
    ///
    /// # Errors
    /// [`DomainError::BadInput`] with [`Reason::KeyReused`] when it stands for another one.
    pub(super) async fn claim_key(
        &self,
        actor: UserId,
        key: &IdempotencyKey,
        operation: &Operation,
    ) -> DomainResult<bool> {
        match self.inner.redis.claim_key(actor, key.as_str(), operation.as_str()).await? {
            KeyClaim::Fresh => Ok(true),
            KeyClaim::Again => Ok(false),
            KeyClaim::Conflict => Err(key_reused()),
        }
    }
}

pub(super) fn key_reused() -> DomainError {
    DomainError::BadInput {
        argument: "idempotencyKey",
        message: "this idempotency key was used for something else in the last 24 hours; use a new one"
            .into(),
        reason: Some(Reason::KeyReused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_its_action_and_its_arguments() {
        let one = Operation::new("createNote", &("a", "b"));
        assert_eq!(one, Operation::new("createNote", &("a", "b")));
        assert_ne!(one, Operation::new("createNote", &("ab", "")));
        assert_ne!(one, Operation::new("createGroup", &("a", "b")));
    }
}
