//! Heat of notes, by the events of each shard: adding, reset, rebuild and merge.

use std::time::Duration;

use crate::{
    StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        keys,
        reply::{Reply, parse, read, script_reply},
        results::{AddHeatResult, AdvanceHeatResult, BeginHeatResult, HottestResult},
        scripts,
    },
};
use plaudit_catalogue::{
    Bucket, Span, UnixMillis,
    event_log::Heat,
    primitives::{Id, Offset, ShardId},
};

/// Most shards whose heat one call merges: it bounds how long other calls wait for it.
const MERGED_AT_ONCE: usize = 16;

/// Progress of the heat of a shard's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeatState {
    /// Events from this moment on are added when they are retired.
    pub since: UnixMillis,
    /// Earlier events are included up to this moment; complete once it reaches `since`.
    pub built: UnixMillis,
}

impl HeatState {
    pub const fn is_complete(self) -> bool {
        self.built >= self.since
    }
}

/// `None` if the heat was not started, or was lost.
pub async fn heat_state(redis: &Redis, shard: ShardId) -> StoreResult<Option<HeatState>> {
    let mut since = RedisCall::new("HGET", &keys::meta(shard));
    since.arg("hot");
    let built = RedisCall::new("GET", &keys::heat_built(shard));
    let mut replies = redis.pipeline(&[since, built]).await?.into_iter();
    let mut next = || replies.next().map_or(Ok(None), |reply| read::<Option<UnixMillis>>(reply?));
    Ok(next()?.zip(next()?).map(|(since, built)| HeatState { since, built }))
}

/// Resets the heat of a shard's events: those from `ahead` of now on are added when they are retired, and
/// those between `from` and then must be rebuilt; `None` when there is nothing to rebuild from. Idempotent:
/// does nothing once the heat was started.
pub async fn begin_heat(
    redis: &Redis,
    shard: ShardId,
    now: UnixMillis,
    ahead: Duration,
    from: Option<UnixMillis>,
) -> StoreResult<()> {
    let mut touched = vec![keys::meta(shard), keys::heat_built(shard)];
    touched.extend(Bucket::all_alive(now).map(|bucket| keys::heat(shard, bucket)));
    let mut cmd = scripts::BEGIN_HEAT.call(&touched);
    cmd.arg(ahead.as_millis() as u64).arg(from.map_or_else(String::new, |from| from.to_string()));
    let (BeginHeatResult::Done | BeginHeatResult::Kept) =
        Reply::read(redis.command(&cmd).await?)?.result()?;
    Ok(())
}

/// Since when events of a shard's log are added, and up to which offset they are.
pub async fn heat_position(
    redis: &Redis,
    shard: ShardId,
) -> StoreResult<(Option<UnixMillis>, Option<Offset>)> {
    let mut cmd = RedisCall::new("HMGET", &keys::meta(shard));
    cmd.arg("hot").arg("heated");
    let (since, at): (Option<UnixMillis>, Option<String>) = read(redis.command(&cmd).await?)?;
    Ok((since, at.as_deref().map(parse).transpose()?))
}

/// Adds the heat of the events after `from` and up to `to` of a shard's log. Returns `false`, and adds nothing, if
/// another position or time applies: read it again.
pub async fn advance_heat(
    redis: &Redis,
    (shard, fence): (ShardId, u64),
    from: Offset,
    to: Offset,
    since: Option<UnixMillis>,
    heat: &Heat,
) -> StoreResult<bool> {
    let mut touched = vec![keys::meta(shard)];
    touched.extend(heat.keys().map(|bucket| keys::heat(shard, *bucket)));
    let mut cmd = scripts::ADVANCE_HEAT.call(&touched);
    cmd.arg(shard.0).arg(fence).arg(from.to_string()).arg(to.to_string());
    cmd.arg(since.map_or_else(String::new, |since| since.to_string()));
    write_heat(&mut cmd, heat);
    Ok(match Reply::read(redis.command(&cmd).await?)?.result()? {
        AdvanceHeatResult::Done => true,
        AdvanceHeatResult::Moved => false,
    })
}

/// Makes the heat of a shard's events begin again at `to`: some of them can no longer be read.
pub async fn lose_heat(redis: &Redis, shard: ShardId, to: Offset) -> StoreResult<()> {
    let meta = keys::meta(shard);
    let (mut lose, mut skip) = (RedisCall::new("HDEL", &meta), RedisCall::new("HSET", &meta));
    lose.arg("hot");
    skip.arg("heated").arg(to.to_string());
    redis.pipeline(&[lose, skip]).await.map(drop)
}

/// Adds the heat of events between what the state has `built` and `to`. Returns `false`, and adds nothing,
/// if the state has changed.
pub async fn add_heat(
    redis: &Redis,
    shard: ShardId,
    state: HeatState,
    to: UnixMillis,
    heat: &Heat,
) -> StoreResult<bool> {
    let mut touched = vec![keys::meta(shard), keys::heat_built(shard)];
    touched.extend(heat.keys().map(|bucket| keys::heat(shard, *bucket)));
    let mut cmd = scripts::ADD_HEAT.call(&touched);
    cmd.arg(state.since).arg(state.built).arg(to);
    write_heat(&mut cmd, heat);
    Ok(match Reply::read(redis.command(&cmd).await?)?.result()? {
        AddHeatResult::Done => true,
        AddHeatResult::Moved => false,
    })
}

/// The notes with the most heat by the events of some shards in a span, at most `most` of these, in one
/// round trip per node: a note may be in several of them. `None` while the heat of a shard is not complete.
pub async fn hottest(
    redis: &Redis,
    span: Span,
    now: UnixMillis,
    most: usize,
) -> StoreResult<Option<Vec<(Id, i64)>>> {
    let at_once = if redis.nodes().shards_share_commands() { MERGED_AT_ONCE } else { 1 };
    let shards: Vec<ShardId> = redis.shards().all().collect();
    let cmds: Vec<RedisCall> =
        shards.chunks(at_once).map(|shards| hottest_of(shards, span, now, most)).collect();
    let mut notes = Vec::new();
    for reply in redis.pipeline(&cmds).await? {
        let mut reply = script_reply(reply)?;
        match reply.result()? {
            HottestResult::Done => {}
            HottestResult::Incomplete => return Ok(None),
        }
        for pair in reply.rest::<String>()?.chunks_exact(2) {
            notes.push((parse(&pair[0])?, parse(&pair[1])?));
        }
    }
    Ok(Some(notes))
}

fn hottest_of(shards: &[ShardId], span: Span, now: UnixMillis, most: usize) -> RedisCall {
    let mut touched = vec![keys::heat_merged(shards[0], span)];
    for shard in shards {
        touched.extend([keys::meta(*shard), keys::heat_built(*shard)]);
        touched.extend(span.window(now).map(|bucket| keys::heat(*shard, bucket)));
    }
    let mut cmd = scripts::HOTTEST.call(&touched);
    cmd.arg(most).arg((touched.len() - 1) / shards.len());
    cmd
}

/// Per bucket: when it expires, and the heat to add to its notes.
fn write_heat(cmd: &mut RedisCall, heat: &Heat) {
    for (bucket, notes) in heat {
        cmd.arg(bucket.ends_at()).arg(notes.len());
        for (note, heat) in notes {
            cmd.arg(note.get()).arg(heat);
        }
    }
}
