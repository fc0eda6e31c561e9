//! Rankings: lists that all instances share, as JSON.

use std::time::Duration;

use crate::{
    RANKING_SNAPSHOT_LIFE, StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        keys::{self, RedisKey},
        reply::read,
    },
};
use plaudit_catalogue::{HotWindow, Ranking, RankingId};

/// How long the current ranking stays without a newer one.
const CURRENT_LIFE: Duration = Duration::from_hours(24);

/// The current ranking of a window, if one was made.
pub async fn ranking(redis: &Redis, window: HotWindow) -> StoreResult<Option<Ranking>> {
    read_ranking(redis, keys::ranking(redis.shards().layout(), window)).await
}

/// A recent ranking, by its id.
pub async fn ranking_snapshot(
    redis: &Redis,
    window: HotWindow,
    id: RankingId,
) -> StoreResult<Option<Ranking>> {
    read_ranking(redis, keys::ranking_snapshot(redis.shards().layout(), window, id)).await
}

async fn read_ranking(redis: &Redis, key: RedisKey) -> StoreResult<Option<Ranking>> {
    let text: Option<String> = read(redis.command(&RedisCall::new("GET", &key)).await?)?;
    // A ranking that this release cannot read counts as absent.
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Replaces the current ranking of a window, and keeps it under its id for a while, so that clients can
/// page through it.
pub async fn write_ranking(redis: &Redis, window: HotWindow, ranking: &Ranking) -> StoreResult<()> {
    let text = serde_json::to_string(ranking).unwrap_or_default();
    let set = |key: RedisKey, life: Duration| {
        let mut cmd = RedisCall::new("SET", &key);
        cmd.arg(&text).arg("PX").arg(life.as_millis() as u64);
        cmd
    };
    // The snapshot first: a reader of the current ranking may request it at once.
    let snapshot =
        set(keys::ranking_snapshot(redis.shards().layout(), window, ranking.id), RANKING_SNAPSHOT_LIFE);
    let cmds: [RedisCall; 2] = [snapshot, set(keys::ranking(redis.shards().layout(), window), CURRENT_LIFE)];
    redis.pipeline(&cmds).await?.into_iter().try_for_each(|reply| reply.map(drop))
}
