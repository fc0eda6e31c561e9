//! Idempotency keys of actions that are not flips; a flip's own script handles its key.

use super::{connection::Redis, keys, reply::Reply, scripts};
use crate::{
    primitives::UserId,
    store::{KEY_LIFE, StoreResult},
};

/// What a client's key says of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyClaim {
    /// The key is new, and stands for the action from now on.
    Fresh,
    /// It stands for this action already.
    Again,
    /// It stands for another action.
    Conflict,
}

impl Redis {
    /// Claims an actor's key for an operation, which is any text that tells the action from all others.
    /// After an error of the connection the key may have been claimed: then it is [`KeyClaim::Again`].
    pub async fn claim_key(&self, actor: UserId, key: &str, operation: &str) -> StoreResult<KeyClaim> {
        let shard = self.shard_of(actor.0);
        let mut cmd = scripts::CLAIM_KEY.call(&[keys::idempotency(shard, actor, key)]);
        cmd.arg(operation).arg(format!("1 - {operation}")).arg(KEY_LIFE.as_millis() as u64);
        let reply = Reply::read(self.command(&cmd).await?)?;
        match reply.code.as_str() {
            "fresh" => Ok(KeyClaim::Fresh),
            "again" => Ok(KeyClaim::Again),
            "conflict" => Ok(KeyClaim::Conflict),
            _ => Err(reply.into_error()),
        }
    }
}
