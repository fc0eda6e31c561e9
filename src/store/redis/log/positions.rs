//! How far target shards have folded the logs of source shards.

use crate::{
    StoreError, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        keys,
        reply::{parse, read},
    },
};
use plaudit_catalogue::primitives::{Offset, ShardId};

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

/// How far each of these targets that is recovered has folded the log of each source, in one round trip. A
/// target that does not answer is left out.
///
/// # Errors
/// Of a source: [`StoreError::NotRecovered`] if it is among the targets and not recovered itself, or why it
/// gives no answer.
pub async fn target_positions(
    redis: &Redis,
    sources: &[ShardId],
    targets: &[ShardId],
) -> StoreResult<Vec<StoreResult<Vec<TargetPosition>>>> {
    let ask = |target: &ShardId| {
        let mut cmd = RedisCall::new("HMGET", &keys::meta(*target));
        cmd.arg("epoch").arg("timeline");
        sources.iter().for_each(|source| {
            cmd.arg(format!("folded:{source}"));
        });
        cmd
    };
    let cmds: Vec<RedisCall> = targets.iter().map(ask).collect();
    let replies = redis.pipeline(&cmds).await?.into_iter().map(|reply| read(reply?));
    let of_targets: Vec<_> = targets.iter().copied().zip(replies).collect();
    Ok(sources.iter().enumerate().map(|(at, source)| positions_of(*source, at, &of_targets)).collect())
}

/// The fields of a target that were read.
type TargetFields = StoreResult<Vec<Option<String>>>;

/// The positions in the log of the source whose number is `at` among those that were asked for.
fn positions_of(
    source: ShardId,
    at: usize,
    of_targets: &[(ShardId, TargetFields)],
) -> StoreResult<Vec<TargetPosition>> {
    let mut positions = Vec::with_capacity(of_targets.len());
    for (target, fields) in of_targets {
        match fields {
            Ok(fields) => match (fields.first(), fields.get(1), fields.get(2 + at)) {
                (Some(Some(epoch)), Some(Some(timeline)), Some(Some(at))) => positions.push(TargetPosition {
                    target: *target,
                    epoch: parse(epoch)?,
                    timeline: timeline.clone(),
                    at: parse(at)?,
                }),
                // An owner has recovered its own shard; other targets are left out until they are back.
                _ if *target == source => return Err(StoreError::NotRecovered),
                _ => {}
            },
            Err(error) if *target == source || !error.is_transient() => return Err(error.clone()),
            Err(_) => {}
        }
    }
    Ok(positions)
}
