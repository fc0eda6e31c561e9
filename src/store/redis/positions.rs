//! How far target shards have folded one source shard's log.

use redis::Cmd;

use super::{
    connection::Redis,
    keys,
    reply::{parse, read},
};
use crate::{
    primitives::{Offset, ShardId},
    store::{StoreError, StoreResult},
};

/// How far a target shard has folded the log of one source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetPosition {
    pub target: ShardId,
    /// Epoch of the target's counters.
    pub epoch: u64,
    pub at: Offset,
}

impl Redis {
    /// How far each target has folded the source's log, in one round trip.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`] while a target is not recovered.
    pub async fn target_positions(&self, source: ShardId) -> StoreResult<Vec<TargetPosition>> {
        let folded = format!("folded:{source}");
        let ask = |target: ShardId| {
            let mut cmd = redis::cmd("HMGET");
            cmd.arg(keys::meta(target)).arg("epoch").arg(&folded);
            cmd
        };
        let cmds: Vec<Cmd> = self.shards().all().map(ask).collect();
        let replies = self.pipeline(&cmds).await?;
        self.shards().all().zip(replies).map(|(target, reply)| position_of(target, read(reply?)?)).collect()
    }
}

/// Epoch and position.
type Fields = (Option<String>, Option<String>);

fn position_of(target: ShardId, fields: Fields) -> StoreResult<TargetPosition> {
    let (Some(epoch), Some(at)) = fields else {
        return Err(StoreError::NotRecovered);
    };
    Ok(TargetPosition { target, epoch: parse(&epoch)?, at: parse(&at)? })
}
