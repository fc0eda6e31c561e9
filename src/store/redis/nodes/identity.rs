//! Which Redis answers, and which sequence of writes it continues.

use redis::aio::MultiplexedConnection;

use super::moves::LastMove;
use crate::{
    StoreError, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        reply::{info_line, parse, read},
    },
};
use plaudit_catalogue::primitives::ShardId;

/// The identity of a Redis, and of the sequence of writes that it continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedisIdentity {
    /// The process: each start has a new one.
    pub run_id: String,
    /// The replication id. It changes with each start and each promotion of a replica, and also without a loss: when
    /// the first replica is attached, and after an hour without one.
    pub id: String,
    /// What Redis had when it was promoted, if it was. It forgets that after an hour without a replica.
    former: Option<FormerIdentity>,
}

/// The Redis in which a shard was verified.
#[derive(Clone, Debug)]
pub struct Verified<'a> {
    pub run_id: &'a str,
    /// The replication id.
    pub id: &'a str,
    /// The last move of the shard's slot by then, if this process of Plaudit has seen the shard verified there lately.
    pub seen: Option<LastMove>,
}

/// The replication id that a Redis had before its present one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct FormerIdentity {
    id: String,
    /// It has the writes of this id up to before this offset of the replication stream.
    up_to: u64,
}

impl RedisIdentity {
    /// Whether what was verified is still what it was: the same id, or the same process with a new id that
    /// comes from no promotion. It must have been seen lately, so that Redis cannot have forgotten a promotion
    /// since.
    pub fn continues(&self, verified: &Verified<'_>) -> bool {
        let is_same_process = verified.run_id == self.run_id;
        verified.id == self.id || (is_same_process && self.former.is_none() && verified.seen.is_some())
    }

    /// Whether this Redis continued the writes of this id when it was promoted.
    pub(crate) fn continued(&self, id: &str) -> bool {
        self.former.as_ref().is_some_and(|former| former.id == id)
    }

    /// Whether this Redis was promoted in place of one that follows it now, without a loss: when that one gave
    /// way, it had the writes up to where this one had them, or less. A replica that goes on where it was
    /// remembers where that is; one that had more copies all data again, and remembers nothing.
    pub(crate) fn has_all_of(&self, follower: &Self) -> bool {
        self.id == follower.id
            && self
                .former
                .as_ref()
                .zip(follower.former.as_ref())
                .is_some_and(|(own, its)| own.id == its.id && its.up_to <= own.up_to)
    }

    /// Whether something was verified in this process and under this id.
    pub(crate) fn is_of(&self, verified: &Verified<'_>) -> bool {
        self.run_id == verified.run_id && self.id == verified.id
    }

    /// Asks the server at the other end.
    pub(crate) async fn of(connection: &mut MultiplexedConnection) -> StoreResult<Self> {
        let info: String =
            redis::cmd("INFO").arg("server").arg("replication").query_async(connection).await?;
        Self::read(&info)
    }

    /// From the sections `server` and `replication` of `INFO`.
    fn read(info: &str) -> StoreResult<Self> {
        let former = info_line(info, "master_replid2")?;
        let up_to: i64 = parse(&info_line(info, "second_repl_offset")?)?;
        let was_promoted = former.contains(|digit| digit != '0');
        Ok(Self {
            run_id: info_line(info, "run_id")?,
            id: info_line(info, "master_replid")?,
            former: was_promoted.then_some(FormerIdentity { id: former, up_to: up_to.max(0) as u64 }),
        })
    }
}

/// The Redis that has the shard now.
///
/// # Errors
/// [`StoreError::RedisUnready`] if it is a replica: another one has the shard by now.
pub async fn identity(redis: &Redis, shard: ShardId) -> StoreResult<RedisIdentity> {
    RedisIdentity::read(&info(redis, shard).await?)
}

pub(crate) async fn info(redis: &Redis, shard: ShardId) -> StoreResult<String> {
    let info: String =
        read(redis.command(&RedisCall::about(shard, "INFO server replication cluster")).await?)?;
    if info_line(&info, "role")? == "slave" {
        redis.nodes().refresh_soon();
        return Err(StoreError::RedisUnready("it is a replica now".into()));
    }
    redis.nodes().record_in_cluster(info_line(&info, "cluster_enabled")? == "1");
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "run_id:a1\r\n";

    fn now(id: &str, former: &str) -> RedisIdentity {
        at(id, former, 7)
    }

    fn at(id: &str, former: &str, offset: i64) -> RedisIdentity {
        let ids = format!("master_replid:{id}\r\nmaster_replid2:{former}\r\n");
        RedisIdentity::read(&format!("{RUN}{ids}second_repl_offset:{offset}\r\n")).unwrap()
    }

    #[test]
    fn a_former_master_that_goes_on_as_a_replica_had_no_more_than_the_new_one() {
        let master = at("y", "x", 42);
        assert!(master.has_all_of(&at("y", "x", 42)));
        assert!(master.has_all_of(&at("y", "x", 41)));
        assert!(!master.has_all_of(&at("y", "x", 43)));
        assert!(!master.has_all_of(&at("y", "0000", -1)), "it has copied all data again");
        assert!(!master.has_all_of(&at("y", "w", 42)));
        assert!(!master.has_all_of(&at("z", "x", 42)), "it follows another");
        assert!(!at("y", "0000", -1).has_all_of(&at("y", "x", 42)));
    }

    #[test]
    fn only_a_process_that_saw_the_former_id_takes_another_one_without_a_promotion_for_harmless() {
        let continues = |now: RedisIdentity, run_id, was_seen: bool| {
            now.continues(&Verified { run_id, id: "x", seen: was_seen.then_some(LastMove::None) })
        };
        assert!(continues(now("x", "0000"), "a1", false));
        assert!(continues(now("z", "0000"), "a1", true));
        assert!(!continues(now("z", "0000"), "a1", false));
        assert!(!continues(now("z", "00y0"), "a1", true));
        assert!(!continues(now("z", "0000"), "b2", true));
    }
}
