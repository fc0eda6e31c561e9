//! How far target shards have folded one source shard's log.

use redis::Cmd;

use super::{
    connection::Redis,
    keys,
    reply::{parse, read},
};
use crate::{
    catalogue::UnixMillis,
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
    /// Moment from which on the target's heat is added.
    pub hot_since: Option<UnixMillis>,
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
            cmd.arg(keys::meta(target)).arg("epoch").arg(&folded).arg("hot");
            cmd
        };
        let cmds: Vec<Cmd> = self.shards().all().map(ask).collect();
        let replies = self.pipeline(&cmds).await?;
        self.shards().all().zip(replies).map(|(target, reply)| position_of(target, read(reply?)?)).collect()
    }
}

/// Epoch, position, beginning of heat.
type Fields = (Option<String>, Option<String>, Option<String>);

fn position_of(target: ShardId, fields: Fields) -> StoreResult<TargetPosition> {
    let (Some(epoch), Some(at), hot) = fields else {
        return Err(StoreError::NotRecovered);
    };
    Ok(TargetPosition {
        target,
        epoch: parse(&epoch)?,
        at: parse(&at)?,
        hot_since: hot.as_deref().map(parse).transpose()?,
    })
}
