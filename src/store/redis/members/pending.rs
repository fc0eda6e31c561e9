//! An actor's pending flips: lists apply them to the rows of PostgreSQL.

use std::collections::{HashMap, HashSet};

use redis::Value;

use super::newest::{NewestEdges, newest_edges};
use crate::{
    StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        counts::counters,
        keys,
        log::state::{LogState, generation_and_retired, log_state},
        reply::{read, script_reply},
    },
};
use plaudit_catalogue::{
    EdgeKind, UnixMillis,
    primitives::{Id, Offset, UserId},
};

/// The latest pending flip of one edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingFlip {
    pub target: Id,
    pub is_on: bool,
    pub at: UnixMillis,
}

/// An actor's pending flips of one kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pending {
    pub flips: Vec<PendingFlip>,
    /// State of the shard's log: a read of rows from PostgreSQL must not be older than what is retired.
    pub state: LogState,
}

/// Pending flips, and the newest edges if they are kept. One round trip.
pub async fn pending_flips(
    redis: &Redis,
    actor: UserId,
    kind: EdgeKind,
) -> StoreResult<(Pending, Option<NewestEdges>)> {
    let shard = redis.shard_of(actor.0);
    // What is retired after the read of the pending flips, and before the read of the newest edges, is in both.
    let mut cmds = vec![counters::read_meta(shard), pending(redis, actor)];
    if NewestEdges::are_kept(kind) {
        let mut newest = RedisCall::new("ZREVRANGE", &keys::newest(shard, kind, actor));
        newest.arg(0).arg(-1).arg("WITHSCORES");
        cmds.push(newest);
    }
    let mut replies = redis.pipeline(&cmds).await?.into_iter();
    let mut next = || replies.next().unwrap_or(Ok(Value::Array(Vec::new())));
    let state = log_state(script_reply(next())?)?;
    let fields: HashMap<String, String> = read(next()?)?;
    let newest = newest_edges(&read::<Vec<(i64, f64)>>(next()?)?, state.generation);
    Ok((Pending { flips: flips_of(kind, state.generation, &fields), state }, newest))
}

/// All targets of the actor's edges that are on, in one round trip; `None` if no complete set is cached: load it.
pub async fn all_targets(redis: &Redis, actor: UserId, kind: EdgeKind) -> StoreResult<Option<HashSet<Id>>> {
    let shard = redis.shard_of(actor.0);
    let set = RedisCall::new("SMEMBERS", &keys::edges(shard, kind, actor));
    let replies = redis.pipeline(&[counters::read_meta(shard), set]).await?;
    let mut replies = replies.into_iter();
    let mut next = || replies.next().unwrap_or(Ok(Value::Nil));
    let (generation, _) = generation_and_retired(script_reply(next())?)?;
    let members: HashSet<i64> = read(next()?)?;
    let is_complete = members.contains(&(-2 * generation as i64));
    Ok(is_complete.then(|| members.into_iter().filter_map(|id| Id::try_from(id).ok()).collect()))
}

fn pending(redis: &Redis, actor: UserId) -> RedisCall {
    RedisCall::new("HGETALL", &keys::pending(redis.shard_of(actor.0), actor))
}

fn flips_of(kind: EdgeKind, generation: u64, fields: &HashMap<String, String>) -> Vec<PendingFlip> {
    let flip = |(field, text): (&String, &String)| {
        let (name, target) = field.split_once(':')?;
        let (is_on, at) = read_flip(text, generation)?;
        (name == kind.name()).then_some(PendingFlip { target: target.parse().ok()?, is_on, at })
    };
    fields.iter().filter_map(flip).collect()
}

/// State and time of a pair's pending flip, from its text `1:7-42:1763700000000`: state, offset and time. `None`
/// for a flip of another generation, which SQL has.
pub(crate) fn read_flip(text: &str, generation: u64) -> Option<(bool, UnixMillis)> {
    let mut parts = text.split(':');
    let is_on = parts.next()? == "1";
    let offset: Offset = parts.next()?.parse().ok()?;
    let at = parts.next()?.parse().ok()?;
    (offset.generation == generation).then_some((is_on, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_flip_counts_only_in_its_own_generation_and_kind() {
        let fields = HashMap::from(
            [("note_like:5", "1:7-42:1000"), ("note_like:6", "0:6-9:900"), ("follow:5", "1:7-43:1001")]
                .map(|(field, text)| (field.to_owned(), text.to_owned())),
        );
        let five = "5".parse().unwrap();
        let expected = [PendingFlip { target: five, is_on: true, at: 1000 }];
        assert_eq!(flips_of(EdgeKind::NoteLike, 7, &fields), expected);
        assert_eq!(read_flip("0:7-42:1000", 7), Some((false, 1000)));
        assert_eq!(read_flip("0:7-42:1000", 8), None);
    }
}
