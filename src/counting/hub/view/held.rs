//! What a hub holds of one entity, and how changes and answers to reads alter it. Without any input or output.

use super::CountsAt;
use plaudit_catalogue::{MovedTotals, primitives::Version};
use plaudit_store::redis::CountsChange;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeldCounts {
    Known(CountsAt),
    /// An answer fills it, unless it is older than `since`. Totals that were received after the read was registered are
    /// applied to an older answer than they are: together they are the counts at version `received`.
    Unknown {
        since: Version,
        received: Version,
        totals: MovedTotals,
    },
}

impl HeldCounts {
    /// For a registered read: any answer fills it.
    pub fn registered() -> Self {
        Self::needs(Version::default())
    }

    /// An answer of this version or a later one fills it.
    pub fn needs(since: Version) -> Self {
        Self::Unknown { since, received: since, totals: MovedTotals::default() }
    }

    pub const fn known(&self) -> Option<CountsAt> {
        match self {
            Self::Known(counts) => Some(*counts),
            Self::Unknown { .. } => None,
        }
    }

    /// Version of the newest change that it includes.
    pub const fn version(&self) -> Version {
        match self {
            Self::Known(counts) => counts.version,
            Self::Unknown { received, .. } => *received,
        }
    }

    /// The counts after a change that is newer. `held`: `None` if nothing is held or registered that the
    /// totals could complete.
    pub fn changed(held: Option<Self>, change: &CountsChange) -> Self {
        let version = change.version;
        debug_assert!(held.is_none_or(|held| held.version() < version), "an older change is ignored");
        let Some(totals) = change.totals else { return Self::needs(version) };
        if let Some(counts) = totals.complete(change.entity.kind) {
            return Self::Known(CountsAt { version, counts });
        }
        match held {
            Some(Self::Known(CountsAt { mut counts, .. })) => {
                totals.apply_to(&mut counts);
                Self::Known(CountsAt { version, counts })
            }
            Some(Self::Unknown { since, totals: mut earlier, .. }) => {
                earlier.extend(&totals);
                Self::Unknown { since, received: version, totals: earlier }
            }
            None => Self::needs(version),
        }
    }

    /// The counts that an answer to a registered read leads to; `None` if it is older than an invalidation.
    pub fn answered(&self, answer: CountsAt) -> Option<CountsAt> {
        match self {
            Self::Known(counts) => Some(if answer.version <= counts.version { *counts } else { answer }),
            Self::Unknown { since, .. } if answer.version < *since => None,
            Self::Unknown { received, totals, .. } if answer.version < *received => {
                let mut counts = answer.counts;
                totals.apply_to(&mut counts);
                Some(CountsAt { version: *received, counts })
            }
            Self::Unknown { .. } => Some(answer),
        }
    }
}
