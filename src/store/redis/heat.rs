//! Heat of notes: reset, rebuild and merge. The fold adds to it, see [`super::batches`].

use std::time::Duration;

use redis::Cmd;

use super::{
    batches::write_heat,
    connection::{Redis, script_reply},
    keys,
    reply::{Reply, parse, read},
    results::{AddHeatResult, BeginHeatResult, HottestResult},
    scripts,
};
use crate::{
    catalogue::{Bucket, Span, UnixMillis},
    event_log::Heat,
    primitives::{Id, ShardId},
    store::StoreResult,
};

/// Progress of the heat of a shard's notes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeatState {
    /// The fold adds the heat of events from this moment on.
    pub since: UnixMillis,
    /// Earlier events are included up to this moment; complete once it reaches `since`.
    pub built: UnixMillis,
}

impl HeatState {
    pub const fn is_complete(self) -> bool {
        self.built >= self.since
    }
}

impl Redis {
    /// `None` if the heat was not started, or was lost.
    pub async fn heat_state(&self, shard: ShardId) -> StoreResult<Option<HeatState>> {
        let (mut since, mut built) = (redis::cmd("HGET"), redis::cmd("GET"));
        since.arg(keys::meta(shard)).arg("hot");
        built.arg(keys::heat_built(shard));
        let mut replies = self.pipeline(&[since, built]).await?.into_iter();
        let mut next = || replies.next().map_or(Ok(None), |reply| read::<Option<UnixMillis>>(reply?));
        Ok(next()?.zip(next()?).map(|(since, built)| HeatState { since, built }))
    }

    /// Resets the heat of a shard's notes: the fold adds heat from `ahead` of now on, and the heat between `from` and
    /// then must be rebuilt; `None` when there is nothing to rebuild from. Idempotent: does nothing once the heat was
    /// started.
    pub async fn begin_heat(
        &self,
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
            Reply::read(self.command(&cmd).await?)?.result()?;
        Ok(())
    }

    /// Adds the heat of events between `state.built` and `to`. Returns `false`, and adds nothing, if the state has
    /// changed.
    pub async fn add_heat(
        &self,
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
        Ok(match Reply::read(self.command(&cmd).await?)?.result()? {
            AddHeatResult::Done => true,
            AddHeatResult::Moved => false,
        })
    }

    /// The notes of each shard with the most heat in a span, at most `most` of each, in one round trip.
    /// `None` while the heat of a shard is not complete.
    pub async fn hottest(
        &self,
        span: Span,
        now: UnixMillis,
        most: usize,
    ) -> StoreResult<Option<Vec<(Id, i64)>>> {
        let cmds: Vec<Cmd> = self.shards().all().map(|shard| hottest_of(shard, span, now, most)).collect();
        let mut notes = Vec::new();
        for reply in self.pipeline(&cmds).await? {
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
}

fn hottest_of(shard: ShardId, span: Span, now: UnixMillis, most: usize) -> Cmd {
    let mut touched = vec![keys::meta(shard), keys::heat_built(shard), keys::heat_merged(shard, span)];
    touched.extend(span.window(now).map(|bucket| keys::heat(shard, bucket)));
    let mut cmd = scripts::HOTTEST.call(&touched);
    cmd.arg(most);
    cmd
}
