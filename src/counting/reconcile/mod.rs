//! Reconciliation: recounts totals from rows, compares what Redis holds with PostgreSQL, and repairs.
//!
//! - [`totals`]: totals against rows, both in PostgreSQL;
//! - [`counters`]: counters in Redis against totals;
//! - [`members`]: cached sets and pending flips against rows;
//! - [`entity_walk`]: every entity, page by page; [`touched`]: entities changed within a time;
//! - [`finding`]: the differences found; [`explain`]: the state of one entity in all stores, as an [`explanation`].
//!
//! The pipeline keeps running. An entity that changes during the check is checked again, and finally skipped: it is
//! never reported as drift.

mod counters;
mod entity_walk;
pub mod explain;
pub mod explanation;
mod finding;
mod members;
mod totals;
mod touched;

pub use entity_walk::{EntityWalk, PAGE};
pub use finding::{CheckReport, DriftKind, Finding};
pub use touched::Windows;

use std::sync::Arc;

use plaudit_catalogue::{Entity, EntityKind, primitives::Id};
use plaudit_store::{
    StoreResult,
    redis::{LogTails, Redis},
    sql::{
        Db,
        counting::repairs::{self, Repair},
    },
};

/// What started a check; stored with each repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    Command,
    /// The sample of each second.
    Background,
    /// The run over everything.
    Nightly,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Reconciler {
    redis: Redis,
    db: Db,
    tails: Arc<LogTails>,
    by: Trigger,
    repairs: bool,
}

impl Trigger {
    const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Background => "background",
            Self::Nightly => "nightly",
        }
    }
}

impl Reconciler {
    /// `repairs`: whether to repair drift, or only report it.
    pub fn new(redis: Redis, db: Db, by: Trigger, repairs: bool) -> Self {
        Self { tails: Arc::new(LogTails::new(redis.clone())), redis, db, by, repairs }
    }

    /// Checks entities of one kind: totals, then Redis, for users also their edges. At most about [`PAGE`].
    pub async fn check(&self, kind: EntityKind, ids: &[Id]) -> StoreResult<CheckReport> {
        let mut outcome = self.check_totals(kind, ids).await?;
        // If totals drifted, Redis differs too until it is invalidated. That is no separate finding.
        let right: Vec<Entity> =
            ids.iter().map(|id| Entity::new(kind, *id)).filter(|entity| !outcome.names(*entity)).collect();
        outcome.take_in(self.check_counters(kind, &right).await?);
        if kind == EntityKind::User {
            outcome.take_in(self.check_members(ids).await?);
        }
        Ok(outcome)
    }

    /// The same for entities of all kinds.
    pub async fn check_all(&self, entities: &[Entity]) -> StoreResult<CheckReport> {
        let mut outcome = CheckReport::default();
        for kind in EntityKind::ALL {
            let ids: Vec<Id> =
                entities.iter().filter(|entity| entity.kind == *kind).map(|entity| entity.id).collect();
            for page in ids.chunks(PAGE) {
                outcome.take_in(self.check(*kind, page).await?);
            }
        }
        Ok(outcome)
    }

    /// Records repairs of Redis.
    async fn keep_repairs(&self, findings: &[Finding]) -> StoreResult<()> {
        let mut tx = self.db.begin().await?;
        let repairs: Vec<Repair> = findings.iter().map(Finding::repair).collect();
        repairs::add_repairs(&mut tx, &repairs, self.by.name()).await?;
        tx.commit().await
    }
}
