//! Loads of counters: a load marks entities as loading, computes their totals, and installs or cancels them.

use std::time::Duration;

use super::counters::counts_life;
use crate::{
    StoreResult,
    redis::{
        Redis,
        call::RedisCall,
        counts::counters,
        keys::{self, RedisKey},
        reply::{Reply, parse, script_reply},
        results::{BeginLoadResult, CancelLoadResult, InstallCountsResult},
        scripts,
    },
};
use plaudit_catalogue::{
    Counts, Entity,
    primitives::{Offset, ShardId, Version},
};

/// How long a load may take: after it another one may begin.
const LOAD_LIFE: Duration = Duration::from_secs(5);

/// Most entities that one call of a script begins or installs: it bounds how long other calls wait for it.
const LOADED_AT_ONCE: usize = 100;

/// Names a load. A number, because it is a field of hashes of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadToken(i64);

impl LoadToken {
    /// A token that no other load has.
    pub fn random() -> Self {
        Self(rand::random_range(1..i64::MAX))
    }
}

/// Loads of some entities of one shard that have begun.
#[derive(Debug)]
pub struct BegunLoads {
    pub shard: ShardId,
    /// The fold adds to these from the moment of `folded` on.
    pub begun: Vec<Entity>,
    /// Redis has them, or another caller is loading them.
    pub others: Vec<Entity>,
    /// Per source shard: how far the target has folded its log.
    pub folded: Vec<Offset>,
    /// Of the shard's counters.
    pub epoch: u64,
}

/// Totals to install: PostgreSQL's totals, and the events after them up to [`BegunLoads::folded`].
#[derive(Clone, Copy, Debug)]
pub struct Install<'a> {
    pub entity: Entity,
    pub totals: Counts,
    /// Timeline of PostgreSQL in the statement that read the totals.
    pub timeline: &'a str,
}

/// Begins loads, per shard, in one round trip. The holder of a token may begin again.
pub async fn begin_loads(
    redis: &Redis,
    entities: &[Entity],
    token: LoadToken,
) -> StoreResult<Vec<BegunLoads>> {
    let by_shard = counters::group_by_shard(redis, entities);
    let pages: Vec<(ShardId, &[Entity])> = by_shard
        .iter()
        .flat_map(|(shard, entities)| entities.chunks(LOADED_AT_ONCE).map(|page| (*shard, page)))
        .collect();
    let cmds: Vec<RedisCall> =
        pages.iter().map(|(shard, page)| begin_page(redis, *shard, page, token)).collect();
    let replies = redis.pipeline(&cmds).await?;
    pages
        .iter()
        .zip(replies)
        .map(|((shard, page), reply)| begun(*shard, page, script_reply(reply)?))
        .collect()
}

fn begin_page(redis: &Redis, shard: ShardId, entities: &[Entity], token: LoadToken) -> RedisCall {
    let mut cmd = scripts::BEGIN_LOAD.call(&meta_and_counters(shard, entities));
    cmd.arg(token.0).arg(LOAD_LIFE.as_millis() as u64).arg(redis.shards().get());
    for entity in entities {
        cmd.arg(entity.kind.counters().len());
        for counter in entity.kind.counters() {
            cmd.arg(counter.name());
        }
    }
    cmd
}

/// Gives up loads, in one round trip, so that others need not wait until they expire.
pub async fn cancel_loads(redis: &Redis, entities: &[Entity], token: LoadToken) -> StoreResult<()> {
    let by_shard = counters::group_by_shard(redis, entities);
    let cancel = |(shard, entities): (&ShardId, &Vec<Entity>)| {
        let mut cmd = scripts::CANCEL_LOAD.call(&meta_and_counters(*shard, entities)[1..]);
        cmd.arg(token.0);
        cmd
    };
    let cmds: Vec<RedisCall> = by_shard.iter().map(cancel).collect();
    for reply in redis.pipeline(&cmds).await? {
        let CancelLoadResult::Done = script_reply(reply)?.result()?;
    }
    Ok(())
}

/// Finishes loads of one shard, in one round trip. `None` for those that must be loaded again.
pub async fn install_counts(
    redis: &Redis,
    shard: ShardId,
    token: LoadToken,
    installs: &[Install<'_>],
) -> StoreResult<Vec<Option<(Version, Counts)>>> {
    let of_one_timeline = |a: &Install<'_>, b: &Install<'_>| a.timeline == b.timeline;
    let pages: Vec<&[Install<'_>]> =
        installs.chunk_by(of_one_timeline).flat_map(|page| page.chunks(LOADED_AT_ONCE)).collect();
    let cmds: Vec<RedisCall> = pages.iter().map(|page| install_page(shard, token, page)).collect();
    let replies = redis.pipeline(&cmds).await?;
    let mut installed = Vec::with_capacity(installs.len());
    for (page, reply) in pages.iter().zip(replies) {
        let mut reply = script_reply(reply)?;
        match reply.result()? {
            InstallCountsResult::Done => {
                let epoch = reply.next()?;
                for values in reply.rest::<Vec<i64>>()? {
                    installed.push(installed_counts(epoch, &values));
                }
            }
            InstallCountsResult::Refused => installed.extend(page.iter().map(|_| None)),
        }
    }
    Ok(installed)
}

fn meta_and_counters(shard: ShardId, entities: &[Entity]) -> Vec<RedisKey> {
    let counters = entities.iter().map(|entity| keys::counters(shard, *entity));
    std::iter::once(keys::meta(shard)).chain(counters).collect()
}

fn begun(shard: ShardId, entities: &[Entity], mut reply: Reply) -> StoreResult<BegunLoads> {
    let BeginLoadResult::Done = reply.result()?;
    let flags: Vec<bool> = reply.next()?;
    let folded: Vec<String> = reply.next()?;
    let epoch: String = reply.next()?;
    let (begun, others): (Vec<_>, Vec<_>) = entities.iter().zip(flags).partition(|(_, begun)| *begun);
    let only_entities = |pairs: Vec<(&Entity, bool)>| pairs.into_iter().map(|(entity, _)| *entity).collect();
    Ok(BegunLoads {
        shard,
        begun: only_entities(begun),
        others: only_entities(others),
        folded: folded.iter().map(|text| parse(text)).collect::<StoreResult<_>>()?,
        epoch: parse(&epoch)?,
    })
}

fn install_page(shard: ShardId, token: LoadToken, installs: &[Install<'_>]) -> RedisCall {
    let mut touched = vec![keys::meta(shard), keys::changes(shard)];
    touched.extend(installs.iter().map(|install| keys::counters(shard, install.entity)));
    let mut cmd = scripts::INSTALL_COUNTS.call(&touched);
    cmd.arg(token.0).arg(installs.first().map_or("", |install| install.timeline));
    for Install { entity, totals, .. } in installs {
        let counters = entity.kind.counters();
        cmd.arg(entity.to_string()).arg(counts_life()).arg(counters.len());
        for counter in counters {
            cmd.arg(counter.name()).arg(totals.get(*counter));
        }
    }
    cmd
}

/// The change number and the totals, if they were installed.
fn installed_counts(epoch: u64, values: &[i64]) -> Option<(Version, Counts)> {
    let (change, totals) = values.split_first()?;
    Some((Version::new(epoch, *change as u64), Counts::from_values(totals.iter().copied())))
}
