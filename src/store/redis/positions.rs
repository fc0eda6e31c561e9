//! How far target shards have folded one source shard's log.

use super::{
    call::Call,
    connection::Redis,
    keys,
    reply::{parse, read},
};
use crate::{
    primitives::{Offset, ShardId},
    store::{StoreError, StoreResult},
};

/// How far a target shard has folded the log of one source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetPosition {
    pub target: ShardId,
    /// Epoch of the target's counters.
    pub epoch: u64,
    /// Timeline of PostgreSQL at their reset.
    pub timeline: String,
    pub at: Offset,
}

impl Redis {
    /// How far each target that is recovered has folded the source's log, in one round trip.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`] if the source itself is not recovered.
    pub async fn target_positions(&self, source: ShardId) -> StoreResult<Vec<TargetPosition>> {
        let folded = format!("folded:{source}");
        let ask = |target: ShardId| {
            let mut cmd = Call::new("HMGET", &keys::meta(target));
            cmd.arg("epoch").arg("timeline").arg(&folded);
            cmd
        };
        let cmds: Vec<Call> = self.shards().all().map(ask).collect();
        let mut positions = Vec::with_capacity(cmds.len());
        for (target, reply) in self.shards().all().zip(self.pipeline(&cmds).await?) {
            match read::<Fields>(reply?)? {
                (Some(epoch), Some(timeline), Some(at)) => {
                    positions.push(TargetPosition {
                        target,
                        epoch: parse(&epoch)?,
                        timeline,
                        at: parse(&at)?,
                    });
                }
                _ if target == source => return Err(StoreError::NotRecovered),
                _ => {}
            }
        }
        Ok(positions)
    }
}

/// Epoch, timeline and position.
type Fields = (Option<String>, Option<String>, Option<String>);
