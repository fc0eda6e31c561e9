//! Explanation of one entity's counts: the JSON document that `schema/explanation.json` describes.

use serde::Serialize;

use super::finding::{DriftKind, Finding};
use plaudit_store::sql::counting::{
    explain::{ActivityRow, EdgeRowState, PendingInvalidation},
    repairs::RepairRow,
};

/// Explanation of one entity's counts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub entity: String,
    /// Shard of the entity.
    pub shard: u16,
    pub exists: bool,
    pub removed_at: Option<chrono::DateTime<chrono::Utc>>,
    pub counters: Vec<CounterSides>,
    pub redis: RedisSide,
    /// Positions of logs, the furthest behind first.
    pub logs: Vec<LogSide>,
    /// From the ends of the logs, newest last.
    pub last_events: Vec<LogEvent>,
    /// From `activity`, newest first.
    pub last_steps: Vec<ActivityRow>,
    /// Invalidations that are not yet applied to Redis.
    pub waiting_invalidations: Vec<PendingInvalidation>,
    pub last_repairs: Vec<RepairRow>,
    pub edges: Vec<EdgeSides>,
    pub findings: Vec<Finding>,
    /// It changed during each comparison.
    pub is_busy: bool,
    /// What is wrong, or that all agrees: a sentence each. Last, because a terminal shows the end of a long output.
    pub verdict: Vec<String>,
}

impl Explanation {
    /// The sentences of the verdict. The last one says what to do.
    pub(super) fn sentences(&self) -> Vec<String> {
        if self.findings.is_empty() {
            return vec![self.agreement().to_owned()];
        }
        let repair = format!("repair it: plaudit reconcile --repair --entity {}", self.entity);
        self.findings.iter().map(sentence).chain([repair]).collect()
    }

    const fn agreement(&self) -> &'static str {
        match (&self.redis.error, self.is_busy, self.exists) {
            (_, _, false) => "it does not exist",
            (Some(_), ..) => "rows and totals agree; Redis could not be read",
            (None, true, _) => {
                "rows and totals agree; Redis is changing, or waits for an invalidation: try again"
            }
            (None, false, true) => "all agree",
        }
    }

    /// Whether it exists, or has existed, or something is stored of it.
    pub fn has_anything(&self) -> bool {
        let has_total = self.counters.iter().any(|counter| counter.total.is_some());
        self.exists || self.removed_at.is_some() || has_total
    }
}

fn sentence(finding: &Finding) -> String {
    let Finding { counter, off, .. } = finding;
    let number = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let (found, expected) = (number(finding.found), number(finding.expected));
    match finding.what {
        DriftKind::Total => format!("{counter}: the total is {found}, the rows say {expected} ({off:+})"),
        DriftKind::TotalsMissing => "it has no row of totals".into(),
        DriftKind::TotalsOrphaned => "it has a row of totals, but it never existed".into(),
        DriftKind::Redis => format!("{counter}: Redis has {found}, it must be {expected} ({off:+})"),
        DriftKind::Members => format!("{counter}: the cached set is wrong in {off} places"),
        DriftKind::Flips => {
            format!("{counter}: {off} flips are still pending in Redis, but are already rows")
        }
    }
}

/// One counter.
#[derive(Clone, Debug, Serialize)]
pub struct CounterSides {
    pub name: &'static str,
    /// With what is carried; `None` if it has no rows, or if the entity was removed and the total no longer changes.
    pub rows: Option<i64>,
    /// What of the total has no rows, as an import has set it.
    pub carried: i64,
    /// In PostgreSQL; `None` if there is no row of totals.
    pub total: Option<i64>,
    /// Events that are folded and not persisted.
    pub tail: i64,
    /// In Redis, including `tail`; `None` if not loaded.
    pub redis: Option<i64>,
}

/// State of the entity in Redis, without the counters.
#[derive(Clone, Default, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RedisSide {
    /// Why Redis could not be read.
    pub error: Option<String>,
    /// Epoch of the shard, and of this entity's counters; if they differ, the counters count as absent.
    pub shard_epoch: Option<u64>,
    pub epoch: Option<u64>,
    /// Version that clients see.
    pub version: Option<u64>,
    pub is_loading: bool,
    /// When the counters expire, or the load if one is in progress.
    pub ends_in_ms: Option<i64>,
    /// When the cached entity expires; `None` if it is not cached.
    pub text_ends_in_ms: Option<i64>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogSide {
    pub source: u16,
    /// `None` if nobody owns the shard.
    pub owner: Option<String>,
    /// When it took the shard, in UTC.
    pub owned_since: Option<String>,
    pub end: Option<String>,
    /// Folded into this entity's shard.
    pub folded: Option<String>,
    pub persisted: String,
    /// Its flips are retired up to there.
    pub retired: Option<String>,
    /// Entries that are not persisted yet; `None` across generations, or if Redis could not be read.
    pub behind: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LogEvent {
    pub source: u16,
    pub offset: String,
    pub event: String,
    /// How far it has come: appended, folded, persisted, or retired.
    pub state: &'static str,
}

/// An edge from an actor to the entity.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EdgeSides {
    pub kind: &'static str,
    pub actor: String,
    pub pending: Option<PendingSide>,
    pub set: SetSide,
    pub row: Option<EdgeRowState>,
    /// Whether the edge is on, as the actor sees it.
    pub is_on: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingSide {
    pub is_on: bool,
    pub offset: String,
}

/// State of a target in the actor's cached set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SetSide {
    NotCached,
    BelowFloor,
    In,
    NotIn,
}
