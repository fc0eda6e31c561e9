//! Load on a miss: a script in Redis adds pending changes to the totals of PostgreSQL. It refuses if the counters
//! changed since the totals were read; then the load is repeated.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use super::{CountsAt, CountsMap, Hub, view::ReadTicket};
use crate::{
    catalogue::{Entity, EntityKind},
    primitives::{
        Id, Offset,
        fault::{self, Point},
    },
    store::{
        StoreError, StoreResult,
        redis::{CountsRead, Install, InstallOutcome, LoadTickets},
        sql::counts::CountsSnapshot,
    },
};

/// Longest time that a request waits for counts that change during each load.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Pause between two attempts, and while another loader has the token.
const PAUSE: Duration = Duration::from_millis(4);
/// How long the same totals are tried to install while the fold is behind them: longer than targets take to follow.
const FOLD_PATIENCE: Duration = Duration::from_millis(100);

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
            // An invalidation may have arrived after an entity was loaded, and before the others were.
            missing.clear();
            for (entity, counted) in found {
                if self.view_of(entity).lock().is_outdated(entity, counted.version) {
                    missing.push(entity);
                } else {
                    all.insert(entity, counted);
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
            let found = hub.load_with_token(&entities).await?;
            let loaded = |key: LoadKey| Some((key, *found.get(&key.0)?));
            Ok(keys.into_iter().filter_map(loaded).collect())
        };
        let found = self.inner.loads.get(&keys, load).await?;
        Ok(found.into_iter().map(|((entity, _), counted)| (entity, counted)).collect())
    }

    async fn load_with_token(&self, entities: &[Entity]) -> StoreResult<CountsMap> {
        let token = uuid::Uuid::new_v4().simple().to_string();
        let mut found = CountsMap::with_capacity(entities.len());
        let outcome = self.load_until_done(entities, &token, &mut found).await;
        let not_loaded: Vec<Entity> =
            entities.iter().filter(|entity| !found.contains_key(entity)).copied().collect();
        if !not_loaded.is_empty() {
            // So that the next loader need not wait until the tokens expire.
            let _ = self.inner.redis.release_load_tokens(&not_loaded, &token).await;
        }
        outcome.map(|()| found)
    }

    async fn load_until_done(
        &self,
        entities: &[Entity],
        token: &str,
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
            missing = self.read(&missing, found).await?;
            if missing.is_empty() {
                return Ok(());
            }
        }
    }

    /// One attempt; returns the entities that are still to be loaded.
    async fn load_once(
        &self,
        entities: &[Entity],
        token: &str,
        found: &mut CountsMap,
    ) -> StoreResult<Vec<Entity>> {
        let reads = self.begin_reads(entities);
        let tickets = self.inner.redis.take_load_tokens(entities, token).await?;
        let snapshots = self.read_totals(&tickets).await?;
        fault::reached(Point::WhileLoading)?;
        let mut missing = Vec::new();
        for ticket in &tickets {
            missing.extend_from_slice(&ticket.others);
            let (installs, behind) = installs(ticket, &snapshots);
            missing.extend(behind);
            for (install, outcome) in self.install(ticket, installs).await? {
                match self.keep_installed(reads[ticket.shard.index()], install.entity, outcome) {
                    Some(counted) => {
                        found.insert(install.entity, counted);
                    }
                    None => missing.push(install.entity),
                }
            }
        }
        Ok(missing)
    }

    /// Installs totals, those again that the fold is behind.
    async fn install<'a>(
        &self,
        ticket: &LoadTickets,
        mut installs: Vec<Install<'a>>,
    ) -> StoreResult<Vec<(Install<'a>, InstallOutcome)>> {
        let (began, mut installed) = (Instant::now(), Vec::with_capacity(installs.len()));
        loop {
            let outcomes = self.inner.redis.install_counts(ticket, &installs).await?;
            let is_last = began.elapsed() > FOLD_PATIENCE;
            let mut behind = Vec::new();
            for (install, outcome) in installs.into_iter().zip(outcomes) {
                if outcome == InstallOutcome::Behind && !is_last {
                    behind.push(install);
                } else {
                    installed.push((install, outcome));
                }
            }
            if behind.is_empty() {
                return Ok(installed);
            }
            installs = behind;
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn keep_installed(&self, read: ReadTicket, entity: Entity, outcome: InstallOutcome) -> Option<CountsAt> {
        match outcome {
            InstallOutcome::Done(version, counts) => {
                self.finish_read(read, entity, CountsRead::Known(version, counts))
            }
            InstallOutcome::Behind | InstallOutcome::Refused => None,
        }
    }

    /// One statement per kind of entity, for all shards together.
    async fn read_totals(
        &self,
        tickets: &[LoadTickets],
    ) -> StoreResult<BTreeMap<EntityKind, CountsSnapshot>> {
        let mut by_kind = BTreeMap::<EntityKind, Vec<Id>>::new();
        for entity in tickets.iter().flat_map(|ticket| &ticket.taken) {
            by_kind.entry(entity.kind).or_default().push(entity.id);
        }
        let mut snapshots = BTreeMap::new();
        for (kind, ids) in by_kind {
            snapshots.insert(kind, self.inner.db.read_totals(kind, &ids).await?);
        }
        Ok(snapshots)
    }
}

/// The totals to install, and the entities whose totals are older than the retired offset: they must be read again.
/// Entities that do not exist are in neither list.
fn installs<'a>(
    ticket: &LoadTickets,
    snapshots: &'a BTreeMap<EntityKind, CountsSnapshot>,
) -> (Vec<Install<'a>>, Vec<Entity>) {
    let (mut installs, mut behind) = (Vec::new(), Vec::new());
    for entity in &ticket.taken {
        let Some(snapshot) = snapshots.get(&entity.kind) else { continue };
        let Some(totals) = snapshot.totals.get(&entity.id) else { continue };
        if is_behind(&snapshot.persisted, &ticket.retired) {
            behind.push(*entity);
        } else {
            installs.push(Install {
                entity: *entity,
                totals: *totals,
                persisted: &snapshot.persisted,
                timeline: &snapshot.timeline,
            });
        }
    }
    (installs, behind)
}

fn is_behind(persisted: &[Offset], retired: &[Offset]) -> bool {
    persisted.iter().zip(retired).any(|(persisted, retired)| persisted < retired)
}
