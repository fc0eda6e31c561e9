//! Whether the Redis that has a shard now has all that the one had in which it was verified. Only that one
//! knows: it is asked, and must say that it has given everything to the present one, and has changed nothing
//! since; and the present one must say that it has got everything. So it is after a planned failover, and after
//! an atomic move of the slot.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::{
    cluster,
    deployment::Address,
    identity::{RedisIdentity, Verified},
    link::{CONNECT_TIMEOUT, within},
    moves::{self, LastMove, MoveState, SlotMove},
    node::Node,
};
use crate::{
    StoreError, StoreResult,
    redis::{Redis, nodes::identity, tags},
};
use plaudit_catalogue::primitives::{
    ShardId,
    fault::{self, Point},
};

/// How long the former Redis is given to answer: until it follows the promoted one, or has heard who has the slot.
const TELLS_WITHIN: Duration = Duration::from_millis(750);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(25);

/// What is known of the handover by now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handover {
    /// The present Redis has everything.
    Whole,
    /// That will never be known, or it lacks something.
    Unproven,
    /// The former Redis does not answer, or not yet for good.
    Open,
}

/// Whether the Redis that has the shard now, with `identity`, has all that the one had in which it was
/// `verified`. Boxed: it is rarely needed.
pub fn has_all_of<'a>(
    redis: &'a Redis,
    shard: ShardId,
    identity: &'a RedisIdentity,
    verified: Verified<'a>,
) -> BoxFuture<'a, StoreResult<bool>> {
    Box::pin(async move {
        let began = Instant::now();
        while began.elapsed() < TELLS_WITHIN {
            // A promoted replica has the former id as its second one; a node that took a slot has another one.
            let handover = if identity.continued(verified.id) {
                by_failover(redis, shard, identity, &verified).await?
            } else {
                by_move(redis, shard, identity, &verified).await?
            };
            fault::reached(Point::DuringHandover)?;
            match handover {
                Handover::Whole => return Ok(true),
                Handover::Unproven => return Ok(false),
                Handover::Open => tokio::time::sleep(ASK_AGAIN_AFTER).await,
            }
        }
        Ok(false)
    })
}

/// The present Redis was promoted: the former one must follow it by now, or soon.
async fn by_failover(
    redis: &Redis,
    shard: ShardId,
    identity: &RedisIdentity,
    verified: &Verified<'_>,
) -> StoreResult<Handover> {
    let followers = followers(redis, &identity::info(redis, shard).await?).await;
    Ok(match followers.iter().find(|follower| follower.run_id == verified.run_id) {
        Some(former) if identity.has_all_of(former) => Handover::Whole,
        // It follows, and may have had more than the promoted one: then that is lost.
        Some(_) => Handover::Unproven,
        // It may still be on its way to follow, or it is dead, and then nobody knows.
        None => Handover::Open,
    })
}

/// The replicas that a master names and that answer.
async fn followers(redis: &Redis, info: &str) -> Vec<RedisIdentity> {
    let mut followers = Vec::new();
    for address in info.lines().filter_map(follower) {
        let asked = async { RedisIdentity::of(&mut node_at(redis, &address)?.dedicated().await?).await };
        if let Ok(identity) = within(CONNECT_TIMEOUT, asked).await {
            followers.push(identity);
        }
    }
    followers
}

/// The shard's slot has moved in a cluster: the present node must have taken all of it, and the former one
/// must still have the id under which the shard was verified, and must have given the slot away since.
async fn by_move(
    redis: &Redis,
    shard: ShardId,
    identity: &RedisIdentity,
    verified: &Verified<'_>,
) -> StoreResult<Handover> {
    let last = verified.seen.as_ref().filter(|_| redis.nodes().is_cluster());
    let Some(last) = last else { return Ok(Handover::Unproven) };
    match within(CONNECT_TIMEOUT, words_of_both(redis, shard, identity, verified, last)).await {
        Err(error) if error.is_silence() || matches!(error, StoreError::RedisMoved(_)) => Ok(Handover::Open),
        // This Redis knows no atomic moves.
        Err(error) => {
            tracing::debug!(shard = shard.0, %error, "cannot ask how the slot has moved");
            Ok(Handover::Unproven)
        }
        handover => handover,
    }
}

async fn words_of_both(
    redis: &Redis,
    shard: ShardId,
    identity: &RedisIdentity,
    verified: &Verified<'_>,
    last: &LastMove,
) -> StoreResult<Handover> {
    let slot = tags::slot(shard);
    let node = redis.node_of(shard).await?;
    let mut present = node.dedicated().await?;
    // The present node first: it names the node that it has the slot from.
    let taken = moves::newest_of(&mut present, slot).await?.filter(SlotMove::is_taken);
    // A failover in between would make this another node than the one that is to be verified.
    let is_same = RedisIdentity::of(&mut present).await? == *identity;
    let Some(taken) = taken.filter(|_| is_same) else { return Ok(Handover::Unproven) };
    let Some(source) = cluster::address_of(&node, taken.source()).await? else {
        return Ok(Handover::Unproven);
    };

    let mut former = node_at(redis, &source)?.dedicated().await?;
    let given = moves::newest_of(&mut former, slot).await?.filter(|given| given.is_export_of(&taken));
    // A move that was known at the verification proves nothing: the slot has come back since, and from others.
    let Some(given) = given.filter(|given| last.is_before(given)) else {
        return Ok(Handover::Unproven);
    };
    // Read last: it has had this id until now.
    if !RedisIdentity::of(&mut former).await?.is_of(verified) {
        return Ok(Handover::Unproven);
    }
    Ok(match given.state() {
        MoveState::Running => Handover::Open,
        MoveState::Succeeded => Handover::Whole,
        MoveState::Failed => Handover::Unproven,
    })
}

/// The newest move of the shard's slot that its node knows.
pub async fn last_move(redis: &Redis, shard: ShardId) -> LastMove {
    if !redis.nodes().is_cluster() {
        return LastMove::None;
    }
    let asked = async {
        let mut node = redis.node_of(shard).await?.dedicated().await?;
        moves::newest_of(&mut node, tags::slot(shard)).await
    };
    match within(CONNECT_TIMEOUT, asked).await {
        Ok(newest) => newest.map_or(LastMove::None, SlotMove::into_last),
        Err(_) => LastMove::Unknown, // many Redis have no such question
    }
}

/// A node at an address that another one has named.
fn node_at(redis: &Redis, address: &Address) -> StoreResult<Node> {
    Node::new(redis.nodes().client_of(address)?)
}

/// The address in a line such as `slave0:ip=10.0.0.7,port=6379,state=online,offset=42,lag=0`.
fn follower(line: &str) -> Option<Address> {
    let (name, fields) = line.split_once(':')?;
    name.strip_prefix("slave")?.parse::<u32>().ok()?;
    let field =
        |wanted: &str| fields.split(',').find_map(|field| field.strip_prefix(wanted)?.strip_prefix('='));
    Some(Address { host: field("ip")?.to_owned(), port: field("port")?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_replica_is_read_from_its_line() {
        let line = "slave0:ip=10.0.0.7,port=6379,state=online,offset=42,lag=0";
        assert_eq!(follower(line).map(|address| address.to_string()), Some("10.0.0.7:6379".to_owned()));
        assert_eq!(follower("slave_repl_offset:12").map(|address| address.to_string()), None);
    }
}
