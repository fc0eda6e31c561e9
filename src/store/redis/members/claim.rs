//! Idempotency keys of actions that are not flips; a flip's own script handles its key.

use crate::{
    KEY_LIFE, StoreResult, UNCHANGED_KEY_LIFE,
    redis::{
        Redis,
        call::RedisCall,
        keys,
        members::waiting::{self, ACTIONS_WAIT},
        reply::Reply,
        results::ClaimKeyResult,
        scripts,
    },
};
use plaudit_catalogue::primitives::UserId;

/// State of a client's key when an action claims it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyClaim {
    /// The key was new, and now belongs to this action.
    Fresh,
    /// The key already belongs to this action.
    Again,
    /// The key belongs to another action.
    Conflict,
}

/// Claims an actor's key for an operation, any text that identifies the action.
/// After a connection error the key may have been claimed; a repetition then returns [`KeyClaim::Again`]. Waits up
/// to [`ACTIONS_WAIT`] for a shard that is not ready.
pub async fn claim_key(redis: &Redis, actor: UserId, key: &str, operation: &str) -> StoreResult<KeyClaim> {
    let claim = || claim_key_once(redis, actor, key, operation);
    waiting::when_ready(redis, redis.shard_of(actor.0), ACTIONS_WAIT, claim).await
}

async fn claim_key_once(redis: &Redis, actor: UserId, key: &str, operation: &str) -> StoreResult<KeyClaim> {
    let shard = redis.shard_of(actor.0);
    let mut cmd = scripts::CLAIM_KEY.call(&[keys::meta(shard), keys::idempotency(shard, actor, key)]);
    cmd.arg(operation).arg(format!("1 - {operation}")).arg(KEY_LIFE.as_millis() as u64);
    Ok(match Reply::read(redis.command(&cmd).await?)?.result()? {
        ClaimKeyResult::Fresh => KeyClaim::Fresh,
        ClaimKeyResult::Again => KeyClaim::Again,
        ClaimKeyResult::Conflict => KeyClaim::Conflict,
    })
}

/// Keeps a claimed key for [`UNCHANGED_KEY_LIFE`] at most: its action has changed nothing.
pub async fn shorten_key(redis: &Redis, actor: UserId, key: &str) -> StoreResult<()> {
    let mut cmd = RedisCall::new("PEXPIRE", &keys::idempotency(redis.shard_of(actor.0), actor, key));
    cmd.arg(UNCHANGED_KEY_LIFE.as_millis() as u64).arg("LT");
    redis.command(&cmd).await.map(drop)
}
