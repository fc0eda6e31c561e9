//! Load on a miss. A count is PostgreSQL's total, and the events after it. Of what does not exist no load
//! begins: a load writes to Redis.
//!
//! 1. In Redis the counters begin at zero, marked as loading; the fold adds to them from its present offsets on.
//! 2. PostgreSQL returns totals, and the offsets up to which they include each log.
//! 3. The logs have the events between those offsets and the fold's ([`LogTails`](plaudit_store::redis::LogTails)).
//! 4. A script adds both to what was folded meanwhile. An invalidation in between deletes the mark; then the load is
//!    repeated.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use tokio::time::Instant;

use super::{CountsMap, Hub, read, view::ReadTicket};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{
        Id,
        fault::{self, Point},
    },
};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{BegunLoads, CountsRead, Install, LoadToken, counts::loads},
    sql::{
        Db,
        content::given_ids,
        counting::counts::{self, CountsSnapshot},
    },
};

/// Longest time that a request waits for counts that change during each load.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Pause between two attempts, and while another loader is at work.
const PAUSE: Duration = Duration::from_millis(4);

/// An entity to load, and the interruption that its load must follow.
pub(super) type LoadKey = (Entity, ReadTicket);

impl Hub {
    /// Loads entities; those that do not exist are missing.
    pub(super) async fn load(&self, entities: &[Entity]) -> StoreResult<CountsMap> {
        let (began, mut tries) = (Instant::now(), 0);
        let mut all = CountsMap::with_capacity(entities.len());
        let mut missing = entities.to_vec();
        while !missing.is_empty() {
            tries += 1;
            if tries > 1 && began.elapsed() > PATIENCE {
                return Err(StoreError::Contended { tries });
            }
            let found = self.load_together(&missing).await?;
            // Changes may have arrived after an entity was loaded, and before the others were.
            missing.clear();
            for (entity, loaded) in found {
                match self.view_of(entity).lock().since_load(entity, loaded) {
                    Some(counted) => drop(all.insert(entity, counted)),
                    None => missing.push(entity),
                }
            }
        }
        Ok(all)
    }

    /// Requests that miss the same entity share one load, which continues when they are cancelled. After an
    /// interruption no request joins an earlier load, because its result reaches no subscriber.
    async fn load_together(&self, entities: &[Entity]) -> StoreResult<CountsMap> {
        let hub = self.clone();
        let keys: Vec<LoadKey> =
            entities.iter().map(|entity| (*entity, self.view_of(*entity).lock().ticket())).collect();
        let load = |keys: Vec<LoadKey>| async move {
            let entities: Vec<Entity> = keys.iter().map(|(entity, _)| *entity).collect();
            let existing = hub.existing(entities).await?;
            let found =
                if existing.is_empty() { CountsMap::new() } else { hub.load_with_token(&existing).await? };
            let loaded = |key: LoadKey| Some((key, *found.get(&key.0)?));
            Ok(keys.into_iter().filter_map(loaded).collect())
        };
        let found = self.inner.loads.get(&keys, load).await?;
        Ok(found.into_iter().map(|((entity, _), counted)| (entity, counted)).collect())
    }

    /// The entities that exist. PostgreSQL is asked about an entity if this process has no counts of it and heard no
    /// change.
    async fn existing(&self, entities: Vec<Entity>) -> StoreResult<Vec<Entity>> {
        let is_known = |entity: &Entity| self.view_of(*entity).lock().knows(*entity);
        let (mut existing, unknown): (Vec<_>, Vec<_>) = entities.into_iter().partition(is_known);
        if !unknown.is_empty() {
            let db = self.inner.db.clone();
            let read = |unknown| async move { read_existing(&db, unknown).await };
            existing.extend(self.inner.existing.get(&unknown, read).await?.into_keys());
        }
        Ok(existing)
    }

    async fn load_with_token(&self, entities: &[Entity]) -> StoreResult<CountsMap> {
        let token = LoadToken::random();
        let mut found = CountsMap::with_capacity(entities.len());
        let outcome = self.load_until_done(entities, token, &mut found).await;
        let not_loaded: Vec<Entity> =
            entities.iter().filter(|entity| !found.contains_key(entity)).copied().collect();
        if !not_loaded.is_empty() {
            // So that the next loader need not wait until they expire.
            let _ = loads::cancel_loads(&self.inner.redis, &not_loaded, token).await;
        }
        outcome.map(|()| found)
    }

    async fn load_until_done(
        &self,
        entities: &[Entity],
        token: LoadToken,
        found: &mut CountsMap,
    ) -> StoreResult<()> {
        let began = Instant::now();
        let mut missing = entities.to_vec();
        let mut tries = 0;
        loop {
            tries += 1;
            missing = self.load_once(&missing, token, found).await?;
            if missing.is_empty() {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(StoreError::Contended { tries });
            }
            tokio::time::sleep(PAUSE).await;
            // Another process may have loaded them meanwhile.
            missing = read::read(self, &missing, found).await?;
            if missing.is_empty() {
                return Ok(());
            }
        }
    }

    /// One attempt; returns the entities that are still to be loaded.
    async fn load_once(
        &self,
        entities: &[Entity],
        token: LoadToken,
        found: &mut CountsMap,
    ) -> StoreResult<Vec<Entity>> {
        let reads = read::begin_reads(self, entities);
        let loads = loads::begin_loads(&self.inner.redis, entities, token).await?;
        let snapshots = self.read_totals(&loads).await?;
        fault::reached(Point::WhileLoading)?;
        let mut missing = Vec::new();
        for load in &loads {
            missing.extend_from_slice(&load.others);
            let mut installs = Vec::new();
            for (kind, snapshot) in &snapshots {
                self.add_installs(load, *kind, snapshot, &mut installs, &mut missing).await?;
            }
            let installed = loads::install_counts(&self.inner.redis, load.shard, token, &installs).await?;
            for (install, outcome) in installs.iter().zip(installed) {
                let kept = outcome.and_then(|(version, counts)| {
                    let read = CountsRead::Known(version, counts);
                    read::finish_read(self, reads[load.shard.index()], install.entity, read)
                });
                match kept {
                    Some(counted) => {
                        found.insert(install.entity, counted);
                    }
                    None => missing.push(install.entity),
                }
            }
        }
        Ok(missing)
    }

    /// Adds the totals to install of one kind, and the entities that must be loaded again because the fold or the log
    /// does not have all events. Entities that do not exist are in neither list.
    async fn add_installs<'a>(
        &self,
        load: &BegunLoads,
        kind: EntityKind,
        snapshot: &'a CountsSnapshot,
        installs: &mut Vec<Install<'a>>,
        missing: &mut Vec<Entity>,
    ) -> StoreResult<()> {
        let existing = |entity: &&Entity| entity.kind == kind && snapshot.totals.contains_key(&entity.id);
        let entities: Vec<Entity> = load.begun.iter().filter(existing).copied().collect();
        let target = (load.shard, load.epoch);
        let Some(tail) = self.inner.tails.sums(&entities, &snapshot.persisted, &load.folded, target).await?
        else {
            missing.extend(entities);
            return Ok(());
        };
        for entity in entities {
            if tail.ahead.contains(&entity) {
                missing.push(entity);
                continue;
            }
            let mut totals = snapshot.totals[&entity.id];
            if let Some(sum) = tail.sums.get(&entity) {
                kind.counters().iter().for_each(|counter| totals.add(*counter, sum.get(*counter)));
            }
            installs.push(Install { entity, totals, timeline: &snapshot.timeline });
        }
        Ok(())
    }

    /// One statement per kind of entity, for all shards together.
    async fn read_totals(&self, loads: &[BegunLoads]) -> StoreResult<BTreeMap<EntityKind, CountsSnapshot>> {
        let begun = loads.iter().flat_map(|load| &load.begun).copied();
        let mut snapshots = BTreeMap::new();
        for (kind, ids) in ids_by_kind(begun) {
            snapshots.insert(kind, counts::read_totals(&self.inner.db, kind, &ids).await?);
        }
        Ok(snapshots)
    }
}

/// One statement per kind of entity.
async fn read_existing(db: &Db, entities: Vec<Entity>) -> StoreResult<HashMap<Entity, ()>> {
    let mut existing = HashMap::new();
    for (kind, ids) in ids_by_kind(entities) {
        let ids = given_ids::existing(db, kind, &ids).await?;
        existing.extend(ids.into_iter().map(|id| (Entity::new(kind, id), ())));
    }
    Ok(existing)
}

pub(super) fn ids_by_kind(entities: impl IntoIterator<Item = Entity>) -> BTreeMap<EntityKind, Vec<Id>> {
    let mut by_kind = BTreeMap::<EntityKind, Vec<Id>>::new();
    for entity in entities {
        by_kind.entry(entity.kind).or_default().push(entity.id);
    }
    by_kind
}
