//! Which Redis answers, and which history of writes it continues.

use super::{call::Call, connection::Redis, node::info_line, reply::read};
use crate::{primitives::ShardId, store::StoreResult};

/// What tells one Redis from another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedisHistory {
    /// The process: each start has a new one.
    pub run_id: String,
    /// The replication id. It changes with each start and each promotion of a replica, and also without a loss: when
    /// the first replica is attached, and after an hour without one.
    pub id: String,
    /// Whether Redis was promoted before it got this id. It forgets that after an hour without a replica.
    pub is_promoted: bool,
}

impl RedisHistory {
    /// Whether counters that were verified in the process `run_id` under the replication id `id` are still what they
    /// were: the same history, or the same process with a new id that comes from no promotion. `was_seen`: this process
    /// has seen the former id lately, so that Redis cannot have forgotten a promotion since.
    pub fn continues(&self, run_id: Option<&str>, id: Option<&str>, was_seen: bool) -> bool {
        let is_same_process = run_id == Some(&self.run_id);
        id == Some(&self.id) || (is_same_process && !self.is_promoted && was_seen)
    }

    /// From the sections `server` and `replication` of `INFO`.
    pub(super) fn read(info: &str) -> StoreResult<Self> {
        Ok(Self {
            run_id: info_line(info, "run_id")?,
            id: info_line(info, "master_replid")?,
            is_promoted: info_line(info, "master_replid2")?.contains(|digit| digit != '0'),
        })
    }
}

impl Redis {
    /// The Redis that has the shard now.
    pub async fn history(&self, shard: ShardId) -> StoreResult<RedisHistory> {
        let cmd = Call::about(shard, "INFO server replication");
        RedisHistory::read(&read::<String>(self.command(&cmd).await?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "run_id:a1\r\n";

    fn now(id: &str, former: &str) -> RedisHistory {
        RedisHistory::read(&format!("{RUN}role:master\r\nmaster_replid:{id}\r\nmaster_replid2:{former}\r\n"))
            .unwrap()
    }

    #[test]
    fn only_a_process_that_saw_the_former_id_takes_another_one_without_a_promotion_for_harmless() {
        let continues = |now: RedisHistory, was_seen| now.continues(Some("a1"), Some("x"), was_seen);
        assert!(continues(now("x", "0000"), false));
        assert!(continues(now("z", "0000"), true));
        assert!(!continues(now("z", "0000"), false));
        assert!(!continues(now("z", "00y0"), true));
        assert!(!now("z", "0000").continues(Some("b2"), Some("x"), true));
        assert!(!now("z", "00y0").continues(Some("a1"), None, true));
    }
}
