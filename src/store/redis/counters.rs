//! Counters: read, load on a miss, fold, clean, drop.

use std::{collections::BTreeMap, time::Duration};

use redis::{Cmd, Value};

use super::{
    connection::{Redis, script_reply},
    keys,
    kinds::{Kinds, write_deltas},
    reply::{Reply, parse, read},
    scripts,
};
use crate::{
    catalogue::{Counts, Entity},
    event_log::Moves,
    primitives::{Offset, ShardId, Version},
    store::{StoreError, StoreResult},
};

/// How long a loader may take before another one may begin.
const TOKEN_LIFE: Duration = Duration::from_secs(5);
/// How long counters of which nothing is pending are kept; up to a sixth more, so that what was loaded
/// together does not expire together.
const COUNTS_LIFE: Duration = Duration::from_secs(12 * 60 * 60);

/// What Redis holds of one entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountsRead {
    Known(Version, Counts),
    /// Not loaded, or not all of it.
    Missing,
}

/// Answer to a read, with the epochs of the shards at that moment.
pub type ReadCounts = Vec<(Entity, CountsRead)>;

/// What became of a batch on one target shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    Done,
    /// The target's position or epoch is not what the caller thought: read its meta again.
    Moved,
    /// Clean only: the target has not folded that far yet.
    TooEarly,
}

/// Permission to load some entities of one shard.
#[derive(Debug)]
pub struct LoadTickets {
    pub shard: ShardId,
    token: String,
    pub epoch: u64,
    /// Entities that this caller may load; the others are being loaded by someone else.
    pub taken: Vec<Entity>,
    pub others: Vec<Entity>,
    /// Per source shard: cleaned-to offset. SQL must not be behind it.
    pub cleaned: Vec<Offset>,
}

/// Totals that SQL gave in one statement with how far each log was persisted.
pub struct Install<'a> {
    pub entity: Entity,
    pub totals: Counts,
    pub persisted: &'a [Offset],
    pub timeline: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Installed {
    Done(Version, Counts),
    /// Something moved meanwhile: load again.
    Refused,
}

impl Redis {
    /// Reads the counters of many entities in one round trip.
    pub async fn read_counts(&self, entities: &[Entity]) -> StoreResult<ReadCounts> {
        let by_shard = self.group_by_shard(entities);
        let mut cmds = Vec::with_capacity(entities.len() + by_shard.len());
        for (shard, entities) in &by_shard {
            cmds.push(self.read_meta(*shard));
            cmds.extend(entities.iter().map(|entity| read_one(*shard, *entity)));
        }
        let mut replies = self.pipeline(&cmds).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Ok(Value::Nil));

        let mut answer = Vec::with_capacity(entities.len());
        for entities in by_shard.values() {
            let mut meta = script_reply(next())?;
            if meta.code != "done" {
                return Err(meta.into_error());
            }
            let epoch: u64 = meta.next()?;
            for entity in entities {
                answer.push((*entity, interpret(*entity, epoch, read(next()?)?)?));
            }
        }
        Ok(answer)
    }

    /// The gate of every read: fails on a process that nobody has verified.
    pub(super) fn read_meta(&self, shard: ShardId) -> Cmd {
        let mut cmd = scripts::READ_META.call(&[keys::meta(shard)]);
        cmd.arg(shard.0);
        cmd
    }

    /// Asks for permission to load, per shard, in one round trip. Whoever holds a token may take it again.
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
            script_reply(reply)?.expect_done()?;
        }
        Ok(())
    }

    /// Finishes loads, in one round trip; each may be refused by itself.
    pub async fn install_counts(
        &self,
        tickets: &LoadTickets,
        installs: &[Install<'_>],
    ) -> StoreResult<Vec<Installed>> {
        let cmds: Vec<Cmd> = installs.iter().map(|install| install_one(tickets, install)).collect();
        let replies = self.pipeline(&cmds).await?;
        replies
            .into_iter()
            .map(|reply| {
                let mut reply = script_reply(reply)?;
                match reply.code.as_str() {
                    "done" => {
                        let version = Version::new(tickets.epoch, reply.next()?);
                        let counts = Counts::from_values(reply.rest::<i64>()?);

                        Ok(Installed::Done(version, counts))
                    }
                    "refused" => Ok(Installed::Refused),
                    _ => Err(reply.into_error()),
                }
            })
            .collect()
    }

    /// Applies a source shard's batch to target shards, in one round trip.
    pub async fn fold(&self, source: ShardId, fence: u64, batches: &[Batch]) -> StoreResult<Vec<Applied>> {
        let cmds: Vec<Cmd> = batches.iter().map(|batch| fold_one(source, fence, batch)).collect();
        self.apply(&cmds).await
    }

    /// Tells target shards that a source shard's batch is persisted, in one round trip.
    pub async fn clean_counters(
        &self,
        source: ShardId,
        fence: u64,
        batches: &[Batch],
    ) -> StoreResult<Vec<Applied>> {
        let cmds: Vec<Cmd> = batches.iter().map(|batch| clean_one(source, fence, batch)).collect();
        self.apply(&cmds).await
    }

    async fn apply(&self, cmds: &[Cmd]) -> StoreResult<Vec<Applied>> {
        let replies = self.pipeline(cmds).await?;
        replies
            .into_iter()
            .map(|reply| {
                let reply = script_reply(reply)?;
                match reply.code.as_str() {
                    "done" => Ok(Applied::Done),
                    "moved" | "other_epoch" => Ok(Applied::Moved),
                    "too_early" => Ok(Applied::TooEarly),
                    _ => Err(reply.into_error()),
                }
            })
            .collect()
    }

    /// Forgets the loaded totals of entities and tells the hubs, in one round trip.
    pub async fn drop_bases(&self, entities: &[Entity]) -> StoreResult<()> {
        let cmds: Vec<Cmd> = entities
            .iter()
            .map(|entity| {
                let shard = self.shard_of(entity.id);
                let mut cmd = scripts::DROP_BASE.call(&[
                    keys::meta(shard),
                    keys::changes(shard),
                    keys::counters(shard, *entity),
                    keys::load_token(shard, *entity),
                ]);
                cmd.arg(entity.to_string());
                for counter in entity.kind.counters() {
                    cmd.arg(counter.name());
                }
                cmd
            })
            .collect();
        for reply in self.pipeline(&cmds).await? {
            script_reply(reply)?.expect_done()?;
        }
        Ok(())
    }

    pub async fn heartbeat(&self, shard: ShardId) -> StoreResult<()> {
        let mut cmd = scripts::HEARTBEAT.call(&[keys::meta(shard), keys::changes(shard)]);
        cmd.arg(self.shards().get());
        Reply::read(self.command(&cmd).await?)?.expect_done()
    }

    fn group_by_shard(&self, entities: &[Entity]) -> BTreeMap<ShardId, Vec<Entity>> {
        let mut by_shard = BTreeMap::<_, Vec<_>>::new();
        for entity in entities {
            by_shard.entry(self.shard_of(entity.id)).or_default().push(*entity);
        }
        by_shard
    }
}

/// A batch of one source shard for one target shard.
#[derive(Debug)]
pub struct Batch {
    pub target: ShardId,
    /// The target's epoch, as last read.
    pub epoch: u64,
    pub from: Offset,
    pub to: Offset,
    /// Only entities of the target shard.
    pub moves: Moves,
}

fn read_one(shard: ShardId, entity: Entity) -> Cmd {
    let mut cmd = redis::cmd("HMGET");
    cmd.arg(keys::counters(shard, entity)).arg("epoch").arg("v");
    for counter in entity.kind.counters() {
        cmd.arg(counter.name());
    }
    cmd
}

fn interpret(entity: Entity, epoch: u64, fields: Vec<Option<i64>>) -> StoreResult<CountsRead> {
    let [held_epoch, change, values @ ..] = fields.as_slice() else {
        return Err(StoreError::Unexpected(format!("{} fields of {entity}", fields.len())));
    };
    let complete: Option<Vec<i64>> = values.iter().copied().collect();
    match (held_epoch, change, complete) {
        (Some(held), Some(change), Some(values)) if *held as u64 == epoch => {
            Ok(CountsRead::Known(Version::new(epoch, *change as u64), Counts::from_values(values)))
        }
        _ => Ok(CountsRead::Missing),
    }
}

fn tickets(
    shard: ShardId,
    token: String,
    entities: Vec<Entity>,
    mut reply: Reply,
) -> StoreResult<LoadTickets> {
    if reply.code != "done" {
        return Err(reply.into_error());
    }
    let epoch = reply.next()?;
    let flags: Vec<bool> = reply.next()?;
    let cleaned: Vec<String> = reply.next()?;
    let (taken, others): (Vec<_>, Vec<_>) = entities.into_iter().zip(flags).partition(|(_, taken)| *taken);
    let only_entities = |pairs: Vec<(Entity, bool)>| pairs.into_iter().map(|(entity, _)| entity).collect();
    Ok(LoadTickets {
        shard,
        token,
        epoch,
        taken: only_entities(taken),
        others: only_entities(others),
        cleaned: cleaned.iter().map(|text| parse(text)).collect::<StoreResult<_>>()?,
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

fn fold_one(source: ShardId, fence: u64, batch: &Batch) -> Cmd {
    let mut touched = vec![keys::meta(batch.target), keys::changes(batch.target)];
    touched.extend(batch.moves.keys().map(|entity| keys::counters(batch.target, *entity)));
    let mut cmd = scripts::FOLD.call(&touched);
    write_borders(&mut cmd, source, fence, batch);
    let kinds = Kinds::of(&batch.moves);
    kinds.write(&mut cmd);
    for (entity, moved) in &batch.moves {
        cmd.arg(kinds.position(*entity)).arg(entity.to_string());
        cmd.arg(moved.after.to_string()).arg(moved.last.to_string());
        write_deltas(&mut cmd, *entity, &moved.by);
    }
    cmd
}

fn clean_one(source: ShardId, fence: u64, batch: &Batch) -> Cmd {
    let mut touched = vec![keys::meta(batch.target)];
    for entity in batch.moves.keys() {
        touched.push(keys::counters(batch.target, *entity));
        touched.push(keys::load_token(batch.target, *entity));
    }
    let mut cmd = scripts::CLEAN_COUNTERS.call(&touched);
    write_borders(&mut cmd, source, fence, batch);
    cmd.arg(life_with_jitter(COUNTS_LIFE));
    let kinds = Kinds::of(&batch.moves);
    kinds.write(&mut cmd);
    for (entity, moved) in &batch.moves {
        cmd.arg(kinds.position(*entity));
        write_deltas(&mut cmd, *entity, &moved.by);
    }
    cmd
}

fn write_borders(cmd: &mut Cmd, source: ShardId, fence: u64, batch: &Batch) {
    cmd.arg(source.0).arg(batch.from.to_string()).arg(batch.to.to_string()).arg(batch.epoch).arg(fence);
}

/// Milliseconds: `life` and up to a sixth more.
pub(super) fn life_with_jitter(life: Duration) -> u64 {
    let life = life.as_millis() as u64;
    life + rand::random_range(0..=life / 6)
}
