//! Membership: "is this edge on?" from the pending flips and the cached sets.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::newest::{NEWEST, NEWEST_LIMIT, NewestEdges};
use crate::{
    StoreError, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        counts::counters::life_with_jitter,
        keys::{self, RedisKey},
        log::state::{self, LogState},
        members::waiting::{self, ACTIONS_WAIT, READS_WAIT},
        reply::{Reply, parse, script_reply},
        results::{InstallMembersResult, InvalidateMembersResult, ReadMembersResult, RetireMembersResult},
        scripts,
    },
};
use plaudit_catalogue::{
    EdgeKind, Flip,
    primitives::{
        Id, Offset, ShardId, UserId,
        fault::{self, Point},
    },
};

/// The most targets that are loaded into a set: the highest ids. An intset of them takes 41 kB.
pub const SET_CAP: usize = 5_000;
/// A set that is larger than this when a flip renews it is deleted. So it stays below `set-max-intset-entries 8192`,
/// and nearly always below 64 kB: Redis gets 57,344 bytes for an intset of up to 7,167 large ids, and 65,536 for the
/// next one.
pub(crate) const SET_LIMIT: usize = 7_000;
/// Edges that one script reads: Lua passes at most about 8,000 values to a command.
const READ_AT_ONCE: usize = 1_000;
/// Actors that one script retires, in about 1 ms: it bounds how long requests wait for the script.
const RETIRED_AT_ONCE: usize = 200;
const SET_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// State of one edge in Redis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Membership {
    On,
    Off,
    /// The set is not cached: load it.
    NoSet,
    /// The set has only higher ids: read this edge from PostgreSQL.
    BelowFloor,
}

/// Memberships of one actor, and the retired offset that a read from PostgreSQL must have reached.
#[derive(Debug)]
pub struct MembershipRead {
    /// The retired offset of the actor's shard: a read from PostgreSQL must not be older.
    pub retired: Offset,
    /// In the order of the edges.
    pub states: Vec<Membership>,
}

/// Reads many edges of one actor in one round trip, and renews sets. Waits up to [`READS_WAIT`] for a shard that is
/// not ready.
pub async fn read_membership(
    redis: &Redis,
    actor: UserId,
    edges: &[(EdgeKind, Id)],
    to_renew: &[EdgeKind],
) -> StoreResult<MembershipRead> {
    let read = || read_membership_once(redis, actor, edges, to_renew);
    waiting::when_ready(redis, redis.shard_of(actor.0), READS_WAIT, read).await
}

async fn read_membership_once(
    redis: &Redis,
    actor: UserId,
    edges: &[(EdgeKind, Id)],
    to_renew: &[EdgeKind],
) -> StoreResult<MembershipRead> {
    let shard = redis.shard_of(actor.0);
    let pages = edges.chunks(READ_AT_ONCE);
    let mut cmds: Vec<RedisCall> = pages.clone().map(|page| read_members(shard, actor, page)).collect();
    for kind in to_renew {
        let life = life_with_jitter(SET_LIFE);
        for key in [keys::edges(shard, *kind, actor), keys::floor(shard, *kind, actor)] {
            let mut cmd = RedisCall::new("PEXPIRE", &key);
            cmd.arg(life);
            cmds.push(cmd);
        }
    }
    let mut read = MembershipRead { retired: Offset::default(), states: Vec::with_capacity(edges.len()) };
    for (page, reply) in pages.zip(redis.pipeline(&cmds).await?) {
        let mut reply = script_reply(reply)?;
        let ReadMembersResult::Done = reply.result()?;
        let retired: String = reply.next()?;
        read.retired = read.retired.max(parse(&retired)?);
        read.states.extend(states_of(page, &reply.next::<String>()?)?);
    }
    Ok(read)
}

/// State of the shard, which the load of a set reads before PostgreSQL. Waits up to [`ACTIONS_WAIT`] for a
/// shard that is not ready.
pub async fn log_state(redis: &Redis, shard: ShardId) -> StoreResult<LogState> {
    waiting::when_ready(redis, shard, ACTIONS_WAIT, || state::log_state_now(redis, shard)).await
}

/// Caches edges that were read from PostgreSQL; `targets` are the highest ones, and `before` is the state before
/// that read. Returns `false` if the state has changed: load again. Waits as [`log_state`] does.
pub async fn install_members(
    redis: &Redis,
    actor: UserId,
    kind: EdgeKind,
    before: LogState,
    persisted: Offset,
    targets: &[Id],
    truncated: bool,
) -> StoreResult<bool> {
    let shard = redis.shard_of(actor.0);
    let mut cmd = scripts::INSTALL_MEMBERS.call(&[
        keys::meta(shard),
        keys::edges(shard, kind, actor),
        keys::floor(shard, kind, actor),
        keys::pending(shard, actor),
    ]);
    cmd.arg(before.generation)
        .arg(persisted.to_string())
        .arg(life_with_jitter(SET_LIFE))
        .arg(before.sets_invalidated);
    match targets.iter().min() {
        Some(lowest) if truncated => cmd.arg(lowest.get()),
        _ => cmd.arg(""),
    };
    cmd.arg(kind.name());
    for target in targets {
        cmd.arg(target.get());
    }
    let install = async || Reply::read(redis.command(&cmd).await?)?.result();
    Ok(match waiting::when_ready(redis, shard, ACTIONS_WAIT, install).await? {
        InstallMembersResult::Done => true,
        InstallMembersResult::Refused => false,
    })
}

/// Retires the flips of a persisted batch: removes them from the pending overlay, and records with the last
/// of them that all up to `to` are retired. Sets of flips that are `dead`, and so made no row, are
/// invalidated.
pub async fn retire_members(
    redis: &Redis,
    shard: ShardId,
    fence: u64,
    to: Offset,
    flips: &[(Flip, bool)],
) -> StoreResult<()> {
    let mut by_actor = BTreeMap::<UserId, RetiredFlips>::new();
    for (flip, dead) in flips {
        let retired = by_actor.entry(flip.actor).or_default();
        retired.flips.insert((flip.kind, flip.target));
        if *dead {
            retired.dead.insert(flip.kind);
        }
    }
    let actors: Vec<_> = by_actor.into_iter().collect();
    let pages: Vec<&[_]> =
        if actors.is_empty() { vec![&[]] } else { actors.chunks(RETIRED_AT_ONCE).collect() };
    let fault = fault::due(Point::AfterRetire);
    for (number, page) in pages.iter().enumerate() {
        let is_last = number + 1 == pages.len() && fault.is_none();
        let reply = redis.command(&retire_actors(shard, fence, to, page, is_last)).await?;
        let RetireMembersResult::Done = Reply::read(reply)?.result()?;
    }
    if let Some(fault) = fault {
        fault.strike()?;
    }
    Ok(())
}

/// Invalidates cached sets after a change of their rows that did not come from the log: first the loads that read
/// before it, then the sets. Requests wait while Redis deletes them, about 1 ms for 1,000 sets.
pub async fn invalidate_members(redis: &Redis, sets: &[(EdgeKind, UserId)]) -> StoreResult<()> {
    let mut copies = BTreeMap::<ShardId, Vec<RedisKey>>::new();
    for (kind, actor) in sets {
        let shard = redis.shard_of(actor.0);
        copies.entry(shard).or_default().extend(copies_of_rows(shard, *kind, *actor));
    }
    let invalidate = |shard: &ShardId| scripts::INVALIDATE_MEMBERS.call(&[keys::meta(*shard)]);
    let loads: Vec<RedisCall> = copies.keys().map(invalidate).collect();
    for reply in redis.pipeline(&loads).await? {
        let InvalidateMembersResult::Done = script_reply(reply)?.result()?;
    }
    let deletions: Vec<RedisCall> = copies.values().map(|keys| unlink(keys)).collect();
    for reply in redis.pipeline(&deletions).await? {
        reply?;
    }
    Ok(())
}

/// Lifetime of a set that is in use, with jitter.
pub fn set_life() -> Duration {
    Duration::from_millis(life_with_jitter(SET_LIFE))
}

/// Deletes keys of one shard.
fn unlink(keys: &[RedisKey]) -> RedisCall {
    let mut call = RedisCall::about(keys[0].shard, "UNLINK");
    for key in keys {
        call.arg(key);
    }
    call
}

/// An actor's flips in a batch.
#[derive(Default)]
struct RetiredFlips {
    flips: BTreeSet<(EdgeKind, Id)>,
    /// Kinds of flips that are dead, so they have no rows.
    dead: BTreeSet<EdgeKind>,
}

impl RetiredFlips {
    /// The newest edges of each kind of the flips of which they are kept, in their order.
    fn lists(&self, shard: ShardId, actor: UserId) -> impl Iterator<Item = RedisKey> {
        let kinds: BTreeSet<EdgeKind> = self.flips.iter().map(|(kind, _)| *kind).collect();
        let kept = kinds.into_iter().filter(|kind| NewestEdges::are_kept(*kind));
        kept.map(move |kind| keys::newest(shard, kind, actor))
    }
}

/// What is kept of the rows of an actor's edges, but for the floor: without its set it means nothing.
fn copies_of_rows(shard: ShardId, kind: EdgeKind, actor: UserId) -> impl Iterator<Item = RedisKey> {
    let newest = NewestEdges::are_kept(kind).then(|| keys::newest(shard, kind, actor));
    std::iter::once(keys::edges(shard, kind, actor)).chain(newest)
}

/// The kinds of these edges, each once, in the order of the catalogue.
fn kinds_of(edges: &[(EdgeKind, Id)]) -> impl Iterator<Item = EdgeKind> {
    let kinds = EdgeKind::ALL.iter().copied();
    kinds.filter(|wanted| edges.iter().any(|(kind, _)| kind == wanted))
}

fn read_members(shard: ShardId, actor: UserId, edges: &[(EdgeKind, Id)]) -> RedisCall {
    let mut touched = vec![keys::meta(shard), keys::pending(shard, actor)];
    for kind in kinds_of(edges) {
        touched.push(keys::edges(shard, kind, actor));
        touched.push(keys::floor(shard, kind, actor));
    }
    let mut cmd = scripts::READ_MEMBERS.call(&touched);
    for kind in kinds_of(edges) {
        let targets = edges.iter().filter(|(of, _)| *of == kind).map(|(_, target)| target.get());
        cmd.arg(kind.name()).arg(targets.clone().count());
        for target in targets {
            cmd.arg(target);
        }
    }
    cmd
}

/// The states in the order of the edges, from those that the script returned, kind by kind.
fn states_of(edges: &[(EdgeKind, Id)], by_kind: &str) -> StoreResult<Vec<Membership>> {
    let mut states = vec![Membership::NoSet; edges.len()];
    let mut read = by_kind.bytes();
    for wanted in kinds_of(edges) {
        for ((_, state), byte) in
            edges.iter().zip(&mut states).filter(|((kind, _), _)| *kind == wanted).zip(&mut read)
        {
            *state = state_of(byte)?;
        }
    }
    Ok(states)
}

fn state_of(byte: u8) -> StoreResult<Membership> {
    match byte {
        b'1' => Ok(Membership::On),
        b'0' => Ok(Membership::Off),
        b's' => Ok(Membership::NoSet),
        b'r' => Ok(Membership::BelowFloor),
        _ => Err(StoreError::Unexpected(format!("the state {byte:?} of an edge"))),
    }
}

fn retire_actors(
    shard: ShardId,
    fence: u64,
    to: Offset,
    actors: &[(UserId, RetiredFlips)],
    is_last: bool,
) -> RedisCall {
    let mut touched = vec![keys::meta(shard)];
    touched.extend(actors.iter().map(|(actor, _)| keys::pending(shard, *actor)));
    let lists: Vec<RedisKey> =
        actors.iter().flat_map(|(actor, retired)| retired.lists(shard, *actor)).collect();
    touched.extend(lists.iter().cloned());
    let dead = actors.iter().flat_map(|(actor, retired)| retired.dead.iter().map(|kind| (*actor, *kind)));
    for (actor, kind) in dead {
        touched.extend(copies_of_rows(shard, kind, actor));
    }
    let mut cmd = scripts::RETIRE_MEMBERS.call(&touched);
    cmd.arg(shard.0).arg(fence).arg(to.to_string()).arg(actors.len()).arg(lists.len());
    let listed = EdgeKind::ALL.iter().filter(|kind| NewestEdges::are_kept(**kind)).map(|kind| kind.name());
    cmd.arg(NEWEST_LIMIT).arg(NEWEST).arg(listed.collect::<Vec<_>>().join(" ")).arg(u8::from(is_last));
    for (_, retired) in actors {
        cmd.arg(retired.flips.len());
        for (kind, target) in &retired.flips {
            cmd.arg(keys::pending_field(*kind, target));
        }
    }
    cmd
}
