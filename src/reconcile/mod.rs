//! Reconciliation: recounts totals from rows, compares what Redis holds with PostgreSQL, and repairs.
//!
//! - [`totals`]: totals against rows, in PostgreSQL;
//! - [`bases`]: counters in Redis against totals;
//! - [`members`]: cached sets and pending flips against rows;
//! - [`walk`]: everything, page by page; [`touched`]: only what was touched lately;
//! - [`finding`]: what is said of it; [`explain`]: one entity, or one edge, from all sides.
//!
//! The pipeline runs meanwhile and is not held up. What moves just now is looked at again, and in the end
//! skipped: it is never taken for drift.

mod bases;
pub mod explain;
mod finding;
mod members;
mod totals;
mod touched;
mod walk;

pub use finding::{Finding, Outcome, What};
pub use touched::Windows;
pub use walk::{PAGE, Walk};

use crate::{
    catalogue::{Entity, EntityKind},
    primitives::Id,
    store::{
        StoreResult,
        redis::Redis,
        sql::{self, Db, Repair},
    },
};

/// Who lets it run; kept with each repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
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
    by: By,
    repairs: bool,
}

impl By {
    const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Background => "background",
            Self::Nightly => "nightly",
        }
    }
}

impl Reconciler {
    /// One that `repairs` what it finds, or only tells.
    pub const fn new(redis: Redis, db: Db, by: By, repairs: bool) -> Self {
        Self { redis, db, by, repairs }
    }

    /// Checks entities of one kind: totals, then Redis, for users also their edges. At most about [`PAGE`].
    pub async fn check(&self, kind: EntityKind, ids: &[Id]) -> StoreResult<Outcome> {
        let mut outcome = self.check_totals(kind, ids).await?;
        // What PostgreSQL has wrong Redis has too, until the repair has reached it.
        let right: Vec<Entity> =
            ids.iter().map(|id| Entity::new(kind, *id)).filter(|entity| !outcome.names(*entity)).collect();
        outcome.take_in(self.check_bases(kind, &right).await?);
        if kind == EntityKind::User {
            outcome.take_in(self.check_members(ids).await?);
        }
        Ok(outcome)
    }

    /// The same for entities of any kinds.
    pub async fn check_all(&self, entities: &[Entity]) -> StoreResult<Outcome> {
        let mut outcome = Outcome::default();
        for kind in EntityKind::ALL {
            let ids: Vec<Id> =
                entities.iter().filter(|entity| entity.kind == *kind).map(|entity| entity.id).collect();
            for page in ids.chunks(PAGE) {
                outcome.take_in(self.check(*kind, page).await?);
            }
        }
        Ok(outcome)
    }

    /// Keeps what was repaired outside of PostgreSQL's own transactions.
    async fn keep_repairs(&self, findings: &[Finding]) -> StoreResult<()> {
        let mut tx = self.db.begin().await?;
        let repairs: Vec<Repair> = findings.iter().map(Finding::repair).collect();
        sql::add_repairs(&self.db, &mut tx, &repairs, self.by.name()).await?;
        sql::commit(&self.db, tx).await
    }
}
