//! Positions of one source shard's log on its target shards.

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

/// Which of the positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    Folded,
    Retired,
}

impl Position {
    const fn field(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Retired => "retired",
        }
    }
}

/// How far a target shard has the log of one source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetPosition {
    pub target: ShardId,
    /// Epoch of the target's counters.
    pub epoch: u64,
    pub at: Offset,
    /// How far the log was folded before the counters were last reset.
    pub folded_before_reset: Offset,
    /// Moment from which on the target's heat is added.
    pub hot_since: Option<UnixMillis>,
}

impl Redis {
    /// A position of the source's log on every target, in one round trip.
    ///
    /// # Errors
    /// [`StoreError::NotRecovered`] while a target is not recovered.
    pub async fn target_positions(
        &self,
        source: ShardId,
        position: Position,
    ) -> StoreResult<Vec<TargetPosition>> {
        let at = format!("{}:{source}", position.field());
        let before_reset = format!("folded_before_reset:{source}");
        let ask = |target: ShardId| {
            let mut cmd = redis::cmd("HMGET");
            cmd.arg(keys::meta(target)).arg("epoch").arg(&at).arg(&before_reset).arg("hot");
            cmd
        };
        let cmds: Vec<Cmd> = self.shards().all().map(ask).collect();
        let replies = self.pipeline(&cmds).await?;
        self.shards().all().zip(replies).map(|(target, reply)| position_of(target, read(reply?)?)).collect()
    }
}

/// Epoch, position, position before the reset, beginning of heat.
type Fields = (Option<String>, Option<String>, Option<String>, Option<String>);

fn position_of(target: ShardId, fields: Fields) -> StoreResult<TargetPosition> {
    let (Some(epoch), Some(at), Some(folded_before_reset), hot) = fields else {
        return Err(StoreError::NotRecovered);
    };
    Ok(TargetPosition {
        target,
        epoch: parse(&epoch)?,
        at: parse(&at)?,
        folded_before_reset: parse(&folded_before_reset)?,
        hot_since: hot.as_deref().map(parse).transpose()?,
    })
}
