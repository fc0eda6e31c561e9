//! What reconciliation found.

use std::{collections::BTreeSet, fmt};

use serde::{Serialize, Serializer};

use crate::{catalogue::Entity, store::sql::Repair};

/// What is not what it must be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// A total in PostgreSQL is not what its rows say.
    Total,
    /// An entity has no row of totals.
    TotalsMissing,
    /// There are totals of an entity that never was.
    TotalsOrphaned,
    /// A counter in Redis is not PostgreSQL's total and what is pending.
    Redis,
    /// A pending part in Redis is left although nothing is pending.
    Pending,
    /// A cached set of a user's edges is not what the rows say.
    Members,
    /// Flips are left as pending although they are rows since long.
    Flips,
}

/// One thing that drifted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    #[serde(serialize_with = "as_text")]
    pub entity: Entity,
    #[serde(serialize_with = "as_text")]
    pub what: What,
    /// Name of the counter, or of the kind of edges; empty for all counters.
    pub counter: &'static str,
    /// `None`: nothing was there.
    pub found: Option<i64>,
    /// What it must be; `None`: nothing.
    pub expected: Option<i64>,
    /// By how much it was wrong: `found - expected`; for sets and flips how many are wrong.
    pub off: i64,
    pub repaired: bool,
}

/// What came of a check.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Entities that were looked at.
    pub checked: u64,
    /// Entities of which a part could not be judged: it moved each time.
    pub skipped: BTreeSet<Entity>,
    pub findings: Vec<Finding>,
}

impl What {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::TotalsMissing => "totals missing",
            Self::TotalsOrphaned => "totals orphaned",
            Self::Redis => "redis",
            Self::Pending => "pending part",
            Self::Members => "cached set",
            Self::Flips => "pending flips",
        }
    }

    /// What the repair does.
    pub const fn mend(self) -> &'static str {
        match self {
            Self::Total => "set",
            Self::TotalsMissing => "created",
            Self::TotalsOrphaned => "deleted",
            Self::Redis | Self::Pending => "dropped, loads anew",
            Self::Members => "dropped, loads anew",
            Self::Flips => "removed",
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Finding {
    /// A number that is not what it must be; nothing was done about it.
    pub(super) const fn number(
        entity: Entity,
        what: What,
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

    /// What it says in one word or two, for a table.
    pub const fn done(&self) -> &'static str {
        if self.repaired { self.what.mend() } else { "-" }
    }
}

impl Outcome {
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
