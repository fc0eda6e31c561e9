//! Switching an edge on or off: the same steps for every kind.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::{DomainError, DomainResult, IdempotencyKey, Note, Plaudit, Reason, actions, keys::key_reused};
use crate::{
    catalogue::{EdgeKind, Flip, UnixMillis},
    primitives::{Id, NoteId, Offset, ShardId, UserId},
    store::{
        StoreError,
        redis::{FlipOutcome, FlipRequest, Redis},
    },
};

/// Tries before a request gives up on state that keeps moving.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(5);
/// One use in so many gives the actor's cached set a new lease of life: renewing costs a command.
const RENEW_ONE_IN: u32 = 16;

/// An edge to switch.
pub(super) struct EdgeAction<'a> {
    pub kind: EdgeKind,
    pub actor: UserId,
    pub target: Id,
    /// Author of the target; the target itself when it is a user.
    pub owner: UserId,
    pub on: bool,
    /// The most edges of this kind that may be on; 0 for no limit.
    pub limit: u32,
    pub key: Option<&'a IdempotencyKey>,
}

impl Plaudit {
    /// Switches the edge and waits until this instance has heard of it. Returns whether it changed.
    pub(super) async fn switch(&self, action: EdgeAction<'_>) -> DomainResult<bool> {
        let flip = Flip {
            kind: action.kind,
            actor: action.actor,
            target: action.target,
            owner: action.owner,
            on: action.on,
            at: now(),
        };
        let (changed, at) = self.flip(flip, &action).await?;
        if let Some(at) = at {
            self.hear_flip(&flip, at).await;
        }
        Ok(changed)
    }

    /// Switches an edge to a note that is there. Returns the note and whether anything changed.
    pub(super) async fn switch_to_note(
        &self,
        kind: EdgeKind,
        actor: UserId,
        note: NoteId,
        on: bool,
        key: Option<&IdempotencyKey>,
    ) -> DomainResult<(Arc<Note>, bool)> {
        let note = self.notes().get(note).await?;
        let (target, owner) = (note.id.0, note.author);
        let changed = self.switch(EdgeAction { kind, actor, target, owner, on, limit: 0, key }).await?;
        Ok((note, changed))
    }

    /// Runs the action script, giving it what it asks for.
    async fn flip(&self, flip: Flip, action: &EdgeAction<'_>) -> DomainResult<(bool, Option<Offset>)> {
        let memberships = &self.inner.memberships;
        let mut request = FlipRequest {
            flip,
            limit: action.limit,
            row: None,
            idempotency_key: action.key.map(IdempotencyKey::as_str),
            renew: (rand::random_range(0..RENEW_ONE_IN) == 0).then(Redis::set_life),
        };
        for attempt in 0..TRIES {
            if attempt > 2 {
                tokio::time::sleep(PAUSE).await;
            }
            match self.inner.redis.flip_edge(&request).await? {
                FlipOutcome::Done { changed, at, is_repeated } => {
                    if changed && !is_repeated {
                        actions::changed(actions::switching(flip.kind, flip.on));
                    }
                    return Ok((changed, at));
                }
                FlipOutcome::NeedsSet => memberships.load_set(flip.actor, flip.kind).await?,
                FlipOutcome::NeedsRow => {
                    request.row = memberships.row(flip.actor, flip.kind, flip.target).await?;
                }
                FlipOutcome::LimitReached => return Err(limit_reached(action)),
                FlipOutcome::KeyConflict => return Err(key_reused()),
            }
        }
        Err(StoreError::Contended { tries: TRIES }.into())
    }

    /// Waits (bounded) until the counters that the flip moves are heard of.
    async fn hear_flip(&self, flip: &Flip, at: Offset) {
        let shards = self.inner.redis.shards();
        let mut targets: Vec<ShardId> =
            flip.deltas().map(|(entity, _, _)| shards.shard_of(entity.id)).collect();
        targets.sort_unstable();
        targets.dedup();
        let source = shards.shard_of(flip.actor.0);
        self.hub().heard(source, at, &targets, self.inner.settings.reply_wait).await;
    }
}

fn limit_reached(action: &EdgeAction<'_>) -> DomainError {
    DomainError::BadInput {
        argument: "userId",
        message: format!(
            "you follow {} others already, which is the most; unfollow someone first",
            action.limit
        ),
        reason: Some(Reason::FollowLimit),
    }
}

pub(super) fn now() -> UnixMillis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as UnixMillis)
}
