//! Idempotency keys: an action repeated with the same key within 24 hours returns the first result.
//!
//! The key of an edge is stored in Redis, by the script `flip_edge`; the key of any other action in PostgreSQL, in
//! the action's transaction. Such an action first claims its key in Redis too, so that one key never belongs to
//! an edge and another action.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{DomainError, DomainResult, Plaudit, Reason};
use plaudit_catalogue::primitives::UserId;
use plaudit_store::redis::{KeyClaim, members::claim};

/// A client's key for one action; 1 to 64 bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    const MAX_BYTES: usize = 64;

    /// # Errors
    /// [`DomainError::BadInput`] for a key that is empty, too long, or contains a NUL character.
    pub fn parse(text: String) -> DomainResult<Self> {
        if !(1..=Self::MAX_BYTES).contains(&text.len()) {
            let message =
                format!("an idempotency key must have 1 to {} bytes; it has {}", Self::MAX_BYTES, text.len());
            return Err(DomainError::bad_input("idempotencyKey", message));
        }
        if text.contains('\0') {
            let message = "an idempotency key must not contain a NUL character";
            return Err(DomainError::bad_input("idempotencyKey", message));
        }
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key under which an action of `by` that switches another user's edge is kept among that user's keys. Clients
    /// cannot send such a key.
    pub(super) fn of_other(&self, by: UserId) -> Self {
        Self(format!("{by}\0{}", self.0))
    }
}

/// An action and a digest of its arguments, for which a key is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionCall {
    action: &'static str,
    text: String,
}

impl ActionCall {
    /// Arguments may be long, so only a digest of them is stored.
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

/// Claims a key for an action, so that it cannot be used for another one. Returns whether it is new.
///
/// # Errors
/// [`DomainError::BadInput`] with [`Reason::KeyReused`] if it was used for another action.
pub(super) async fn claim_key(
    plaudit: &Plaudit,
    actor: UserId,
    key: &IdempotencyKey,
    call: &ActionCall,
) -> DomainResult<bool> {
    match claim::claim_key(&plaudit.inner.redis, actor, key.as_str(), call.as_str()).await? {
        KeyClaim::Fresh => Ok(true),
        KeyClaim::Again => Ok(false),
        KeyClaim::Conflict => Err(key_reused()),
    }
}

pub(super) fn key_reused() -> DomainError {
    DomainError::BadInput {
        argument: "idempotencyKey",
        message: "this idempotency key was used for a different action in the last 24 hours; use a new one"
            .into(),
        reason: Some(Reason::KeyReused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_equal_if_action_and_arguments_are() {
        let one = ActionCall::new("createNote", &("a", "b"));
        assert_eq!(one, ActionCall::new("createNote", &("a", "b")));
        assert_ne!(one, ActionCall::new("createNote", &("ab", "")));
        assert_ne!(one, ActionCall::new("createGroup", &("a", "b")));
    }
}
