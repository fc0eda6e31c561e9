//! Load tokens of entities: a loader takes them, reads totals from PostgreSQL, and installs the totals or releases the
//! tokens.

use std::time::Duration;

use redis::Cmd;

use super::{
    connection::{Redis, script_reply},
    counters::{COUNTS_LIFE, life_with_jitter},
    keys,
    reply::{Reply, parse},
    results::{InstallCountsResult, ReleaseLoadTokensResult, TakeLoadTokensResult},
    scripts,
};
use crate::{
    catalogue::{Counts, Entity},
    primitives::{Offset, ShardId, Version},
    store::StoreResult,
};

/// Lifetime of a load token: after it another loader may start.
const TOKEN_LIFE: Duration = Duration::from_secs(5);

/// Permission to load some entities of one shard.
#[derive(Debug)]
pub struct LoadTickets {
    pub shard: ShardId,
    token: String,
    pub epoch: u64,
    /// Entities that this caller may load; another caller is loading the others.
    pub taken: Vec<Entity>,
    pub others: Vec<Entity>,
    /// Per source shard: the retired offset. Totals from PostgreSQL must not be older.
    pub retired: Vec<Offset>,
}

/// Base totals, read from PostgreSQL in one statement with the persisted offset of each log.
pub struct Install<'a> {
    pub entity: Entity,
    pub totals: Counts,
    pub persisted: &'a [Offset],
    pub timeline: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstallOutcome {
    Done(Version, Counts),
    /// The target has not folded yet what PostgreSQL had persisted: the same install may succeed soon.
    Behind,
    /// The counters changed meanwhile: load again.
    Refused,
}

impl Redis {
    /// Takes load tokens, per shard, in one round trip. The holder of a token may take it again.
    pub async fn take_load_tokens(&self, entities: &[Entity], token: &str) -> StoreResult<Vec<LoadTickets>> {
        let by_shard = self.group_by_shard(entities);
        let cmds: Vec<Cmd> = by_shard
            .iter()
            .map(|(shard, entities)| {
                let mut touched = vec![keys::meta(*shard)];
                touched.extend(entities.iter().map(|entity| keys::load_token(*shard, *entity)));
                let mut cmd = scripts::TAKE_LOAD_TOKENS.call(&touched);
                cmd.arg(token).arg(TOKEN_LIFE.as_millis() as u64).arg(self.shards().get());
                cmd
            })
            .collect();
        let replies = self.pipeline(&cmds).await?;
        by_shard
            .into_iter()
            .zip(replies)
            .map(|((shard, entities), reply)| {
                tickets(shard, token.to_owned(), entities, script_reply(reply)?)
            })
            .collect()
    }

    /// Gives up loads: removes this caller's tokens, in one round trip.
    pub async fn release_load_tokens(&self, entities: &[Entity], token: &str) -> StoreResult<()> {
        let by_shard = self.group_by_shard(entities);
        let cmds: Vec<Cmd> = by_shard
            .iter()
            .map(|(shard, entities)| {
                let tokens: Vec<_> =
                    entities.iter().map(|entity| keys::load_token(*shard, *entity)).collect();
                let mut cmd = scripts::RELEASE_LOAD_TOKENS.call(&tokens);
                cmd.arg(token);
                cmd
            })
            .collect();
        for reply in self.pipeline(&cmds).await? {
            let ReleaseLoadTokensResult::Done = script_reply(reply)?.result()?;
        }
        Ok(())
    }

    /// Finishes loads, in one round trip; each may be refused separately.
    pub async fn install_counts(
        &self,
        tickets: &LoadTickets,
        installs: &[Install<'_>],
    ) -> StoreResult<Vec<InstallOutcome>> {
        let cmds: Vec<Cmd> = installs.iter().map(|install| install_one(tickets, install)).collect();
        let replies = self.pipeline(&cmds).await?;
        replies
            .into_iter()
            .map(|reply| {
                let mut reply = script_reply(reply)?;
                match reply.result()? {
                    InstallCountsResult::Done => {
                        let version = Version::new(tickets.epoch, reply.next()?);
                        Ok(InstallOutcome::Done(version, Counts::from_values(reply.rest::<i64>()?)))
                    }
                    InstallCountsResult::Behind => Ok(InstallOutcome::Behind),
                    InstallCountsResult::Refused => Ok(InstallOutcome::Refused),
                }
            })
            .collect()
    }
}

fn tickets(
    shard: ShardId,
    token: String,
    entities: Vec<Entity>,
    mut reply: Reply,
) -> StoreResult<LoadTickets> {
    let TakeLoadTokensResult::Done = reply.result()?;
    let epoch = reply.next()?;
    let flags: Vec<bool> = reply.next()?;
    let retired: Vec<String> = reply.next()?;
    let (taken, others): (Vec<_>, Vec<_>) = entities.into_iter().zip(flags).partition(|(_, taken)| *taken);
    let only_entities = |pairs: Vec<(Entity, bool)>| pairs.into_iter().map(|(entity, _)| entity).collect();
    Ok(LoadTickets {
        shard,
        token,
        epoch,
        taken: only_entities(taken),
        others: only_entities(others),
        retired: retired.iter().map(|text| parse(text)).collect::<StoreResult<_>>()?,
    })
}

fn install_one(tickets: &LoadTickets, install: &Install<'_>) -> Cmd {
    let (shard, entity) = (tickets.shard, install.entity);
    let mut cmd = scripts::INSTALL_COUNTS.call(&[
        keys::meta(shard),
        keys::changes(shard),
        keys::counters(shard, entity),
        keys::load_token(shard, entity),
    ]);
    cmd.arg(&tickets.token)
        .arg(tickets.epoch)
        .arg(install.timeline)
        .arg(entity.to_string())
        .arg(life_with_jitter(COUNTS_LIFE))
        .arg(install.persisted.len());
    for offset in install.persisted {
        cmd.arg(offset.to_string());
    }
    for (counter, total) in entity.kind.counters().iter().zip(install.totals.values(entity.kind)) {
        cmd.arg(counter.name()).arg(total);
    }
    cmd
}
