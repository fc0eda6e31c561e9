//! Findings: differences that reconciliation reports, and how it repairs them.

use std::{collections::BTreeSet, fmt};

use serde::{Serialize, Serializer};

use plaudit_catalogue::Entity;
use plaudit_store::sql::counting::repairs::Repair;

/// Kind of drift.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DriftKind {
    /// A total differs from the count of its rows.
    Total,
    /// An entity has no row of totals.
    TotalsMissing,
    /// Totals of an entity that never existed.
    TotalsOrphaned,
    /// A counter in Redis differs from the total and the events after it.
    Redis,
    /// A cached set of a user's edges differs from the rows.
    Members,
    /// Flips are still pending although they are retired.
    Flips,
}

/// One value that drifted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    #[serde(serialize_with = "as_text")]
    pub entity: Entity,
    #[serde(serialize_with = "as_text")]
    pub what: DriftKind,
    /// Name of the counter, or of the kind of edges; empty for all counters.
    pub counter: &'static str,
    /// `None` if nothing was stored.
    pub found: Option<i64>,
    /// The right value; `None` if nothing should be stored.
    pub expected: Option<i64>,
    /// `found - expected`; for sets and flips, the number of wrong ones.
    pub off: i64,
    pub repaired: bool,
}

/// Result of a check.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CheckReport {
    /// Entities checked.
    pub checked: u64,
    /// Entities of which a part could not be compared, because it changed each time.
    pub skipped: BTreeSet<Entity>,
    pub findings: Vec<Finding>,
}

impl DriftKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::TotalsMissing => "totals missing",
            Self::TotalsOrphaned => "totals orphaned",
            Self::Redis => "redis",
            Self::Members => "cached set",
            Self::Flips => "pending flips",
        }
    }

    /// Name of the repair.
    pub const fn repair_name(self) -> &'static str {
        match self {
            Self::Total => "set",
            Self::TotalsMissing => "created",
            Self::TotalsOrphaned => "deleted",
            Self::Redis | Self::Members => "invalidated",
            Self::Flips => "removed",
        }
    }
}

impl fmt::Display for DriftKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Finding {
    /// A wrong number, not repaired yet.
    pub(super) const fn number(
        entity: Entity,
        what: DriftKind,
        counter: &'static str,
        found: i64,
        expected: i64,
    ) -> Self {
        let off = found - expected;
        Self { entity, what, counter, found: Some(found), expected: Some(expected), off, repaired: false }
    }

    pub(super) fn repair(&self) -> Repair {
        Repair {
            entity: self.entity,
            what: self.what.name(),
            counter: self.counter,
            from: self.found,
            to: self.expected,
        }
    }

    /// What was done, for a table.
    pub const fn done(&self) -> &'static str {
        if self.repaired { self.what.repair_name() } else { "-" }
    }
}

impl CheckReport {
    pub fn take_in(&mut self, other: Self) {
        self.checked += other.checked;
        self.skipped.extend(other.skipped);
        self.findings.extend(other.findings);
    }

    pub fn names(&self, entity: Entity) -> bool {
        self.findings.iter().any(|finding| finding.entity == entity)
    }

    pub fn repaired(&self) -> u64 {
        self.findings.iter().filter(|finding| finding.repaired).count() as u64
    }
}

fn as_text<S: Serializer>(value: impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&value)
}
