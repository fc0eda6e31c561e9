//! Edges: switching one on or off through the event log, by the same steps for every kind.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::future::{Either, select};
use tokio::time::{Instant, timeout_at};

use crate::{
    DomainError, DomainResult, Durability, IdempotencyKey, Note, Plaudit, Reason, actions, content::notes,
    entity_cache::Cached, keys::key_reused,
};
use plaudit_catalogue::{
    EdgeKind, Entity, Flip,
    primitives::{Id, NoteId, Offset, ShardId, UserId, now},
};
use plaudit_counting::hub::Heard;
use plaudit_store::{
    StoreError,
    redis::{
        FlipOutcome, FlipRequest,
        log::reading,
        members::{flip, sets},
    },
};

/// Attempts before a request gives up because the state keeps changing.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(5);
/// Besides the first of half a day, one flip in this many renews the expiry of the actor's cached set, and checks its
/// size: renewing costs a command.
const RENEW_ONE_IN: u32 = 16;

/// What a switch of an edge has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switched {
    /// False if the edge was in that state already.
    pub changed: bool,
    pub durability: Durability,
}

/// Who switches an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Actor {
    pub user: UserId,
    /// The service that acts for the user.
    pub by: Option<UserId>,
}

/// With a token of their own.
impl From<UserId> for Actor {
    fn from(user: UserId) -> Self {
        Self { user, by: None }
    }
}

/// What is asked for: an edge to something is switched.
#[derive(Clone, Copy, Debug)]
pub struct Switching<'a> {
    /// `None`: somebody without a user, who has nothing to switch off.
    pub actor: Option<Actor>,
    pub on: bool,
    pub key: Option<&'a IdempotencyKey>,
    /// The answer shows counts of the target: they are loaded while the switch waits.
    pub shows_counts: bool,
}

/// A switch of an edge to a target that exists.
pub(crate) struct EdgeAction<'a> {
    pub kind: EdgeKind,
    pub target: Id,
    /// Author of the target; the target itself if it is a user.
    pub owner: UserId,
    /// Most edges of this kind that may be on; 0 for no limit.
    pub limit: u32,
    pub switching: Switching<'a>,
}

/// What the script has done.
struct Flipped {
    changed: bool,
    /// Its event, or the event of the pending flip that made the state.
    at: Option<Offset>,
    is_on_disk: bool,
    /// The replication id of the Redis that has done it.
    replication_id: String,
}

/// Switches the edge and waits (bounded) until this instance has its counts.
pub(crate) async fn switch(plaudit: &Plaudit, action: EdgeAction<'_>) -> DomainResult<Switched> {
    let target = [Entity::new(action.kind.target(), action.target)];
    if !action.switching.shows_counts || plaudit.hub().cached(target[0]).is_some() {
        return switch_and_wait(plaudit, action).await;
    }
    // The answer asks for these counts again: it finds them, joins the load, or reports why it failed.
    let (switch, load) = (pin!(switch_and_wait(plaudit, action)), pin!(plaudit.hub().counts(&target)));
    match select(switch, load).await {
        Either::Left((switched, _)) => switched,
        Either::Right((_, switch)) => switch.await,
    }
}

async fn switch_and_wait(plaudit: &Plaudit, action: EdgeAction<'_>) -> DomainResult<Switched> {
    let EdgeAction { kind, target, owner, switching: Switching { actor, on, .. }, .. } = action;
    let unchanged = Switched { changed: false, durability: Durability::Database };
    let Some(Actor { user, by }) = actor else { return Ok(unchanged) };
    let flip = Flip { kind, actor: user, target, owner, on, at: now(), by };
    let Flipped { changed, at, is_on_disk, replication_id } = self::flip(plaudit, flip, &action).await?;
    // Without a pending flip, the state of the edge is in PostgreSQL: a flip is retired after it is persisted.
    let Some(at) = at else { return Ok(Switched { changed, ..unchanged }) };
    let until = Instant::now() + plaudit.inner.settings.reply_wait;
    let heard = wait_for_flip(plaudit, &flip, at, &replication_id, until).await;
    let durability = if is_replicated(plaudit, flip.actor, &replication_id, heard, until).await? {
        Durability::Replicated
    } else if is_on_disk {
        Durability::Disk
    } else {
        Durability::Memory
    };
    Ok(Switched { changed, durability })
}

/// Whether replicas have the flip that the Redis with this replication id has. A message said so; if it named
/// another id, or was missed, the replicas are asked.
///
/// # Errors
/// With `redis_replicas`, if they are not known to have it: the Redis may have been replaced before.
async fn is_replicated(
    plaudit: &Plaudit,
    actor: UserId,
    replication_id: &str,
    heard: Heard,
    until: Instant,
) -> DomainResult<bool> {
    let (redis, replicas) = (&plaudit.inner.redis, plaudit.inner.settings.redis_replicas);
    if heard == Heard::Replicated || replicas == 0 {
        return Ok(heard == Heard::Replicated);
    }
    if heard == Heard::Folded {
        let asking = reading::wait_for_replicas(redis, redis.shard_of(actor.0), replicas);
        if let Ok(confirmed_in) = timeout_at(until, asking).await
            && *confirmed_in? == *replication_id
        {
            return Ok(true);
        }
    }
    Err(StoreError::NotReplicated.into())
}

/// Switches an edge to an existing note. Returns the note and what has changed.
pub(crate) async fn switch_to_note(
    plaudit: &Plaudit,
    kind: EdgeKind,
    note: NoteId,
    switching: Switching<'_>,
) -> DomainResult<(Cached<Arc<Note>>, Switched)> {
    let note = notes::record_for(plaudit, switching.actor.map(|actor| actor.user), note).await?;
    let (target, owner) = (note.record().id.0, note.record().author);
    let switched = switch(plaudit, EdgeAction { kind, target, owner, limit: 0, switching }).await?;
    Ok((note, switched))
}

/// Runs the script `flip_edge`, and loads the set or row that it asks for.
async fn flip(plaudit: &Plaudit, flip: Flip, action: &EdgeAction<'_>) -> DomainResult<Flipped> {
    let memberships = &plaudit.inner.memberships;
    let mut request = FlipRequest {
        flip,
        limit: action.limit,
        row: None,
        idempotency_key: action.switching.key.map(IdempotencyKey::as_str),
        records_off: plaudit.inner.settings.record_every_off,
        renew: (memberships.must_renew(flip.actor, flip.kind) || rand::random_range(0..RENEW_ONE_IN) == 0)
            .then(sets::set_life),
    };
    for attempt in 0..ATTEMPTS {
        if attempt > 2 {
            tokio::time::sleep(PAUSE).await;
        }
        match flip::flip_edge(&plaudit.inner.redis, &request).await? {
            FlipOutcome::Done { changed, at, is_repeated, is_on_disk, replication_id } => {
                if changed && !is_repeated {
                    actions::changed(actions::switching(flip.kind, flip.on));
                }
                return Ok(Flipped { changed, at, is_on_disk, replication_id });
            }
            FlipOutcome::NeedsSet => memberships.load_set(flip.actor, flip.kind).await?,
            FlipOutcome::NeedsRow => {
                request.row = memberships.row(flip.actor, flip.kind, flip.target).await?;
            }
            FlipOutcome::LimitReached => return Err(limit_reached(action)),
            FlipOutcome::KeyConflict => return Err(key_reused()),
        }
    }
    Err(StoreError::Contended { tries: ATTEMPTS }.into())
}

/// Waits until this instance has received the counters that the flip moves.
async fn wait_for_flip(
    plaudit: &Plaudit,
    flip: &Flip,
    at: Offset,
    replication_id: &str,
    until: Instant,
) -> Heard {
    let shards = plaudit.inner.redis.shards();
    let mut targets: Vec<ShardId> = flip.deltas().map(|(entity, _, _)| shards.shard_of(entity.id)).collect();
    targets.sort_unstable();
    targets.dedup();
    let source = shards.shard_of(flip.actor.0);
    plaudit.hub().wait_until_folded(source, at, replication_id, &targets, until).await
}

fn limit_reached(action: &EdgeAction<'_>) -> DomainError {
    DomainError::BadInput {
        argument: "userId",
        message: format!("you already follow {} users, the maximum; unfollow one first", action.limit),
        reason: Some(Reason::FollowLimit),
    }
}
